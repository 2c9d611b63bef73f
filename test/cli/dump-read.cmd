# status 0
opfuse explain $root/test/cli/models/gather.onnx --dump-after=read --stop-after=read
