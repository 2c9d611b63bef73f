# status 0
# integer products in words, to the last bit: columns behind the last whole vector, strides and dilations on a padded axis
for machine in native generic; do
  for policy in none best; do
    opfuse verify $root/test/data/quantised/words.onnx --rtol 0 --atol 0 --fuse=$policy --machine $machine -q | tail -n 1
  done
done
