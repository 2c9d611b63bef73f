# status 1
exec 3> >(exec true)
sleep 1
opfuse ops >&3
