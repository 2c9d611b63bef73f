# status 0
example=$root/examples/own_operators
own="--operators $example/operators.txt"
opfuse ops $own | grep org.example
for policy in none tvm best; do
  opfuse verify $example/model.onnx $own --data $example --fuse=$policy | tail -n 1
done
opfuse check $example/model.onnx $own | tail -n 1
# the three of them beside products: what fuses
opfuse explain $example/model.onnx $own | sed -n 3,6p
# written and read again
opfuse graph $example/model.onnx $own --before -o again.onnx
opfuse verify again.onnx $own --data $example | tail -n 1
# as a library
opfuse build $example/model.onnx $own -o model.so >build.log && test -s model.h && echo built
# a suite's contexts know them too
mkdir -p suite/one && cp -r $example/model.onnx $example/test_data_set_0 suite/one
opfuse verify --suite suite $own | head -n 1
