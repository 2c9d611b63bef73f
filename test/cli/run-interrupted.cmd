# status 0
# a loop that would go on for ever is ended by an interrupt, and nothing is left behind
opfuse run $root/test/cli/models/trips.onnx --input x=uniform:1:2 --cache cache -q >/dev/null
(timeout -s INT 2 opfuse run $root/test/cli/models/trips.onnx --input x=uniform:-2:-1 --cache cache -o out -q || echo "status $?") 2>/dev/null
ls
find cache/making -mindepth 1
