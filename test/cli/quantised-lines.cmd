# status 0
# dear work over lines of open length goes in blocks that overlap, none left to scalar ends: to the last bit for lines of any length
model=$root/test/data/quantised/lines.onnx
opfuse explain $model --dump-after=loop --stop-after=loop | grep -o 'shared .*\|share .*'
for machine in native generic; do
  for w in 1 3 5 9 17 23; do
    opfuse verify $model --hint h=3 --hint w=$w --hint H=6 --hint W=$((2 * w)) --input x=uniform:0:255 --input small=uniform:0:255 --rtol 0 --atol 0 --machine $machine -q | tail -n 1
  done
done
