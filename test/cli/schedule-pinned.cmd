# status 0
model=$root/test/cli/models/matmul.onnx
opfuse explain $model --schedules | sed 's/unroll = 2/unroll = 4/; s/prefetch = 512/prefetch = none/' > pins
opfuse explain $model --dump-after emit --stop-after emit --schedule pins | grep -q 'GCC unroll 4' && echo four at a time
opfuse explain $model --schedules --schedule pins | grep -v '^code' > again
grep -v '^code' pins | cmp - again && echo the same again # but for the hash of the code
opfuse verify $model -q --schedule pins >/dev/null && echo right
opfuse run $model -v --schedule pins 2>&1 >/dev/null | grep schedules
