# status 0
opfuse run $root/test/cli/models/chain.onnx --hint n=5 >first
opfuse run $root/test/cli/models/chain.onnx --hint n=5 -q >second
opfuse run $root/test/cli/models/chain.onnx --hint n=5 --seed 1 -q >third
cmp first second
! cmp -s first third
