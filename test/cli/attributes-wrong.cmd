# status 0
cd $root/test/cli/models
for model in recurrent_wrong tree_wrong; do opfuse check $model.onnx 2>&1 >/dev/null | grep error; done
