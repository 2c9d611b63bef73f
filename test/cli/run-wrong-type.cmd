# status 1
opfuse run $root/test/cli/models/gather.onnx -o out -q >/dev/null
opfuse run $root/test/cli/models/gather.onnx --input ids=out/y.npy
