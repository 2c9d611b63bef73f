# status 2
opfuse run $root/examples/tour/tour.onnx --shape x=3
