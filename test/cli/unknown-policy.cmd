# status 2
opfuse explain model.onnx --fuse=everything
