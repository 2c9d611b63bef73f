# status 0
opfuse --version
opfuse run --version
