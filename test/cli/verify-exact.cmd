# status 0
# generated code has the evaluator's bits, in every group and under every policy
for policy in none tvm best; do
  opfuse verify $root/examples/tour/tour.onnx --accuracy=exact --bounds --fuse=$policy | tail -n 2 | sed 's/: [0-9]* exact/: N exact/; s/[0-9]* of [0-9]* comp/N of N comp/'
done
# … and so the same results fused and unfused, on any number of threads, on any instruction set
model=$root/examples/ppocr_cls_v2/model.onnx data=$root/examples/ppocr_cls_v2/test_data_set_0
opfuse run $model --data $data --accuracy=exact -o best/ -q >/dev/null
opfuse run $model --data $data --accuracy=exact -o none/ -q --fuse=none --threads 3 --machine generic >/dev/null
cmp best/*.npy none/*.npy && echo the same bits
# without it they are not: sums are taken in other orders
opfuse run $model --data $data -o fast/ -q >/dev/null
cmp -s best/*.npy fast/*.npy || echo other bits
