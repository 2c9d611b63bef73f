# status 0
opfuse run $root/test/cli/models/chain.onnx --hint n=7 -o a -q >/dev/null
opfuse run $root/test/cli/models/chain.onnx --hint n=7 -o a --format=pb -q >/dev/null
opfuse run $root/test/cli/models/chain.onnx --input x=a/z.npy --input y=a/output_0.pb -q
