# status 1
touch file
opfuse run $root/test/cli/models/chain.onnx --cache file/below -q
