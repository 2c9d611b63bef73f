# status 0
command -v clang >/dev/null || exit 0
CC=clang opfuse verify $root/test/cli/models/chain.onnx -q >/dev/null
