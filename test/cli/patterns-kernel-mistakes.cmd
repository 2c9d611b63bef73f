# status 1
# a kernel that does not compile: its own file and line; one of another kind; none of that name
printf 'pattern leak bind chain LeakyRelu kernel k.c leak' >own.patterns
try() { opfuse run $root/examples/own_patterns/model.onnx --patterns own.patterns --input x=ones 2>&1 >nothing | grep -oE 'k.c: error.patterns.: the kernel does not compile|k.c:3:[0-9]*|the kernel must be: void leak.*parts' | sort -u; }
printf 'static void leak(const opf_kernel_call *call, int part, int parts)\n{\n  call->nothing = 1;\n}\n' >k.c
try
printf 'static int leak(const opf_kernel_call *call) { return call->n_inputs; }\n' >k.c
try
printf 'static int leek;\n' >k.c
try
opfuse run $root/examples/own_patterns/model.onnx --patterns own.patterns --input x=ones >nothing 2>nothing
