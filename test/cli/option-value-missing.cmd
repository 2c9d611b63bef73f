# status 2
opfuse run model.onnx --seed
