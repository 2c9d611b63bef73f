# status 0
opfuse run $root/test/cli/models/chain.onnx --input x=zeros --input y=uniform:1:1 --shape x=2 --json -q
