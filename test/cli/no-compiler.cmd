# status 1
CC=/nowhere/cc opfuse run $root/test/cli/models/chain.onnx -q
