# status 0
opfuse graph $root/test/cli/models/gather.onnx --before -o again.onnx
opfuse explain again.onnx --dump-after=read --stop-after=read
