# status 0
opfuse run $root/test/cli/models/same_file.onnx -o out/ -q
