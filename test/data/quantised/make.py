"""Makes regions.onnx: operators between DequantizeLinear and QuantizeLinear, one of each kind that `explain` tells apart, over
integers from a fixed seed. usage: python make.py   (needs onnx and numpy)"""
import os

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as H
from onnx import numpy_helper as N

draw = np.random.default_rng(4)
nodes, constants, outputs = [], [], []


def constant(name, value):
    constants.append(N.from_array(np.asarray(value), name))
    return name


def quantised(name, x, scale, point):
    nodes.append(H.make_node("QuantizeLinear", [x, constant(name + "_scale", np.float32(scale)), constant(name + "_point", np.uint8(point))], [name], name=name))
    outputs.append(H.make_tensor_value_info(name, T.UINT8, None))


def dequantised(name, x, scale, point):
    nodes.append(H.make_node("DequantizeLinear", [x, constant(name + "_scale", np.float32(scale)), constant(name + "_point", np.uint8(point))], [name], name=name))
    return name


def node(op, inputs, name, **attributes):
    nodes.append(H.make_node(op, inputs, [name], name=name, **attributes))
    return name


weights = (draw.integers(-127, 128, (6, 4, 3, 3)) / 64).astype(np.float32)
half = dequantised("half", "x", 0.5, 128)
# sums of products that float32 holds exactly; and with a weight that has a low bit of its own, that it does not
quantised("exact_q", node("Conv", [half, constant("w", weights)], "exact"), 16, 100)
fine = weights.copy()
fine[0, 0, 0, 0] += np.float32(2.0 ** -20)
quantised("long_q", node("Conv", [half, constant("w_fine", fine)], "long"), 16, 100)
# a scale whose products are rounded; one that the model is given
third = dequantised("third", "x", 1 / 3, 128)
quantised("rounded_q", node("Relu", [node("Conv", [third, "w"], "rounded")], "rounded_relu"), 11, 0)
given = "given"
nodes.append(H.make_node("DequantizeLinear", ["x", "scale", constant("given_point", np.uint8(7))], [given], name=given))
quantised("given_q", node("Conv", [given, "w"], "scaled"), 11, 100)
# as many terms as the picture has points
quantised("mean_q", node("GlobalAveragePool", [half], "mean"), 0.25, 100)
# own rounding of each element
quantised("sum_q", node("Add", [half, given], "sum"), 0.75, 128)
# what is only moved: by other steps, by the same, the largest of a window, two operands side by side
quantised("other_q", node("Transpose", [third], "other", perm=[0, 2, 3, 1]), 0.25, 128)
quantised("same_q", node("Transpose", [third], "same", perm=[0, 3, 1, 2]), 1 / 3, 128)
quantised("largest_q", node("MaxPool", [third], "largest", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), 1 / 3, 128)
second = dequantised("second", "z", 1 / 3, 128)
quantised("joined_q", node("Concat", [third, second], "joined", axis=1), 1 / 3, 128)
graph = H.make_graph(nodes, "regions", [H.make_tensor_value_info("x", T.UINT8, [1, 4, "H", "W"]), H.make_tensor_value_info("z", T.UINT8, [1, 2, "H", "W"]),
                                        H.make_tensor_value_info("scale", T.FLOAT, [])], outputs, constants)
model = onnx.shape_inference.infer_shapes(H.make_model(graph, opset_imports=[H.make_opsetid("", 17)], ir_version=8))
onnx.checker.check_model(model)
onnx.save(model, os.path.join(os.path.dirname(os.path.abspath(__file__)), "regions.onnx"))
