# status 0
# float16 in lines of any length, read and stored by whole vectors: machines, sizes, each group within its bound.
models=$root/test/data/half
verify() { opfuse verify "$models/$1.onnx" --bounds --tol=fp16 -q "${@:2}" | tail -n 1 | sed "s/^/$1: /"; }
verify pictures --hint n=2 --hint h=9 --hint w=35
verify winograd --hint h=15 --hint w=17
verify along_a_line --hint n=3 --hint w=24
verify products --hint m=19 --hint k=37 --hint n=21
verify casts --hint n=3 --hint w=45
verify pictures --machine x86-64-v3 --hint h=40 --hint w=70
verify products --machine x86-64-v3 --hint m=1 --hint k=1 --hint n=50
verify pictures --machine generic --hint h=7 --hint w=11
verify along_a_line --accuracy=exact --hint w=33
# What is built of them compiles without a warning.
opfuse build $models/along_a_line.onnx -o plain/ --target x86-64-v3 -q > /dev/null
gcc -std=c11 -Wall -Wextra -Werror -Wno-psabi -march=x86-64-v3 -fsyntax-only plain/model.c && echo no warning
