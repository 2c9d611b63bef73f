# status 0
for model in $root/test/cli/models/{chain,outputs,gather,matmul,names}.onnx $root/examples/ppocr_cls_v2/model.onnx; do
  for fuse in none best; do
    opfuse explain $model --fuse=$fuse --machine=generic --dump-after=emit --stop-after=emit -q |
      awk '/^\/\/ ---- /{file = $3; next} {print > file}'
    for file in *.c; do
      gcc -std=c11 -Wall -Wextra -Werror -DOPF_LANES=4 -fsyntax-only $file
      if command -v clang >/dev/null; then clang -std=c11 -Wall -Wextra -Werror -DOPF_LANES=4 -fsyntax-only $file; fi
    done
    rm *.c
  done
done
