# status 0
opfuse report $root/examples/tour/tour.onnx -o page.html
head -n 1 page.html
grep -c '<script' page.html
grep -o '"kernels":1,' page.html
! grep -qE 'src=|<link|@import|https?://[^w]' page.html
