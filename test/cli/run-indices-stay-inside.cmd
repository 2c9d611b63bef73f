# status 0
for seed in 1 2 3 4 5; do opfuse run $root/test/cli/models/gather.onnx --seed $seed -q; done
