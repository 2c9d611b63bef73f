# status 0
opfuse profile $root/test/cli/models/chain.onnx --runs 3 --threads 1 -o trace.json -q >table
grep -c " ms " table
opfuse profile $root/test/cli/models/chain.onnx --runs 3 -o stacks.folded -q --json | grep -o '"schema":1'
cut -d' ' -f1 stacks.folded
grep -o '"traceEvents"' trace.json
opfuse profile $root/test/cli/models/chain.onnx -o picture.png 2>&1 || true
