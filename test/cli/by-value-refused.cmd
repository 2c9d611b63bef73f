# status 1
# values that the model cannot be built for, found when it runs
m=$root/test/cli/models
opfuse run $m/one_hot.onnx --input x=ones --input depth=$m/smallest.pb --input v=ones --shape x=3 -q || true
opfuse run $m/by_value.onnx --input axes=ones --input repeats=uniform:-9:-8 --shape repeats=2 -q
