# status 1
opfuse check .
