# status 1
opfuse run nowhere.onnx
