"""Writes the models of this folder: element-wise work between transposes, or where axes of one element come and go, and look-alikes. expected.json:
per model the nodes that move or change axes which the pass `transposes` leaves. Needs the onnx package. usage: make_transposes.py"""
import json, os, sys
import numpy as np
from onnx import numpy_helper as N, TensorProto as T

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(here))
import graph
expected = {}
random = np.random.default_rng(0)
LAST, FIRST = [0, 2, 3, 1], [0, 3, 1, 2]  # channels last, and back


class Graph(graph.Graph):
    def __init__(self, name, *inputs):
        super().__init__(name)
        for n, t, d in inputs:
            self.input(n, *d, dtype=t)

    def const(self, *dims):
        self.count += 1
        self.weights.append(N.from_array(random.normal(0, 0.3, dims).astype(np.float32), f"c{self.count}"))
        return f"c{self.count}"

    def turn(self, x, perm):
        return self.op("Transpose", x, perm=perm)

    def units(self, kind, x, *axes):  # Squeeze, Unsqueeze
        self.count += 1
        self.weights.append(N.from_array(np.array(axes, np.int64), f"axes{self.count}"))
        return self.op(kind, x, f"axes{self.count}")

    def line_conv(self, x, inputs, outputs, size=5):  # along one axis, as it is exported: with a second one of one element
        return self.op("Conv", x, self.const(outputs, inputs, 1, size), pads=[0, size // 2] * 2)

    def conv(self, x, inputs, outputs, size=3):
        return self.op("Conv", x, self.const(outputs, inputs, size, size), pads=[size // 2] * 4)

    def norm(self, x, channels):  # a batch normalisation written out, channels last
        return self.op("Add", self.op("Mul", self.op("Sub", x, self.const(channels)), self.const(1, channels)), self.const(1, 1, 1, channels))

    def save(self, transposes, *outputs):
        self.write(here, outputs)
        expected[self.name] = transposes


picture = ("x", T.FLOAT, ["n", 3, 10, 12])

g = Graph("between_convolutions", picture)
y = g.op("Relu", g.norm(g.turn(g.conv("x", 3, 8), LAST), 8))
g.save(0, g.conv(g.turn(y, FIRST), 8, 4))

g = Graph("residual", picture)
y = g.op("Relu", g.norm(g.turn(g.conv("x", 3, 8), LAST), 8))
z = g.norm(g.turn(g.conv(g.turn(y, FIRST), 8, 8), LAST), 8)
g.save(0, g.conv(g.turn(g.op("Relu", g.op("Add", y, z)), FIRST), 8, 4))

g = Graph("mean_behind", picture)  # what reads the other layout still does: a smaller transpose than those that vanish
y = g.op("Relu", g.norm(g.turn(g.conv("x", 3, 8), LAST), 8))
g.save(1, g.conv(g.turn(y, FIRST), 8, 4), g.op("ReduceMean", y, axes=[1, 2], keepdims=0))

g = Graph("output_between", picture)
y = g.op("Relu", g.norm(g.turn(g.conv("x", 3, 8), LAST), 8))
g.save(1, y, g.conv(g.turn(y, FIRST), 8, 4))

g = Graph("other_operators", picture)  # choices, casts, numbers for all, a rank that is filled up
y = g.turn(g.conv("x", 3, 8), LAST)
y = g.op("Clip", g.op("Where", g.op("Greater", y, g.const(8)), y, g.const(12, 8)), g.const(), g.op("Abs", g.const()))
y = g.op("Cast", g.op("Cast", g.op("Mul", y, g.const(1)), to=T.DOUBLE), to=T.FLOAT)
g.save(0, g.conv(g.turn(y, FIRST), 8, 4))

g = Graph("three_axes", ("x", T.FLOAT, [4, "a", "b"]))  # a cycle, which is not its own inverse
y = g.op("Sigmoid", g.op("Add", g.turn(g.op("Softmax", "x", axis=-1), [2, 0, 1]), g.const(4, 1)))
g.save(0, g.op("Softmax", g.turn(y, [1, 2, 0]), axis=-1))

g = Graph("unit_axes", ("x", T.FLOAT, [1, 6, 1, 9]))
y = g.op("Exp", g.op("Mul", g.turn(g.op("Softmax", "x", axis=-1), LAST), g.const(6)))
g.save(0, g.op("Softmax", g.turn(y, FIRST), axis=-1))

# ---- look-alikes: nothing is moved ----

g = Graph("nothing_behind", picture)
g.save(1, g.op("Relu", g.norm(g.turn(g.conv("x", 3, 8), LAST), 8)))

g = Graph("same_way_twice", ("x", T.FLOAT, [4, 5, 6]))  # the second turns further, not back
g.save(2, g.op("Softmax", g.turn(g.op("Relu", g.turn(g.op("Softmax", "x", axis=-1), [1, 2, 0])), [1, 2, 0]), axis=-1))

g = Graph("two_layouts", ("x", T.FLOAT, [5, 5, 5]))
a, b = g.turn(g.op("Softmax", "x", axis=-1), [1, 0, 2]), g.turn(g.op("Softmax", "x", axis=1), [0, 2, 1])
g.save(3, g.turn(g.op("Add", a, b), [1, 0, 2]))

g = Graph("rows_between", ("x", T.FLOAT, [2, 5, 6]))  # a softmax along an axis is no element-wise work
g.save(2, g.turn(g.op("Softmax", g.turn("x", [0, 2, 1]), axis=-1), [0, 2, 1]))

g = Graph("operand_unturned", picture, ("bias", T.FLOAT, [8]))  # an operand that is no constant and not turned
y = g.op("Relu", g.op("Add", g.turn(g.conv("x", 3, 8), LAST), "bias"))
g.save(2, g.conv(g.turn(y, FIRST), 8, 4))

# ---- axes of one element ----

line = ("x", T.FLOAT, ["n", 3, 1, "w"])

g = Graph("squeezed_between", line)
y = g.op("Relu", g.op("Add", g.units("Squeeze", g.line_conv("x", 3, 8), 2), g.const(1, 8, 1)))
g.save(0, g.line_conv(g.units("Unsqueeze", y, 2), 8, 4))

g = Graph("squeezed_residual", line)  # and an output in the layout between; a constant of one element with all axes
y = g.op("Relu", g.op("Add", g.units("Squeeze", g.line_conv("x", 3, 8), -2), g.const(8, 1)))
z = g.op("Mul", g.units("Squeeze", g.line_conv(g.units("Unsqueeze", y, 2), 8, 8), 2), g.const(1, 1, 1))
g.save(1, g.op("Tanh", g.op("Add", y, z)))

g = Graph("unsqueezed_products", ("x", T.FLOAT, ["a", 6]))  # axes come, in front and inside
y = g.op("Sigmoid", g.op("Add", g.units("Unsqueeze", g.op("MatMul", "x", g.const(6, 5)), 0, 2), g.const(1, 1, 1, 5)))
g.save(0, g.op("MatMul", g.units("Squeeze", g.op("Mul", y, g.const(1, 1, 1, 1)), 0, 2), g.const(5, 7)))

g = Graph("reshaped_between", ("x", T.FLOAT, [2, 3, 1, 9]))
g.weights += [N.from_array(np.array([2, 8, 9], np.int64), "three"), N.from_array(np.array([2, 8, 1, 9], np.int64), "four")]
y = g.op("Relu", g.op("Sub", g.op("Reshape", g.line_conv("x", 3, 8), "three"), g.const(8, 9)))
g.save(0, g.line_conv(g.op("Reshape", y, "four"), 8, 4))

# look-alikes

g = Graph("squeezed_input", line)  # no sums in front
g.save(2, g.line_conv(g.units("Unsqueeze", g.op("Exp", g.units("Squeeze", "x", 2)), 2), 3, 4))

g = Graph("squeezed_apart", ("x", T.FLOAT, [3, 3, 1, 3]))  # different axes of two operands
a, b = g.units("Squeeze", g.line_conv("x", 3, 3), 2), g.units("Squeeze", g.op("Softmax", g.turn("x", [2, 0, 1, 3]), axis=1), 0)
g.save(3, g.op("Add", a, b))

g = Graph("turned_back_twice", picture)  # nothing between: each reader turns back for itself
y = g.turn(g.op("MaxPool", g.conv("x", 3, 8), kernel_shape=[3, 3]), LAST)
g.save(0, g.op("Add", g.conv(g.turn(y, FIRST), 8, 4), g.conv(g.turn(y, FIRST), 8, 4, 1)))

g = Graph("turned_back_once", picture)  # the other reader keeps its transpose
y = g.turn(g.op("MaxPool", g.conv("x", 3, 8), kernel_shape=[3, 3]), LAST)
g.save(1, g.conv(g.turn(y, FIRST), 8, 4), g.op("Softmax", y, axis=-1))

json.dump(expected, open(os.path.join(here, "expected.json"), "w"), indent=1)
