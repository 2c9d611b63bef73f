# status 1
model=$root/test/cli/models/matmul.onnx
printf 'this is no database, whatever its name says, and longer than a header of one hundred bytes has to be for sure\n' > db
opfuse run $model -q --db db || status=$?
python3 - <<'P'
import sqlite3
sqlite3.connect("foreign").executescript("create table songs (name text); insert into songs values ('x');")
P
opfuse run $model -q --db foreign || true
opfuse tune $model -q --db foreign --budget 1s || true
# in the usual place it costs speed, not the result
mkdir cache
cp db cache/schedules.db
opfuse run $model --input a=ones --cache cache >/dev/null 2>warning && cat warning
opfuse tune $model --db none -q || true
exit $status
