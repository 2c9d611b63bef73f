# status 1
opfuse ops >&-
