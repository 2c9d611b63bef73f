# status 1
cat >own.txt <<'END'
# what is wrong here is told all at once
Good domain d since 1 T = float y = x
Bad domain d since 1 T = float y = log(1 + exp(z - 4))
Worse domain d since 1 T = colour y = x
Relu since 1 T = float y = x
Softmax replaces since 1 T = float y = x
END
opfuse check $root/examples/own_operators/model.onnx --operators own.txt
