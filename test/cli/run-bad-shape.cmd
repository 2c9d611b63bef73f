# status 2
opfuse run $root/test/cli/models/gather.onnx --shape ids=1,x
