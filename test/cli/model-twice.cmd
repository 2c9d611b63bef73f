# status 2
opfuse verify a.onnx b.onnx
