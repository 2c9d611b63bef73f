# status 0
opfuse run $root/test/cli/models/chain.onnx --input x=ones --input y=zeros --shape x=3 -q
