# status 0
opfuse explain $root/test/cli/models/chain.onnx --time-passes 2>times >/dev/null
awk "{print \$3}" times | grep -E "^(read|type|dead|fuse)$"
