# status 0
cd $root
opfuse explain examples/tour/tour.onnx --why relu scaling --fuse=tvm --json
