# status 0
model=$root/examples/ppocr_cls_v2/model.onnx
for threads in 1 2 3 7; do opfuse run $model --shape x=3,3,48,192 --threads $threads -o out$threads -q >/dev/null; done
for threads in 2 3 7; do cmp out1/*.npy out$threads/*.npy; done
