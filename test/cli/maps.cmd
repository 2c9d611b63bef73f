# status 0
# docs/cli.md: maps are given as the tensor of their values
opfuse run $root/test/cli/models/maps.onnx --shape x=2,2 --input x=ones
opfuse graph $root/test/cli/models/maps.onnx --before -o again.onnx -q
opfuse verify again.onnx -q
opfuse check again.onnx | grep scores
