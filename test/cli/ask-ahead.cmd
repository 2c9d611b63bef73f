# status 0
# Lines of the next channel are asked for while those of one are copied, but not where a table tells the channel: behind the last it has no number.
for model in window window_of_table; do
  for machine in x86-64-v3 generic; do
    opfuse explain $root/test/cli/models/$model.onnx --machine $machine --dump-after=emit --stop-after=emit -q >text
    echo "$model on $machine: $(grep -c '__builtin_prefetch(p0' text) of p0 asked ahead, $(grep -c 'B by windows of a copy' text) kernel of windows, $(grep -c '__builtin_prefetch(p1' text) of p1"
  done
  opfuse verify $root/test/cli/models/$model.onnx --machine generic -q | tail -n 1
done
