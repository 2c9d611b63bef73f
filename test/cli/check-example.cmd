# status 0
opfuse check $root/examples/ppocr_cls_v2/model.onnx
