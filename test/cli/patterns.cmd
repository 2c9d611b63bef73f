# status 0
# patterns: matched, explained, right under every policy, in what build writes, and from a function in a file
example=$root/examples/own_patterns
own="--patterns $example/my.patterns"
opfuse match $example/model.onnx $own --json | python3 -c 'import json, sys; print([[p["name"], p["action"]] + [m["state"] for m in p["matches"]] for p in json.load(sys.stdin)["patterns"]])'
for policy in none tvm best; do
  opfuse verify $example/model.onnx $own --data $example --fuse=$policy --threads 3 | tail -n 1
done
opfuse explain $example/model.onnx $own --json >groups.json
opfuse verify $example/model.onnx $own --data $example --fuse=groups.json | tail -n 1
opfuse explain $example/model.onnx $own --why gelu_Mul_4 second | sed -n '1p;3p'
cp $example/kernels.c $example/gelu.onnx .
printf 'pattern gelu bind\n  function gelu.onnx\n  kernel kernels.c gelu\n' >file.patterns
opfuse explain $example/model.onnx --patterns file.patterns | grep -c 'library.*pattern:gelu'
opfuse build $example/model.onnx $own --data $example/test_data_set_0 -o plain/ >build.log
make -s -C plain CC="gcc -Wall -Wextra -Werror" 2>&1 | tail -n 1
opfuse build $example/model.onnx $own -o model.so >build.log && opfuse build $example/model.onnx $own -o model.a >build.log && nm model.a | grep -c ' T '
