# status 0
opfuse ops --json | head -n 6
