# status 0
cd $root
opfuse explain test/data/grouping/resnet_basic_block.onnx --fuse=tvm --trace
