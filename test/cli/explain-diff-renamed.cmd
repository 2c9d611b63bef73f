# status 3
cd $root
old=$OLDPWD/old.json
opfuse explain examples/tour/tour.onnx --fuse=tvm --json | sed 's/"scaling"/"n1"/; s/"shift"/"n2"/; s/"relu"/"n3"/' >$old
opfuse explain examples/tour/tour.onnx --fuse=tvm --diff $old | tail -n +3
opfuse explain examples/tour/tour.onnx --fuse=none --diff $old | tail -n +3
opfuse explain examples/tour/tour.onnx --fuse=none --diff $old >/dev/null
