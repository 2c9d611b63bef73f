# status 0
# Concatenations in place: parts whose places are expressions of the sizes, views of parts, and those that are copied.
joins=$root/test/data/joins
for model in open_picture open_width open_batch open_rows found_size through_views view_is_output one_source_twice scaled_behind turned_behind; do
  opfuse verify $joins/$model.onnx --all -q | tail -n 1 | sed "s/^/$model: /"
done
# one program, other sizes; one element; other instruction sets; threads
opfuse verify $joins/open_picture.onnx --hint h=7 --hint w=9 -q | tail -n 1
opfuse verify $joins/open_picture.onnx --hint h=1 --hint w=1 --machine generic -q | tail -n 1
opfuse verify $joins/open_rows.onnx --hint n=5 --hint m=3 --hint k=33 --bounds -q | tail -n 1
opfuse verify $joins/open_rows.onnx --hint n=1 --hint m=40 --hint k=1 --threads 3 -q | tail -n 1
opfuse verify $joins/through_views.onnx --hint n=70 --machine x86-64-v3 -q | tail -n 1
# plain C: its self-test, with sizes left open
opfuse build $joins/open_picture.onnx --hint h=12 --hint w=10 --target=generic -o net/ -q >log || cat log
(cd net && make -s) | sed 's/error .*, 0/error N, 0/'
# without the rule all parts are copied
echo 'off join' >no.rules
opfuse verify $joins/open_picture.onnx --rules no.rules -q | tail -n 1
