# status 3
mkdir suite
for case in 01-gemm-identity-transpose 06-flatten-axis0-reducel1 09-int-div-toward-zero; do cp -r $root/test/bugs/$case suite; done
cp -r suite/01-gemm-identity-transpose suite/wrong
cp suite/06-flatten-axis0-reducel1/model.onnx suite/wrong
cp -r suite/01-gemm-identity-transpose suite/damaged
echo >suite/damaged/model.onnx
echo "damaged its file is no model" >exceptions.txt
opfuse verify --suite suite --jobs 2 --exceptions exceptions.txt --junit results.xml || echo status $?
grep -c "<failure" results.xml
grep "<skipped" results.xml
rm -r suite/wrong
opfuse verify --suite suite --jobs 1 --exceptions exceptions.txt
cp suite/01-gemm-identity-transpose/model.onnx suite/damaged
opfuse verify --suite suite --jobs 1 --exceptions exceptions.txt
