"""Makes tables.onnx: chains that one byte decides, which pass byte-tables looks up, and others that are none or too short. Constants from a
fixed seed. usage: python make_tables.py   (needs onnx and numpy)"""
import os
import sys

import numpy as np
from onnx import TensorProto as T
from onnx import numpy_helper as N

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(here))
from graph import Graph

draw = np.random.default_rng(11)
g = Graph("tables")


def constant(value):
    name = f"c{len(g.weights)}"
    g.weights.append(N.from_array(np.asarray(value), name))
    return name


def real(value):
    return constant(np.float32(value))


def byte(x, scale, point, dtype=np.uint8):
    return g.op("QuantizeLinear", x, real(scale), constant(dtype(point)))


def number(q, scale, point, dtype=np.uint8):
    return g.op("DequantizeLinear", q, real(scale), constant(dtype(point)))


def again(x, scale, point):
    return number(byte(x, scale, point), scale, point)


def weights(*dims):
    return constant(draw.standard_normal(dims).astype(np.float32))


x, z, w = g.input("x", 1, 4, "H", "W", dtype=T.UINT8), g.input("z", 1, 4, "H", "W", dtype=T.INT8), g.input("w", 1, 6, "H", "W", dtype=T.UINT8)
# behind a convolution, whose sums float32 holds exactly: a scale, and the hard swish written out, with a step to 8 bits after each operator
coarse = constant((draw.integers(-127, 128, (6, 4, 3, 3)) / 64).astype(np.float32))
t = again(g.op("Conv", number(x, 0.0625, 128), coarse, pads=[1, 1, 1, 1]), 0.33, 130)
t = again(g.op("Mul", real(1.37), t), 0.45, 121)
gate = again(g.op("Add", t, real(3)), 6 / 255, 0)
t = again(g.op("Mul", t, gate), 1.4, 4)
t = again(g.op("Div", t, real(6)), 0.23, 4)
# bytes with a sign, to bytes, which are an output; what goes on from there is looked up by these
tanh = byte(g.op("Tanh", number(z, 0.02, -5, np.int8)), 1 / 127, 3, np.int8)
sine = g.op("Sin", number(tanh, 1 / 127, 3, np.int8))
# none: two bytes, a scale a channel, too short
two = byte(g.op("Tanh", g.op("Add", number(w, 0.05, 128), t)), 1 / 127, 128)
channels = byte(g.op("Tanh", g.op("Mul", number(w, 0.05, 128), weights(6, 1, 1))), 1 / 127, 128)
short = g.op("Relu", number(w, 0.05, 128))
g.write(here, [t, tanh, sine, two, channels, short], {tanh: T.INT8, two: T.UINT8, channels: T.UINT8})
