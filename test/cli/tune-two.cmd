# status 0
# two at once on one database
model=$root/test/cli/models/matmul.onnx
opfuse tune $model --budget 3s --threads 1 -q --db db --cache cache >one 2>&1 &
first=$!
opfuse tune $root/test/cli/models/chain.onnx --budget 3s --threads 1 -q --db db --cache cache >two 2>&1
wait $first
python3 -c 'import sqlite3; d = sqlite3.connect("db"); print(d.execute("pragma integrity_check").fetchone()[0], d.execute("select count(distinct kernel) from trials").fetchone()[0])'
tail -qn 1 one two
