# status 0
opfuse run $root/test/cli/models/names.onnx --input a=b:0=ones --input a=uniform:3:3 --shape a=b:0=2,2 -q -o out
ls -A out
