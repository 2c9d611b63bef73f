# status 2
opfuse
