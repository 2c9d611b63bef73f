"""Writes the models of this folder: float16 in lines of any length, in every form in which contractions and windows read and store them. Needs the
onnx package. usage: make_half.py"""
import os, sys
import numpy as np
from onnx import numpy_helper as N, TensorProto as T

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(here))
import graph
random = np.random.default_rng(7)


class Graph(graph.Graph):
    def const(self, *dims, scale=0.3, least=None):
        self.count += 1
        numbers = random.normal(0, scale, dims) if least is None else random.uniform(least, least + scale, dims)
        self.weights.append(N.from_array(numbers.astype(np.float16), f"c{self.count}"))
        return f"c{self.count}"

    def number(self, value):
        self.count += 1
        self.weights.append(N.from_array(np.array(value, np.float16), f"c{self.count}"))
        return f"c{self.count}"

    def conv(self, x, inputs, outputs, *size, group=1, **more):
        pads = [s // 2 for s in size] * 2
        return self.op("Conv", x, self.const(outputs, inputs // group, *size), pads=pads, group=group, **more)

    def norm(self, x, channels):
        return self.op("BatchNormalization", x, self.const(channels), self.const(channels), self.const(channels), self.const(channels, scale=1, least=0.5))

    def hard_swish(self, x):
        gate = self.op("Clip", self.op("Add", x, self.number(3)), self.number(0), self.number(6))
        return self.op("Div", self.op("Mul", x, gate), self.number(6))

    def save(self, output):
        self.write(here, [self.op("Cast", output, to=T.FLOAT)])


g = Graph("pictures")  # stride 2, lines and flat columns, depth-wise windows in planes, a residual sum
y = g.hard_swish(g.norm(g.conv(g.input("x", "n", 3, "h", "w", dtype=T.FLOAT16), 3, 12, 3, 3, strides=[2, 2]), 12))
z = g.hard_swish(g.norm(g.conv(g.conv(y, 12, 24, 1, 1), 24, 24, 5, 5, group=24), 24))
g.save(g.op("MaxPool", g.op("Add", y, g.norm(g.conv(z, 24, 12, 1, 1), 12)), kernel_shape=[2, 2], strides=[2, 2]))

g = Graph("winograd")
y = g.op("Relu", g.norm(g.conv(g.input("x", "n", 32, "h", "w", dtype=T.FLOAT16), 32, 40, 3, 3), 40))
g.save(g.op("Add", y, g.const(40, 1, 1)))

g = Graph("along_a_line")
y = g.op("Relu", g.op("Add", g.conv(g.input("x", "n", 7, "w", dtype=T.FLOAT16), 7, 20, 5), g.const(20, 1)))
g.save(g.op("Sigmoid", g.conv(y, 20, 9, 3, strides=[2])))

g = Graph("products")  # rows and columns that are packed, a product in the transposed order of the axes, sums alone
a, b = g.input("a", "m", "k", dtype=T.FLOAT16), g.input("b", "k", "n", dtype=T.FLOAT16)
y = g.op("MatMul", a, b)
g.save(g.op("Add", g.op("MatMul", y, g.op("Transpose", y, perm=[1, 0])), g.number(0.25)))

g = Graph("casts")
x = g.op("Cast", g.op("Sin", g.op("Cast", g.input("x", "n", "w", dtype=T.FLOAT16), to=T.FLOAT)), to=T.FLOAT16)
g.save(g.op("Neg", g.op("Max", g.op("Abs", x), g.op("Tanh", x))))
