# status 0
# What sequences and optionals cannot be given, and what cannot be done with them: a sentence each.
m=$root/test/cli/models
opfuse run $m/split.onnx --input x=ones --format=pb -o pb -q >/dev/null
opfuse run $m/until.onnx --input x=ones --input limit=ones --format=pb -o until -q >/dev/null
fails() { "$@" && exit 1; true; }
fails opfuse run $m/lists.onnx --input s=until/output_1.pb --input o=pb/output_1.pb --input k=zeros -q
fails opfuse run $m/lists.onnx --input s=pb/output_0.pb --input o=pb/output_1.pb --input k=uniform:3:4 -q
fails opfuse run $m/lists.onnx --input s=pb/output_1.pb --input o=pb/output_1.pb --input k=zeros -q
fails opfuse run $m/lists.onnx --input s=no.npy --input o=pb/output_1.pb --input k=zeros -q --shape s=5,3
fails opfuse run $m/lists.onnx --input o=pb/output_1.pb --input k=zeros -q
fails opfuse run $m/ranks_mixed.onnx -q
fails opfuse run $m/strings_added.onnx -q
fails opfuse build $m/texts.onnx -o plain/ -q
