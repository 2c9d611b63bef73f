# status 1
opfuse ops >/dev/full
