# status 0
# a window's result that the next operator reads flattened has more axes than its reader: no band of lines
for policy in none tvm best; do opfuse verify $root/test/cli/models/flattened.onnx --fuse=$policy -q | tail -n 1; done
