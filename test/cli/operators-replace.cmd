# status 0
echo 'Sigmoid replaces since 6 T = float y = max(0, min(1, x / 4 + 0.5))' >own.txt
opfuse run $root/test/cli/models/chain.onnx --input x=ones --input y=zeros --dim n=3 2>/dev/null
opfuse run $root/test/cli/models/chain.onnx --operators own.txt --input x=ones --input y=zeros --dim n=3 2>/dev/null
