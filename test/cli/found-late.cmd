# status 0
# what can only be found as the model runs ends with a sentence that names the node
models=$root/test/cli/models
for k in 2 4 -1; do opfuse run $models/topk_found.onnx --input c=uniform:$k:$k -q 2>&1 | sed "s=.*models==; 1q"; done
for k in 4 -1; do opfuse verify $models/topk_found.onnx --input c=uniform:$k:$k -q 2>&1 | sed "s=.*models==; 1q"; done
(ulimit -v 2000000; for n in 3 60; do opfuse run $models/doubling.onnx --input n=uniform:$n:$n --input x=ones -q 2>&1 | sed "s=.*models==; 1q"; done)
opfuse run $models/opset_newer.onnx --input x=ones 2>&1 | sed "s=.*models=="
