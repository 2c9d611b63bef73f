# status 0
cd $root
opfuse explain test/why/pooled.onnx --fuse=tvm --try-decompose
opfuse explain test/why/pooled.onnx --fuse=tvm --try-decompose --json
opfuse explain examples/tour/tour.onnx --try-decompose | tail -n 1
