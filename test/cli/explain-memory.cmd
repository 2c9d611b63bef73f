# status 0
cd $root
opfuse explain examples/tour/tour.onnx --memory --fuse=none
opfuse explain examples/tour/tour.onnx --memory --json
