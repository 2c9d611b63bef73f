# status 0
mkdir set
opfuse run $root/test/cli/models/chain.onnx --hint n=9 --format=pb -o set -q >/dev/null
opfuse verify $root/test/cli/models/chain.onnx --hint n=9 --seed 1 --data set -q --rtol 10 --atol 10 >/dev/null
