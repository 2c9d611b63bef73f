# status 0
opfuse verify $root/test/cli/models/outputs.onnx --all --fuse=none -q
