# status 1
CC=true opfuse run $root/test/cli/models/chain.onnx -q --cache cache || status=$?
[ -z "$(find cache -type f)" ]
exit $status
