# status 1
touch out
opfuse run $root/test/cli/models/chain.onnx -o out -q
