# status 1
opfuse run $root/test/cli/models/chain.onnx --hint n=3 -o out -q >/dev/null
opfuse run $root/test/cli/models/chain.onnx --input x=out/z.npy --hint n=4
