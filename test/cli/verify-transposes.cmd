# status 0
# Element-wise work between transposes, or where axes of one element come and go, done in the layout in front of them; and look-alikes.
models=$root/test/data/transposes
for model in between_convolutions residual mean_behind output_between other_operators three_axes unit_axes nothing_behind same_way_twice two_layouts rows_between operand_unturned squeezed_between squeezed_residual unsqueezed_products reshaped_between squeezed_input squeezed_apart; do
  opfuse verify $models/$model.onnx --all -q | tail -n 1 | sed "s/^/$model: /"
done
opfuse verify $models/residual.onnx --hint n=3 --bounds -q | tail -n 1
opfuse verify $models/three_axes.onnx --hint a=1 --hint b=7 --machine generic -q | tail -n 1
opfuse verify $models/other_operators.onnx --accuracy=exact --bounds -q | tail -n 1
opfuse verify $models/squeezed_residual.onnx --hint n=2 --hint w=21 --accuracy=exact --bounds -q | tail -n 1
# values in another layout, which the evaluator does not have, are held to what their stages make of the program's own numbers
for model in between_convolutions residual mean_behind; do opfuse verify $models/$model.onnx --bounds -q | grep 'results of groups' | sed 's/: [0-9]* exact, [0-9]* within/: N exact, N within/'; done
