# status 0
opfuse explain $root/test/cli/models/gather.onnx --json --dump-after=type 2>dump | head -c 1
echo
head -c 5 dump
