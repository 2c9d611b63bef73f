# status 3
cd $root
old=$OLDPWD/old.json
opfuse explain examples/tour/tour.onnx --json >$old
opfuse explain examples/tour/tour.onnx --diff $old | tail -n 1
opfuse explain examples/tour/tour.onnx --fuse=none --diff $old | tail -n +2
opfuse explain examples/tour/tour.onnx --fuse=none --diff $old --json >/dev/null
