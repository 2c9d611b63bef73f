# status 1
opfuse check nowhere.onnx --diag=json
