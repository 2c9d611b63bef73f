# status 1
opfuse explain $root/test/cli/models/by_value.onnx
