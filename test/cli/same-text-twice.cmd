# status 0
model=$root/examples/ppocr_cls_v2/model.onnx
for fuse in none best; do
  opfuse explain $model --fuse=$fuse --dump-after=emit --stop-after=emit >$fuse.first
  opfuse explain $model --fuse=$fuse --dump-after=emit --stop-after=emit >$fuse.second
  cmp $fuse.first $fuse.second
done
