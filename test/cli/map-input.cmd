# status 1
opfuse check $root/test/cli/models/map_input.onnx
