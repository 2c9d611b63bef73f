# status 1
opfuse check $root/test/cli/models/attribute.onnx >/dev/null
