# status 0
# what differs from the evaluator may be rounding that adds up from group to group: bounds tell
model=$root/examples/ppocr_cls_v2/model.onnx
opfuse verify $model --rtol 0 --atol 0 -q | tail -n 2
opfuse verify $model --rtol 0 --atol 0 --bounds -q | tail -n 2 | sed 's/: .* of .* comparisons/: N of M comparisons/'
