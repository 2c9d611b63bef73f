"""Makes lines.onnx: dear element-wise work over lines of open length, beside a picture of half the size. Constants from a fixed seed.
usage: python make_lines.py   (needs onnx and numpy)"""
import os
import sys

import numpy as np
from onnx import TensorProto as T
from onnx import numpy_helper as N

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(here))
from graph import Graph

g = Graph("lines")


def constant(value):
    name = f"c{len(g.weights)}"
    g.weights.append(N.from_array(np.asarray(value), name))
    return name


def number(q, scale, point):
    return g.op("DequantizeLinear", q, constant(np.float32(scale)), constant(np.uint8(point)))


def again(x, scale, point):
    return number(g.op("QuantizeLinear", x, constant(np.float32(scale)), constant(np.uint8(point))), scale, point)


x, small = g.input("x", 1, 3, "H", "W", dtype=T.UINT8), g.input("small", 1, 3, "h", "w", dtype=T.UINT8)
gates = constant(np.random.default_rng(5).uniform(0.2, 1, (3, 1, 1)).astype(np.float32))
t = number(x, 0.11, 121)
t = again(g.op("Add", t, again(g.op("Mul", t, gates), 0.07, 130)), 0.19, 125)
large = g.op("Resize", number(small, 0.3, 128), "", constant(np.float32([1, 1, 2, 2])), mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
g.write(here, [again(g.op("Add", t, again(large, 0.25, 126)), 0.33, 127)])
