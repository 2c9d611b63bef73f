# status 0
# text into a database and back; the faster of two stays; build and run use it and say so
model=$root/test/cli/models/matmul.onnx
cpu=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -1)
# What `tune` would have found: a schedule that differs in one choice, with the code that it gives.
entry() {
  opfuse explain $model --schedules --db none | sed "s/^unroll = .*/unroll = $3/" > pins
  opfuse explain $model --schedules --db none --schedule pins | sed -n "s/^\(\[kernel .*\)/\1\noperators = MatMul\ncpu = $cpu\nthreads = $1\ndefault_ms = 2.0000\nbest_ms = $2\ndate = 2026-01-02T03:04:05Z/p; /^code/p; /^unroll/p"
  echo
}
entry 1 1.5000 4 > slower
entry 1 1.2500 1 > faster
opfuse tune --import slower --db db
opfuse tune --import faster --db db
opfuse tune --import slower --db db
opfuse tune --db db --export out.txt
tail -n +3 out.txt | cmp - faster && echo the faster one stays
opfuse tune --import out.txt --db again
opfuse tune --db again --export out2
cmp out.txt out2 && echo the same text
opfuse explain $model --schedules --db db | grep unroll
opfuse run $model -v --db db --threads 1 2>&1 >/dev/null | grep schedules
opfuse build $model -v --db db -o net/ 2>&1 >/dev/null | grep schedules
grep -q 'GCC unroll 1' net/model.c && echo one step at a time
opfuse explain $model --schedules --db none | grep unroll
opfuse verify $model -q --db db >/dev/null && echo right
# what does not apply any more is left out, with a reason under -v
sed 's/unroll = .*/tile_rows = 27/; s/best_ms = .*/best_ms = 0.5000/' faster > stale
opfuse tune --import stale --db db
opfuse run $model -v --db db 2>&1 >/dev/null | grep -E 'schedule'
# what was measured on other code is not believed, nor what tells no code
for code in 's/^code = ./code = g/; y/g/f/' 's/.$/g/; y/g/e/' d; do
  case $code in d) sed /^code/d faster ;; *) sed "/^code/{$code}" faster ;; esac > other
  rm -f foreign*
  opfuse tune --import other --db foreign
  opfuse run $model -v --db foreign --threads 1 2>&1 >/dev/null | grep schedules
  opfuse explain $model --schedules --db foreign | grep unroll
done
