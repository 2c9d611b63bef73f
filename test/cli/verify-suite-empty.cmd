# status 1
mkdir nothing
opfuse verify --suite nothing
