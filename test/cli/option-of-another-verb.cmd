# status 2
opfuse ops --rtol 1
