# status 0
# steps to 8 bits of NaN, infinities and what is beyond int32, to the last bit; 8-bit recurrent layers
for machine in native generic; do
  for policy in none best; do
    opfuse verify $root/test/cli/models/quantised_limits.onnx --input x=zeros --rtol 0 --atol 0 --fuse=$policy --machine $machine -q | tail -n 1
  done
  opfuse verify $root/test/cli/models/recurrent_8bit.onnx --machine $machine --rtol 1e-5 -q | tail -n 1
  opfuse verify $root/test/cli/models/recurrent_extremes.onnx --input t=ones --machine $machine --rtol 1e-6 -q | tail -n 1
done
opfuse run $root/test/cli/models/recurrent_padded.onnx --input t=zeros -o zeros -q >/dev/null
opfuse run $root/test/cli/models/recurrent_padded.onnx --input t=ones -o large -q >/dev/null
for name in y0 h0 c0; do cmp zeros/$name.npy large/$name.npy && echo same; done
