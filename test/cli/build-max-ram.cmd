# status 1
cp $root/examples/ppocr_cls_v2/model.onnx .
opfuse build model.onnx --shape x=1,3,48,192 --machine generic --max-ram 100K -o net/ -q || { status=$?; ls; exit $status; }
