# status 0
# twice into the same folder: with the weights beside it, then inside
opfuse build $root/test/cli/models/gather.onnx -o net/ -q >/dev/null
(cd net && make -s CFLAGS="-std=c11 -Wall -Wextra -Werror -O1")
printf 'x' | dd of=net/model.weights bs=1 seek=3 conv=notrunc status=none
(cd net && ./selftest 2>&1) || echo "damage is found"
opfuse build $root/test/cli/models/gather.onnx --embed-weights -o net -q >/dev/null
(cd net && make -s CFLAGS="-std=c11 -Wall -Wextra -Werror -O1" && rm model.weights && ./selftest)
