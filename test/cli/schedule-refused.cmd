# status 1
model=$root/test/cli/models/matmul.onnx
opfuse explain $model --schedules | sed 's/tile_rows = .*/tile_rows = 27/' > pins
opfuse run $model -q --schedule pins || status=$?
opfuse explain $model --schedules | sed 's/algorithm = tile/algorithm = winograd-4/' > pins
opfuse run $model -q --schedule pins || true
opfuse explain $model --schedules | sed 's/^unroll.*/split = off/' > pins
opfuse run $model -q --schedule pins || true
sed 's/split = off/spilt = off/' pins > wrong
opfuse run $model -q --schedule wrong || true
sed 's/kernel [0-9a-f]*/kernel 00000000000000000000000000000000/; s/split.*//' pins > other
opfuse run $model -q --schedule other || true
printf 'unroll = 2\n' > headless
opfuse run $model -q --schedule headless || true
exit $status
