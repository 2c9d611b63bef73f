# status 1
opfuse check $root/test/cli/models/unknown.onnx --json >out
grep -c Frobnicate out >/dev/null
opfuse check $root/test/cli/models/unknown.onnx --json
