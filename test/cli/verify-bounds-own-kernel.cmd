# status 0
# a kernel of one's own has no bound, and why is said; a suite refuses it, and takes patterns that bind none
example=$root/examples/own_patterns
opfuse verify $example/model.onnx --patterns $example/my.patterns --data $example --bounds -q | sed -n 's/.*elements; gelu/gelu/p'
mkdir -p suite; cp -r $example suite/own
opfuse verify --suite suite --patterns $example/my.patterns || echo status $?
printf 'pattern biased forbid\n    chain MatMul -> Add\n' >apart.patterns
opfuse verify --suite suite --patterns apart.patterns | tail -n 3
