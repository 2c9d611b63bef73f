# status 0
# a kill at any moment leaves the database whole with all that was measured before; the next search goes on from there
model=$root/test/cli/models/matmul.onnx
trials() { python3 -c 'import sqlite3; d = sqlite3.connect("db"); print(d.execute("pragma integrity_check").fetchone()[0], d.execute("select count(*) from trials").fetchone()[0])'; }
for wait in 0.3 1.1 2.3; do
  opfuse tune $model --budget 60s --threads 1 -q --db db --cache cache >/dev/null 2>&1 &
  tuner=$!
  sleep $wait
  kill -9 $tuner
  wait $tuner 2>/dev/null || true
  [ ! -f db ] || trials | sed 's/ .*//'
done >states 2>/dev/null
sort -u states
timeout 100 opfuse tune $model --budget 4s --threads 1 -q --db db --cache cache >/dev/null
before=$(trials)
timeout 100 opfuse tune $model --budget 2s --threads 1 -q --db db --cache cache >/dev/null
[ "${before#ok }" -gt 0 ] && [ "$(trials | sed 's/ok //')" -ge "${before#ok }" ] && echo goes on
# Ctrl-C ends it in order, and what was found is told
opfuse tune $model --budget 60s --threads 1 -q --db db2 --cache cache > out &
tuner=$!
sleep 2
kill -TERM $tuner
wait $tuner && grep -c '(interrupted)' out
