# status 0
opfuse build $root/test/cli/models/matmul.onnx --shape a=2,3 --shape b=3,1 --target=generic -o net/ -q | sed 's/[0-9][0-9]* bytes/N bytes/'
ls net
for compiler in gcc clang; do
  if command -v $compiler >/dev/null; then (cd net && $compiler -std=c11 -Wall -Wextra -Werror -O1 -c model.c && $compiler -std=c11 -Wall -Wextra -Werror -O1 -c selftest.c -o test.o); fi
done
nm net/model.o | grep -E " U .*(alloc|free)" || echo "no allocator"
nm net/model.o | grep -E " [BDd] " || echo "no state"
(cd net && make -s) | sed 's/error .*, 0/error N, 0/'
printf '#include "net/model.h"\nint main() { return net_problem(0) == 0; }\n' >header.cc
gcc -x c++ -std=c++11 -Wall -Wextra -Werror -fsyntax-only header.cc
