# status 1
cd $root
opfuse explain examples/tour/tour.onnx --why relu nobody
