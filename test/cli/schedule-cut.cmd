# status 1
# a group in two kernels by its schedule, and what cannot be cut
cp $root/examples/ppocr_cls_v2/model.onnx .
opfuse explain model.onnx --schedules > whole
kernel=$(awk '/^\[kernel/ { k = $0 } /^operators = GlobalAveragePool Conv Relu Conv HardSigmoid Mul$/ { print k; exit }' whole)
printf '%s\ncut = 3\n' "$kernel" > pins
opfuse explain model.onnx --schedules --schedule pins > cut
echo $(($(grep -c '^\[kernel' cut) > $(grep -c '^\[kernel' whole)))
grep -c '^operators = GlobalAveragePool Conv Relu$' cut
opfuse verify model.onnx --data $root/examples/ppocr_cls_v2 -q --schedule pins >/dev/null && echo right
printf '%s\ncut = 6\n' "$kernel" > pins
opfuse run model.onnx -q --schedule pins || status=$?
exit $status
