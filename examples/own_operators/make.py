"""Makes model.onnx and test_data_set_0: a model with operators of a domain that only operators.txt explains, and what numpy
says that it computes. Needs the onnx package."""
import os

import numpy as np
import onnx
from onnx import TensorProto as T, helper as H, numpy_helper as N

HERE = os.path.dirname(os.path.abspath(__file__))
draw = np.random.default_rng(5)
w1, w2 = (draw.standard_normal(shape).astype(np.float32) / 6 for shape in ((32, 48), (48, 16)))
scale = draw.uniform(0.5, 1.5, 48).astype(np.float32)

nodes = [H.make_node("MatMul", ["x", "w1"], ["a"], name="first"),
         H.make_node("Swoosh", ["a"], ["b"], name="swoosh", domain="org.example", shift=3.5),
         H.make_node("RMSScale", ["b", "scale"], ["c"], name="norm", domain="org.example"),
         H.make_node("MatMul", ["c", "w2"], ["d"], name="second"),
         H.make_node("RMSScale", ["d"], ["e"], name="norm_again", domain="org.example"),
         H.make_node("SoftmaxOne", ["e"], ["y"], name="softmax", domain="org.example")]
graph = H.make_graph(nodes, "own_operators", [H.make_tensor_value_info("x", T.FLOAT, ["N", 32])], [H.make_tensor_value_info("y", T.FLOAT, ["N", 16])],
                     [N.from_array(w1, "w1"), N.from_array(w2, "w2"), N.from_array(scale, "scale")])
onnx.save(H.make_model(graph, opset_imports=[H.make_opsetid("", 17), H.make_opsetid("org.example", 1)], ir_version=8), os.path.join(HERE, "model.onnx"))


def norm(x):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)


x = draw.standard_normal((5, 32)).astype(np.float32)
a = x.astype(np.float64) @ w1
b = np.log(1 + np.exp(a - 3.5)) - 0.08 * a - 0.035
e = norm(norm(b) * scale @ w2)
m = np.maximum(e.max(-1, keepdims=True), 0)
y = np.exp(e - m) / (np.exp(-m) + np.exp(e - m).sum(-1, keepdims=True))
folder = os.path.join(HERE, "test_data_set_0")
os.makedirs(folder, exist_ok=True)
for name, array in (("input_0", x), ("output_0", y.astype(np.float32))):
    with open(os.path.join(folder, name + ".pb"), "wb") as file:
        file.write(N.from_array(array, name[0].replace("i", "x").replace("o", "y")).SerializeToString())
