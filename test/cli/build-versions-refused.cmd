# status 1
for targets in generic,x86-64-v3 x86-64-v3,x86-64-v3 x86-64-v3, x86-64-v3,i686; do
  opfuse build $root/test/cli/models/matmul.onnx --target=$targets -o net.so || status=$?
done
ls
exit $status
