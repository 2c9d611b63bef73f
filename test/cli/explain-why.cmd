# status 0
cd $root
opfuse explain examples/ppocr_cls_v2/model.onnx --why Conv@1 Relu@0
opfuse explain examples/ppocr_cls_v2/model.onnx --why BatchNormalization@1 Conv@2 --fuse=none
