# status 0
# docs/numerics.md: random operators are functions of their seed: the same for any policy and number of threads
run() { opfuse run $root/test/cli/models/random.onnx --shape x=50,100 --input x=zeros --shape p=2000 --input p=uniform:0.3:0.3 "$@" -q; }
run
for options in --fuse=none --threads=1 --threads=3 --machine=generic; do run $options | cmp - <(run) && echo "$options: the same"; done
opfuse verify $root/test/cli/models/random.onnx --input x=zeros --input p=uniform:0:1 -q | tail -1
