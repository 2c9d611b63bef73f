# status 0
opfuse bench $root/test/cli/models/chain.onnx --runs 3 --warmup 1 --json -q
