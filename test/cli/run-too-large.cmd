# status 1
# a size that no machine holds is refused before the system ends the process
opfuse run $root/examples/tour/tour.onnx --dim N=1099511627776
