# status 0
# Layer norm, softmax, Gelu and attention in odd forms: right. That each is one kernel: test/unit/fuse_rows.c.
for model in norm_opset_9 norm_folded norm_mean_of_squares norm_double softmax_flat_11 softmax_turned_11 softmax_epsilon gelu_logistic gelu_tanh_power_integer \
  attention_guarded attention_groups_merged_gather attention_mask_causal_range attention_causal_upper attention_mask_bert_lowest; do
  opfuse verify $root/test/data/forms/$model.onnx -q | tail -n 1 | sed "s/^/$model: /"
done
