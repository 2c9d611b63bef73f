# status 0
# weights of an interpolation are rounded where they are no halves, and the bounds know it
for machine in native generic; do opfuse verify $root/test/cli/models/interpolated.onnx --bounds --machine $machine -q | grep -c "^ .*within bound "; done
opfuse verify $root/test/cli/models/interpolated.onnx --bounds -q | tail -n 1
