# status 2
opfuse verify --all
