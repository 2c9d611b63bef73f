# status 0
model=$root/examples/ppocr_cls_v2/model.onnx data=$root/examples/ppocr_cls_v2/test_data_set_0
opfuse diff $model --against none --data $data -q | tail -n 1 | sed 's/[0-9][0-9]* are in/N are in/; s/, [0-9]* in the second/, N in the second/; s/^[0-9]* values/N values/; s/[0-9]* within/N within/'
# what is stored, against itself, then with a number changed
opfuse run $model --data $data -o out/ -q && cp -r out changed
opfuse diff out out
size=$(stat -c %s changed/*.npy)
printf '\001\002\300' | dd of=$(ls changed/*.npy) bs=1 seek=$((size - 3)) conv=notrunc status=none
opfuse diff out changed | sed 's/difference .* elements outside/difference N elements outside/' || true
opfuse diff $model changed --data $data -q >/dev/null || echo "status $?"
opfuse diff out 2>/dev/null || echo "status $?"
opfuse ranges $model --data $data -q | tail -n 2 | sed 's/[-0-9][0-9.e-]* *[0-9][0-9.e-]* */N N /'
