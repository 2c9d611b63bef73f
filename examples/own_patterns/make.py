"""Makes model.onnx and test_data_set_0: two layers with Gelu written out, a gate, a softmax, and what numpy says that they compute.
gelu.onnx: the written-out Gelu as a model-local function. Needs the onnx package."""
import math
import os

import numpy as np
import onnx
from onnx import TensorProto as T, helper as H, numpy_helper as N

HERE = os.path.dirname(os.path.abspath(__file__))
draw = np.random.default_rng(11)
w1, w2 = (draw.standard_normal(shape).astype(np.float32) / 6 for shape in ((32, 64), (64, 32)))
b1, b2 = (draw.standard_normal(n).astype(np.float32) / 4 for n in (64, 32))
numbers = {"w1": w1, "w2": w2, "b1": b1, "b2": b2, "root_two": np.float32(math.sqrt(2)), "one": np.float32(1), "half": np.float32(0.5)}


def gelu(name, x, y):
    """x -> 0.5 * x * (1 + erf(x / sqrt(2))), as exporters write it out"""
    made = [("Div", [x, "root_two"], "scaled"), ("Erf", ["scaled"], "erf"), ("Add", ["erf", "one"], "shifted"), ("Mul", [x, "shifted"], "product"), ("Mul", ["product", "half"], y)]
    inner = {"scaled", "erf", "shifted", "product"}
    own = lambda v: f"{name}_{v}" if v in inner else v
    return [H.make_node(op, [own(v) for v in ins], [own(out)], name=f"{name}_{op}_{k}") for k, (op, ins, out) in enumerate(made)]


nodes = [H.make_node("MatMul", ["x", "w1"], ["a"], name="first"), H.make_node("Add", ["a", "b1"], ["b"], name="first_bias"),
         *gelu("gelu", "b", "c"),
         H.make_node("MatMul", ["c", "w2"], ["d"], name="second"), H.make_node("Add", ["b2", "d"], ["e"], name="second_bias"),
         H.make_node("LeakyRelu", ["e"], ["f"], name="leak", alpha=0.2), H.make_node("Mul", ["f", "e"], ["g"], name="gate"),
         H.make_node("Softmax", ["g"], ["y"], name="softmax", axis=-1)]
graph = H.make_graph(nodes, "own_patterns", [H.make_tensor_value_info("x", T.FLOAT, ["N", 32])], [H.make_tensor_value_info("y", T.FLOAT, ["N", 32])],
                     [N.from_array(np.asarray(v), k) for k, v in numbers.items()])
onnx.save(H.make_model(graph, opset_imports=[H.make_opsetid("", 17)], ir_version=8), os.path.join(HERE, "model.onnx"))

constant = lambda name, value: H.make_node("Constant", [], [name], value=H.make_tensor(name, T.FLOAT, [], [value]))
body = [constant("root_two", math.sqrt(2)), constant("one", 1), constant("half", 0.5), *gelu("g", "x", "y")]
function = H.make_function("example", "Gelu", ["x"], ["y"], body, [H.make_opsetid("", 17)])
call = H.make_graph([H.make_node("Gelu", ["x"], ["y"], domain="example")], "g", [H.make_tensor_value_info("x", T.FLOAT, [4])], [H.make_tensor_value_info("y", T.FLOAT, [4])])
onnx.save(H.make_model(call, opset_imports=[H.make_opsetid("", 17), H.make_opsetid("example", 1)], functions=[function], ir_version=8), os.path.join(HERE, "gelu.onnx"))

x = draw.standard_normal((5, 32)).astype(np.float32)
b = x.astype(np.float64) @ w1 + b1
c = 0.5 * b * (1 + np.vectorize(math.erf)(b / math.sqrt(2)))
e = c @ w2 + b2
g = np.where(e < 0, 0.2 * e, e) * e
y = np.exp(g - g.max(-1, keepdims=True))
y /= y.sum(-1, keepdims=True)
folder = os.path.join(HERE, "test_data_set_0")
os.makedirs(folder, exist_ok=True)
for name, array in (("input_0", x), ("output_0", y.astype(np.float32))):
    with open(os.path.join(folder, name + ".pb"), "wb") as file:
        file.write(N.from_array(array, "x" if name[0] == "i" else "y").SerializeToString())
