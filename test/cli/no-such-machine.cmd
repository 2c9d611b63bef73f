# status 1
opfuse build $root/examples/tour/tour.onnx -o tour.so --target crystal
