# status 0
# rows of several numbers of threads: what moves no bit follows the run's threads, what may move one is the same for all
model=$root/test/cli/models/matmul.onnx
kernel=$(opfuse explain $model --schedules | sed -n 's/^\[kernel \(.*\)\]/\1/p')
cpu=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -1)
entry() { printf '[kernel %s]\ncpu = %s\nthreads = %s\ndefault_ms = 2\nbest_ms = 1\n%s\n\n' $kernel "$cpu" $1 "$2"; }
{ entry 1 'unroll = 1'; entry 2 'unroll = 4'; entry 4 'unroll = 8'; } > text
opfuse tune --import text --db db
for threads in 1 2 3 7; do opfuse explain $model --schedules --db db --threads $threads | grep unroll; done
{ entry 1 'algorithm = loops'; entry 2 'unroll = 4'; } > text
opfuse tune --import text --db other
for threads in 1 2 7; do opfuse explain $model --schedules --db other --threads $threads | grep algorithm; done
