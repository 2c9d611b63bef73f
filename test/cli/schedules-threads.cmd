# status 0
# rows of several numbers of threads: what moves no bit follows the run's threads, what may move one is the same for all
model=$root/test/cli/models/matmul.onnx
cpu=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -1)
# A row whose schedule has one choice; its code is that of a kernel pinned to it.
entry() {
  kernel=$(opfuse explain $model --schedules --db none | grep '^\[kernel')
  printf '%s\n%s\n' "$kernel" "$2" > pins
  code=$(opfuse explain $model --schedules --db none --schedule pins | grep '^code')
  printf '%s\ncpu = %s\nthreads = %s\ndefault_ms = 2\nbest_ms = 1\n%s\n%s\n\n' "$kernel" "$cpu" $1 "$code" "$2"
}
{ entry 1 'unroll = 1'; entry 2 'unroll = 4'; entry 4 'unroll = 8'; } > text
opfuse tune --import text --db db
for threads in 1 2 3 7; do opfuse explain $model --schedules --db db --threads $threads | grep unroll; done
{ entry 1 'algorithm = loops'; entry 2 'unroll = 4'; } > text
opfuse tune --import text --db other
for threads in 1 2 7; do opfuse explain $model --schedules --db other --threads $threads | grep algorithm; done
