"""Writes the models of this folder: concatenations whose parts can be computed where they belong, and some whose parts cannot. expected.json:
kernels under policy best, and of some uses the rule. Needs the onnx package. usage: make_joins.py"""
import json, os, sys
import numpy as np
from onnx import numpy_helper as N

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(here))
import graph
expected = {}
random = np.random.default_rng(0)


class Graph(graph.Graph):
    def const(self, *dims, values=None):
        self.count += 1
        name = f"c{self.count}"
        self.weights.append(N.from_array(random.normal(0, 0.3, dims).astype(np.float32) if values is None else np.array(values, np.int64), name))
        return name

    def conv(self, x, inputs, outputs, size=1):
        return self.op("Conv", x, self.const(outputs, inputs, size, size), kernel_shape=[size, size], pads=[size // 2] * 4)

    def save(self, kernels, rules, *outputs):
        self.write(here, outputs)
        expected[self.name] = {"kernels": kernels, "rules": rules}


def fire(name, *dims, kernels, rule):
    """Two convolutions side by side, joined, and joined again with what is made of that."""
    g = Graph(name)
    x = g.input("x", *dims)
    a, b = g.op("Relu", g.conv(x, 3, 8, 3)), g.op("Relu", g.conv(x, 3, 4))
    c = g.op("Concat", a, b, axis=1)
    d = g.op("Concat", c, g.conv(c, 12, 5), axis=1)
    g.save(kernels, {f"{a} {c}": rule, f"{c} {d}": rule}, g.conv(d, 17, 6))


fire("open_picture", 1, 3, "h", "w", kernels=4, rule="join")
fire("open_width", 1, 3, 5, "w", kernels=4, rule="join")
fire("open_batch", "n", 3, 6, 6, kernels=4, rule="join-at-one")

g = Graph("open_rows")  # the parts' own sizes are open, along the axis and behind it
a = g.op("MatMul", g.input("x", "n", 16), g.input("v", 16, "k"))
b = g.op("MatMul", g.input("y", "m", 16), g.input("w", 16, "k"))
c = g.op("Concat", a, b, axis=0)
g.save(3, {f"{a} {c}": "join", f"{b} {c}": "join"}, c, g.op("ReduceMax", c, axes=[0], keepdims=1))

g = Graph("found_size")  # how many rows there are is found by a step
rows = g.op("Gather", g.const(24, 8), g.op("Reshape", g.op("NonZero", g.input("x", 24)), g.const(values=[-1])), axis=0)
a, b = g.op("MatMul", rows, g.const(8, 8)), g.op("MatMul", g.input("y", 2, 16), g.const(16, 8))
c = g.op("Concat", a, b, axis=0)
g.save(3, {f"{a} {c}": "join-unknown"}, c)

g = Graph("through_views")  # the parts are views of what is computed
x = g.input("x", "n", 16)
a, b = g.op("MatMul", x, g.const(16, 24)), g.op("Gemm", g.input("y", "n", 8), g.const(8, 24))
zero = g.const(values=[0])
a2, b2 = g.op("Unsqueeze", a, zero), g.op("Unsqueeze", b, zero)
c = g.op("Concat", a2, b2, axis=0)
g.save(3, {f"{a} {a2}": "view", f"{a2} {c}": "join", f"{b2} {c}": "join"}, g.op("Softmax", c, axis=0))

g = Graph("view_is_output")  # one of them is stored in any case
x = g.input("x", 4, 16)
a, b = g.op("MatMul", x, g.const(16, 24)), g.op("Gemm", x, g.const(16, 24))
a2, b2 = g.op("Unsqueeze", a, g.const(values=[0])), g.op("Unsqueeze", b, g.const(values=[0]))
c = g.op("Concat", a2, b2, axis=0)
g.save(2, {}, a2, g.op("Exp", c))

g = Graph("one_source_twice")  # two views of one value: one of them has to be copied
a = g.op("MatMul", g.input("x", 4, 16), g.const(16, 24))
a2, b2 = g.op("Reshape", a, g.const(values=[2, 48])), g.op("Reshape", a, g.const(values=[1, 48, 2]))
g.save(2, {}, g.op("Exp", g.op("Concat", a2, g.op("Reshape", b2, g.const(values=[2, 48])), axis=0)))

g = Graph("scaled_behind")  # TVM joins the concatenation with the scale; apart from it, that is done while the convolution copies its operand
x = g.input("x", 1, 16, 14, 14)
a, b = g.conv(x, 16, 32), g.conv(x, 16, 16)
c = g.op("Concat", a, b, axis=1)
d = g.op("Relu", g.op("Mul", c, g.const(1, 48, 1, 1)))
e = g.conv(d, 48, 64)
g.save(3, {f"{a} {c}": "join", f"{c} Mul_7": "join-stays", f"{d} {e}": "prologue"}, e)

g = Graph("turned_behind")  # an index map reads each part once in any case
x = g.input("x", 1, 16, 14, 14)
c = g.op("Concat", g.conv(x, 16, 32), g.conv(x, 16, 16), axis=1)
d = g.op("Transpose", g.op("Reshape", c, g.const(values=[1, 3, 16, 196])), perm=[0, 2, 1, 3])
g.save(3, {}, d)

fire("two_pictures", 2, 3, 6, 6, kernels=6, rule="join-apart")

g = Graph("rows_with_open_batch")  # rows take the parts and what reads them into one kernel, at every batch
x = g.input("x", "n", 24)
a, b = g.op("ReduceMax", x, axes=[1], keepdims=1), g.op("ReduceMin", x, axes=[1], keepdims=1)
g.save(1, {f"{a} Concat_3": "rows"}, g.op("Softmax", g.op("Concat", a, b, axis=1), axis=1))

json.dump(expected, open(os.path.join(here, "expected.json"), "w"), indent=1)
