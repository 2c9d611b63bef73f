# status 0
# Cells that are written out: what numpy computed, in every form, and the evaluator's values.
gates=$root/test/data/gates
check() { # FOLDER MODEL…
  local data=$1 model
  shift
  for model in "$@"; do
    opfuse verify $gates/$model.onnx --data $gates/$data -q | tail -n 1 | sed "s/^/$model: /"
  done
}
check lstm lstm_split lstm_split_old lstm_slices lstm_gathered lstm_turned lstm_gemm lstm_gemm_plain lstm_each lstm_one_bias lstm_state_first lstm_apart lstm_joined
for own in lstm_no_bias lstm_peepholes lstm_relu lstm_three_steps lstm_both_ways lstm_scan gru_three_steps; do check $own $own; done
check gru gru_split gru_slices gru_gathered gru_chunks gru_gemm gru_apart
check gru_before gru_before_split gru_before_gemm gru_before_apart
opfuse verify $gates/lstm_turned.onnx --data $gates/lstm --fuse=none -q | tail -n 1
# other numbers of rows, other instruction sets, exactly; what looks alike
opfuse verify $gates/lstm_split.onnx --dim n=1 --bounds -q | tail -n 1
opfuse verify $gates/gru_apart.onnx --dim n=33 --machine x86-64-v3 -q | tail -n 1
opfuse verify $gates/lstm_turned.onnx --machine generic -q | tail -n 1
opfuse verify $gates/lstm_apart.onnx --accuracy=exact --bounds -q | tail -n 2
for model in not_constant widths_differ rows_cut every_other overlapping read_whole read_by_product piece_is_output spread; do
  opfuse verify $gates/$model.onnx -q | tail -n 1 | sed "s/^/$model: /"
done
