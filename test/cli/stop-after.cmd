# status 0
opfuse run $root/test/cli/models/chain.onnx --stop-after=fuse -q
opfuse verify $root/test/cli/models/chain.onnx --stop-after=loop -q
opfuse bench $root/test/cli/models/chain.onnx --stop-after=type -q
