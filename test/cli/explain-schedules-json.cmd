# status 2
opfuse explain $root/examples/tour/tour.onnx --schedules --json
