# status 0
# A pool behind a convolution, a band of lines at a time: windows that reach beyond the picture above and below, averages with a map behind
# them, bands of different sizes. Winograd's tiles want the whole picture.
printf 'set bands-cached.bytes = 0\n' >all.rules
for name in small average apart winograd; do
  model=$root/test/data/rows/pool_behind_$name.onnx
  opfuse explain $model --rules all.rules --dump-after=loop >explained
  sed -n 's/^    0 .*\[/'$name' [/p' explained
  grep -o 'bands of [0-9]* lines' explained || true
  opfuse verify $model --rules all.rules --threads 2 --bounds -q | tail -n 1
done
opfuse verify $root/test/data/rows/pool_behind_small.onnx --rules all.rules --machine generic --bounds -q | tail -n 1
