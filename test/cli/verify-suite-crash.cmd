# status 3
mkdir suite
cp -r $root/test/bugs/09-int-div-toward-zero $root/test/bugs/01-gemm-identity-transpose suite
printf '#!/bin/sh\ncase "$*" in *--version*) exec cc --version ;; esac\nkill -SEGV $PPID\nsleep 1\n' >deadly
chmod +x deadly
CC=$PWD/deadly opfuse verify --suite suite --jobs 1
