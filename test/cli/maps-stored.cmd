# status 0
# docs/cli.md: expected outputs that are stored as maps are compared by their keys
m=$root/test/cli/models
opfuse verify $m/maps.onnx --data $m/maps -q | tail -n 1
opfuse verify $m/maps.onnx --data $m/maps_differing -q | grep "DIFFERS.*expected"
status=0
opfuse verify $m/maps.onnx --data $m/maps_lacking -q || status=$?
echo status $status
