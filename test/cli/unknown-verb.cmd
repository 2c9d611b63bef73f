# status 2
opfuse frobnicate model.onnx
