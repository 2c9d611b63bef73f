# status 0
opfuse graph $root/test/cli/models/chain.onnx -o a.dot
opfuse graph $root/test/cli/models/chain.onnx --before -o b.dot
head -c 7 a.dot b.dot
