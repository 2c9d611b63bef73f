# status 2
opfuse report $root/examples/tour/tour.onnx
