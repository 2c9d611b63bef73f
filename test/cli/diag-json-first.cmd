# status 2
opfuse frobnicate --diag=json
