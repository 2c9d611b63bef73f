# status 1
cd $root
opfuse explain examples/tour/tour.onnx --diff examples/tour/tour.onnx
