# status 0
opfuse graph $root/test/cli/models/chain.onnx -o fused.onnx
grep -aoc 'opfuse.groups' fused.onnx
opfuse explain fused.onnx --dump-after=read --stop-after=read
