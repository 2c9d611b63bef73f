# status 0
# what one byte decides is looked up in a table; chains that are none, or too short, are left
bytes="--input x=uniform:0:255 --input z=uniform:-128:127 --input w=uniform:0:255 --dim H=9 --dim W=11"
model=$root/test/data/quantised/tables.onnx
opfuse explain $model | sed -n '/^removed/,$p'
opfuse explain $model | grep kernel | sed 's/.*: //'
# to the last bit, on every kind of machine
for machine in native x86-64-v3 generic; do
  opfuse verify $model $bytes --rtol 0 --atol 0 --machine $machine 2>errors | tail -n 1
done
# sines that are not looked up are rounded by themselves
opfuse verify $model $bytes --rtol 1e-6 --fuse=none -q | tail -n 1
# an index that may be off by a step picks a neighbour: bounds are as narrow as the numbers' own
opfuse verify $model $bytes --bounds -q | grep '^results'
