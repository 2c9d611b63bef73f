# status 0
opfuse run $root/test/cli/models/outputs.onnx --input x=uniform:2:2 --shape x=1,4 -o out -q
opfuse run $root/test/cli/models/outputs.onnx --input x=uniform:2:2 --shape x=1,4 -o out --format=pb -q >/dev/null
ls out
