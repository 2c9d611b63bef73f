# status 1
mkdir out
opfuse run $root/test/cli/models/chain.onnx --input x=zeros --input y=zeros --shape x=1000000 -q >/dev/null
(ulimit -f 100; trap "" XFSZ; opfuse run $root/test/cli/models/chain.onnx --input x=zeros --input y=zeros --shape x=1000000 -o out -q)
status=$?
ls out
exit $status
