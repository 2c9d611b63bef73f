# status 0
# A contradiction of two numbers is told; what a size without a number turns out to be is not one.
cd $root && opfuse run test/cli/models/declared_shape.onnx --shape x=2,3 --input x=ones
