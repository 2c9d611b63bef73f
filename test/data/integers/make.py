"""Contractions of 8-bit integers around the bound up to which the tile of floats is exact; test/unit/api_integers.c runs them.
Needs the onnx package. usage: make.py FOLDER"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as H
from onnx import numpy_helper as N

OUT = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
draw = np.random.default_rng(5)
n = H.make_node


def port(name, shape, dtype): return H.make_tensor_value_info(name, dtype, shape)


def save(name, nodes, inputs, output, **constants):
    graph = H.make_graph(nodes, name, [port(*p) for p in inputs], [port("y", *output)], [N.from_array(np.asarray(v), k) for k, v in constants.items()])
    onnx.save(H.make_model(graph, opset_imports=[H.make_opsetid("", 17)], ir_version=8), os.path.join(OUT, name + ".onnx"))


def product(name, depth, weight):
    """All weights the same: with 255 in the other operand the sum is 255 * weight * depth."""
    save(name, [n("MatMulInteger", ["x", "w"], ["y"])], [("x", [9, depth], T.UINT8)], ([9, 37], T.INT32), w=np.full((depth, 37), weight, np.int8))


product("largest", 518, 127)   # 518 * 127 * 255 = 2^24 - 1786
product("beyond", 519, 127)
save("shifted", [n("MatMulInteger", ["x", "w", "xz", "wz"], ["y"])], [("x", [13, 200], T.UINT8), ("xz", [], T.UINT8)], ([13, 50], T.INT32),
     w=draw.integers(0, 256, (200, 50), np.uint8), wz=np.uint8(131))
save("two_inputs", [n("MatMulInteger", ["a", "b"], ["y"])], [("a", [2, 21, 258], T.UINT8), ("b", [2, 258, 40], T.UINT8)], ([2, 21, 40], T.INT32))
save("two_inputs_beyond", [n("MatMulInteger", ["a", "b"], ["y"])], [("a", [21, 259], T.UINT8), ("b", [259, 40], T.UINT8)], ([21, 40], T.INT32))
save("conv", [n("ConvInteger", ["x", "w", "xz"], ["y"], pads=[1, 1, 1, 1], strides=[2, 2])], [("x", [1, 6, 15, 17], T.UINT8), ("xz", [], T.UINT8)],
     ([1, 10, 8, 9], T.INT32), w=draw.integers(-128, 128, (10, 6, 3, 3)).astype(np.int8))
save("conv_groups", [n("ConvInteger", ["x", "w"], ["y"], group=2, dilations=[2, 2])], [("x", [2, 8, 14, 14], T.INT8)], ([2, 12, 10, 10], T.INT32),
     w=draw.integers(-128, 128, (12, 4, 3, 3)).astype(np.int8))
save("qlinear_conv", [n("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], ["y"], pads=[1, 1, 1, 1])], [("x", [1, 8, 20, 20], T.UINT8)],
     ([1, 16, 20, 20], T.UINT8), w=draw.integers(-128, 128, (16, 8, 3, 3)).astype(np.int8), xs=np.float32(0.02), xz=np.uint8(128), ws=np.float32(0.01),
     wz=np.int8(3), ys=np.float32(0.11), yz=np.uint8(120), b=draw.integers(-3000, 3000, 16).astype(np.int32))
save("qlinear_matmul", [n("QLinearMatMul", ["a", "as", "az", "b", "bs", "bz", "ys", "yz"], ["y"])], [("a", [19, 96], T.INT8)], ([19, 70], T.INT8),
     b=draw.integers(-128, 128, (96, 70)).astype(np.int8), az=np.int8(-7), bz=np.int8(0), yz=np.int8(2), ys=np.float32(0.7), bs=np.float32(0.02), **{"as": np.float32(0.03)})
