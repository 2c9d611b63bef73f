# status 0
# A pool or a depth-wise window behind a convolution, a band of lines at a time: windows that reach beyond the picture above and below,
# averages with a map behind them, bands of different sizes, limits behind windows. Winograd's tiles want the whole picture.
printf 'set bands-cached.bytes = 0\nset bands-expanded.bytes = 0\n' >all.rules
for name in pool_behind_{small,average,apart,winograd} bottleneck_{large,strided,strided_small}; do
  model=$root/test/data/rows/$name.onnx
  opfuse explain $model --rules all.rules --dump-after=loop >explained
  sed -n 's/^    0 .*\[/'$name' [/p' explained
  grep -o 'bands of [0-9]* lines' explained || true
  opfuse verify $model --rules all.rules --threads 2 --bounds -q | tail -n 1
done
for name in pool_behind_small bottleneck_strided_small; do opfuse verify $root/test/data/rows/$name.onnx --rules all.rules --machine generic --bounds -q | tail -n 1; done
