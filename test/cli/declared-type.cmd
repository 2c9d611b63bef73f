# status 1
cd $root && opfuse run test/cli/models/declared_type.onnx
