# status 0
model=$root/test/cli/models/chain.onnx
opfuse explain $model --schedules -q > pins
opfuse bench $model --runs 3 --warmup 1 --json -q --schedule pins > times && echo timed
