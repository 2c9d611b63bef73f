# status 0
set +e
opfuse ops --json | head -c 10 >/dev/null
echo ${PIPESTATUS[0]}
