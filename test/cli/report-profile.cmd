# status 0
opfuse report $root/test/cli/models/chain.onnx -o plain.html -q
opfuse report $root/test/cli/models/chain.onnx -o again.html -q
cmp plain.html again.html
! grep -q '"roofline":' plain.html
opfuse report $root/test/cli/models/chain.onnx -o times.html --profile --runs 3 --threads 1 -q
grep -o '"roofline":{"threads":1,"runs":3' times.html
grep -o '"name":"[^"]*","rate"' times.html
grep -c '<script' times.html
! grep -qE 'src=|<link|@import|https?://[^w]' times.html
opfuse report $root/test/cli/models/chain.onnx --profile -q 2>&1 || echo $?
