# status 0
for n in 0 1 2 63 64 65 1000; do opfuse verify $root/test/cli/models/chain.onnx --hint n=$n -q; done
for m in 0 1 3 70; do for k in 0 1 5 400; do for n in 0 1 7 300; do
  opfuse verify $root/test/cli/models/matmul.onnx --hint m=$m --hint k=$k --hint n=$n -q >/dev/null || echo "$m $k $n"
done; done; done
