# status 2
opfuse explain model.onnx --dump-after=nothing
