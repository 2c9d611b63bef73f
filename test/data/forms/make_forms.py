"""Writes the models of this folder: layer norm, softmax, Gelu and attention as exporters write them out in one opset or another. Each of
them is one kernel under policy best (test/unit/fuse_rows.c); those of ../rows vary the form itself. Needs the onnx package.
usage: make_forms.py"""
import os

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as H
from onnx import numpy_helper as N

here = os.path.dirname(os.path.abspath(__file__))
HEADS, SIZE, FIXED = 4, 16, 24


class Graph:
    def __init__(self, name, opset):
        self.name, self.opset = name, opset
        self.nodes, self.weights, self.inputs, self.count = [], [], [], 0

    def input(self, name, *dims, dtype=T.FLOAT):
        self.inputs.append(H.make_tensor_value_info(name, dtype, dims))
        return name

    def const(self, value, dtype=np.float32):
        self.count += 1
        self.weights.append(N.from_array(np.asarray(value, dtype), f"c{self.count}"))
        return f"c{self.count}"

    def ints(self, *values):
        return self.const(values, np.int64)

    def op(self, kind, *inputs, **attributes):
        self.count += 1
        name = f"{kind}_{self.count}"
        self.nodes.append(H.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def reduce(self, kind, x, axes=(-1,), keepdims=1):
        if self.opset >= 18 or (kind == "ReduceSum" and self.opset >= 13):
            return self.op(kind, x, self.ints(*axes), keepdims=keepdims)
        return self.op(kind, x, axes=list(axes), keepdims=keepdims)

    def unsqueeze(self, x, *axes):
        return self.op("Unsqueeze", x, self.ints(*axes)) if self.opset >= 13 else self.op("Unsqueeze", x, axes=list(axes))

    def rows(self, kind, x, keepdims=1, axes=(2,)):  # of three axes, the last as a column
        result = self.reduce(kind, x, axes, keepdims)
        return result if keepdims else self.unsqueeze(result, *axes)

    def save(self, output):
        graph = H.make_graph(self.nodes, self.name, self.inputs, [H.make_tensor_value_info(output, T.FLOAT, None)], self.weights)
        model = H.make_model(graph, opset_imports=[H.make_opsetid("", self.opset)], ir_version=8 if self.opset < 21 else 10, producer_name="")
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
        onnx.checker.check_model(model)
        onnx.save(model, os.path.join(here, self.name + ".onnx"))


# ---- layer norm ----

SCALE, SHIFT = np.linspace(0.5, 1.5, 32), np.linspace(-1, 1, 32)

squares = {
    "Pow": lambda g, c: g.op("Pow", c, g.const(2.0)),
    "Pow by an integer": lambda g, c: g.op("Pow", c, g.const(2, np.int64)),
    "Pow by a cast": lambda g, c: g.op("Pow", c, g.op("Cast", g.const(2, np.int64), to=T.FLOAT)),
    "Mul": lambda g, c: g.op("Mul", c, c),
}
quotients = {
    "Div": lambda g, c, v: g.op("Div", c, g.op("Sqrt", v)),
    "root, Reciprocal": lambda g, c, v: g.op("Mul", c, g.op("Reciprocal", g.op("Sqrt", v))),
    "Reciprocal, root": lambda g, c, v: g.op("Mul", c, g.op("Sqrt", g.op("Reciprocal", v))),
    "one by root": lambda g, c, v: g.op("Mul", c, g.op("Div", g.const(1.0), g.op("Sqrt", v))),
    "power": lambda g, c, v: g.op("Mul", c, g.op("Pow", v, g.const(-0.5))),
}


def norm(name, opset=17, square="Pow", quotient="Div", keepdims=1, axes=(2,), dims=("b", 8, 32), variance=None, folded=False):
    g = Graph("norm_" + name, opset)
    x = g.input("x", *dims)
    mean = lambda v: g.rows("ReduceMean", v, keepdims, axes)
    centred = g.op("Sub", x, mean(x))
    if variance == "sum of squares":
        spread = g.op("Div", g.rows("ReduceSumSquare", centred, 1, axes), g.const(32.0))
    elif variance == "mean of squares":
        spread = g.op("Sub", mean(g.op("Mul", x, x)), g.op("Mul", mean(x), mean(x)))
    else:
        spread = mean(squares[square](g, centred))
    spread = g.op("Add", spread, g.const(1e-5))
    if folded:  # x * (scale / root) + (shift - mean * scale / root)
        factor = g.op("Mul", g.op("Reciprocal", g.op("Sqrt", spread)), g.const(SCALE))
        g.save(g.op("Add", g.op("Mul", x, factor), g.op("Sub", g.const(SHIFT), g.op("Mul", mean(x), factor))))
    else:
        g.save(g.op("Add", g.op("Mul", quotients[quotient](g, centred, spread), g.const(SCALE)), g.const(SHIFT)))


for opset in (9, 11, 13, 17, 18, 21):
    norm(f"opset_{opset}", opset)
for opset in (11, 13, 18):
    norm(f"unsqueezed_{opset}", opset, keepdims=0)
norm("mul_9", 9, "Mul")
norm("power_integer", 13, "Pow by an integer")
norm("power_cast", 13, "Pow by a cast")
for number, quotient in enumerate(quotients):
    norm(f"quotient_{number}", quotient=quotient)
norm("folded", folded=True)
norm("sum_of_squares", variance="sum of squares")
norm("mean_of_squares", variance="mean of squares")
norm("two_axes", axes=(1, 2))
norm("four_axes", axes=(3,), dims=("b", "s", 4, 32))
norm("fixed", dims=(1, 128, 32))
for opset in (17, 21):
    g = Graph(f"norm_operator_{opset}", opset)
    g.save(g.op("LayerNormalization", g.input("x", "b", 8, 32), g.const(SCALE), g.const(SHIFT), axis=-1))
g = Graph("norm_double", 17)  # computed in double
x = g.op("Cast", g.input("x", "b", 8, 32), to=T.DOUBLE)
c = g.op("Sub", x, g.rows("ReduceMean", x))
v = g.op("Add", g.rows("ReduceMean", g.op("Mul", c, c)), g.const(1e-5, np.float64))
g.save(g.op("Cast", g.op("Div", c, g.op("Sqrt", v)), to=T.FLOAT))

# ---- softmax ----


def softmax(name, opset, build, dims=("b", 8, "w")):
    g = Graph("softmax_" + name, opset)
    g.save(build(g, g.input("x", *dims)))


def written(largest=True, quotient="Div", keepdims=1):
    def build(g, x):
        x = g.op("Sub", x, g.rows("ReduceMax", x, keepdims)) if largest else x
        power = g.op("Exp", x)
        total = g.rows("ReduceSum", power, keepdims)
        if quotient == "Div":
            return g.op("Div", power, total)
        return g.op("Mul", power, g.op("Reciprocal", total) if quotient == "Reciprocal" else g.op("Div", g.const(1.0), total))
    return build


for opset in (9, 11, 13, 18, 21):
    softmax(f"operator_{opset}", opset, lambda g, x: g.op("Softmax", x, axis=2))
    softmax(f"written_{opset}", opset, written())
    softmax(f"unsqueezed_{opset}", opset, written(keepdims=0))
softmax("flat_9", 9, lambda g, x: g.op("Softmax", x), ("b", 8, 16))  # all behind axis 1 as one
softmax("flat_11", 11, lambda g, x: g.op("Softmax", x, axis=1))
softmax("columns_13", 13, lambda g, x: g.op("Softmax", x, axis=1))
softmax("columns_fixed", 13, lambda g, x: g.op("Softmax", x, axis=1), (4, 8, 64))
softmax("turned_11", 11, lambda g, x: g.op("Transpose", g.op("Softmax", g.op("Transpose", x, perm=[0, 2, 1]), axis=2), perm=[0, 2, 1]))
softmax("two_axes_11", 11, lambda g, x: g.op("Reshape", g.op("Softmax", g.op("Reshape", x, g.ints(-1, 16)), axis=1), g.ints(-1, 8, 16)), ("b", 8, 16))
softmax("reciprocal", 17, written(quotient="Reciprocal"))
softmax("one_by_sum", 17, written(quotient="one"))
softmax("no_largest", 17, written(largest=False))
softmax("of_log", 17, lambda g, x: g.op("Exp", g.op("LogSoftmax", x, axis=-1)))
for opset in (17, 18):
    softmax(f"log_sum_exp_{opset}", opset, lambda g, x: g.op("Exp", g.op("Sub", x, g.rows("ReduceLogSumExp", x))))


def with_epsilon(g, x):
    power = g.op("Exp", g.op("Sub", x, g.rows("ReduceMax", x)))
    return g.op("Div", power, g.op("Add", g.rows("ReduceSum", power), g.const(1e-9)))


softmax("epsilon", 17, with_epsilon)

# ---- Gelu ----

ROOT_2, FACTOR = np.sqrt(2), np.sqrt(2 / np.pi)


def gelu(name, opset, build):
    g = Graph("gelu_" + name, opset)
    g.save(build(g, g.input("x", "b", 8, 32)))


def by_erf(g, x, root=None):
    erf = g.op("Erf", g.op("Div", x, root or g.const(ROOT_2)))
    return g.op("Mul", x, g.op("Add", erf, g.const(1.0)))


cubes = {
    "power": lambda g, x: g.op("Pow", x, g.const(3.0)),
    "power_integer": lambda g, x: g.op("Pow", x, g.const(3, np.int64)),
    "mul": lambda g, x: g.op("Mul", x, g.op("Mul", x, x)),
}


def inner(g, x, cube):
    return g.op("Add", x, g.op("Mul", g.const(0.044715), cubes[cube](g, x)))


def by_tanh(cube):
    return lambda g, x: g.op("Mul", g.op("Mul", g.const(0.5), x), g.op("Add", g.const(1.0), g.op("Tanh", g.op("Mul", g.const(FACTOR), inner(g, x, cube)))))


def logistic(g, x):
    return g.op("Div", x, g.op("Add", g.const(1.0), g.op("Exp", g.op("Neg", g.op("Mul", g.const(1.702), x)))))


for opset in (9, 11, 13, 17, 18, 21):
    gelu(f"erf_{opset}", opset, lambda g, x: g.op("Mul", by_erf(g, x), g.const(0.5)))
gelu("erf_root", 17, lambda g, x: g.op("Mul", by_erf(g, x, g.op("Sqrt", g.const(2.0))), g.const(0.5)))
gelu("erf_by_two", 17, lambda g, x: g.op("Div", by_erf(g, x), g.const(2.0)))
gelu("erf_halves", 17, lambda g, x: g.op("Mul", x, g.op("Add", g.const(0.5), g.op("Mul", g.const(0.5), g.op("Erf", g.op("Mul", x, g.const(1 / ROOT_2)))))))
for cube in cubes:
    gelu("tanh_" + cube, 17, by_tanh(cube))
gelu("tanh_9", 9, by_tanh("mul"))
gelu("tanh_as_sigmoid", 17, lambda g, x: g.op("Mul", x, g.op("Sigmoid", g.op("Mul", g.const(2 * FACTOR), inner(g, x, "mul")))))
gelu("sigmoid", 17, lambda g, x: g.op("Mul", x, g.op("Sigmoid", g.op("Mul", g.const(1.702), x))))
gelu("logistic", 17, logistic)
gelu("operator_20", 20, lambda g, x: g.op("Gelu", x))
gelu("operator_tanh_21", 21, lambda g, x: g.op("Gelu", x, approximate="tanh"))

# ---- attention ----

INF, LOWEST = np.inf, -3.4028235e38
lower = lambda n: np.tril(np.ones((n, n)))


def ranges(g, s):  # columns and rows of scores of unknown size
    sizes = g.op("Shape", s)
    of = lambda axis: g.op("Squeeze", g.op("Slice", sizes, g.ints(axis), g.ints(axis + 1), g.ints(0)), g.ints(0))
    rows, columns = (g.op("Range", g.const(0, np.int64), of(axis), g.const(1, np.int64)) for axis in (2, 3))
    return g.unsqueeze(columns, 0), g.unsqueeze(rows, 1)


def bert(g, s, mask, lowest):
    return g.op("Add", s, g.op("Mul", g.op("Sub", g.const(1.0), g.op("Cast", mask, to=T.FLOAT)), g.const(lowest)))


def fixed_range(g, s):
    r = g.ints(*range(FIXED))
    return g.op("Where", g.op("LessOrEqual", g.unsqueeze(r, 0), g.unsqueeze(r, 1)), s, g.const(-INF))


def sliced_constant(g, s):
    big = g.const(lower(2 * FIXED)[None, None].astype(bool), bool)
    return g.op("Where", g.op("Slice", big, g.ints(0, 0), g.ints(FIXED, FIXED), g.ints(2, 3)), s, g.const(-1e4))


masks = {
    "added": lambda g, s: g.op("Add", s, g.input("mask", "b", 1, "m", "n")),
    "chosen": lambda g, s: g.op("Where", g.input("mask", "b", 1, 1, "n", dtype=T.BOOL), s, g.const(-INF)),
    "chosen_not": lambda g, s: g.op("Where", g.op("Not", g.input("mask", "b", 1, "m", "n", dtype=T.BOOL)), g.const(LOWEST), s),
    "equal_zero": lambda g, s: g.op("Where", g.op("Equal", g.input("mask", "b", 1, 1, "n"), g.const(0.0)), g.const(-1e9), s),
    "zero_or_infinite": lambda g, s: g.op("Add", s, g.op("Where", g.input("mask", "b", 1, 1, "n", dtype=T.BOOL), g.const(0.0), g.const(-INF))),
    "bert": lambda g, s: bert(g, s, g.unsqueeze(g.unsqueeze(g.input("mask", "b", "n", dtype=T.INT64), 1), 2), -1e4),
    "bert_lowest": lambda g, s: bert(g, s, g.input("mask", "b", 1, 1, "n", dtype=T.INT64), LOWEST),
    "causal_range": lambda g, s: g.op("Where", g.op("LessOrEqual", *ranges(g, s)), s, g.const(-INF)),
}
causal = {
    "added": lambda g, s: g.op("Add", s, g.const(np.where(lower(FIXED), 0, -INF)[None, None])),
    "added_finite": lambda g, s: g.op("Add", s, g.const(np.where(lower(FIXED), 0, -1e9))),
    "chosen": lambda g, s: g.op("Where", g.const(lower(FIXED)[None, None].astype(bool), bool), s, g.const(-INF)),
    "sliced": sliced_constant,
    "upper": lambda g, s: g.op("Add", s, g.op("Trilu", g.const(np.full((FIXED, FIXED), -INF)), g.const(1, np.int64), upper=1)),
    "fixed_range": fixed_range,
}
root = lambda g: g.op("Sqrt", g.const(float(SIZE)))
scales = {  # of queries, keys, scores
    "mul": (None, None, lambda g, s: g.op("Mul", s, g.const(0.25))),
    "div": (None, None, lambda g, s: g.op("Div", s, g.const(4.0))),
    "div_root": (None, None, lambda g, s: g.op("Div", s, root(g))),
    "queries_root": (lambda g, q: g.op("Div", q, root(g)), None, None),
    "both": (lambda g, q: g.op("Mul", q, g.const(0.5)), lambda g, k: g.op("Mul", k, g.const(0.5)), None),
    "both_roots": tuple(2 * [lambda g, v: g.op("Mul", v, g.op("Sqrt", g.op("Div", g.const(1.0), root(g))))]) + (None,),
}


def plain(g, b, m, n, groups):
    k = g.input("k", b, HEADS // groups, n, SIZE)
    return g.input("q", b, HEADS, m, SIZE), k, g.input("v", b, HEADS // groups, n, SIZE)


def merged(g, b, m, n, groups):
    def heads(name, length, count):
        return g.op("Transpose", g.op("Reshape", g.input(name, b, length, count * SIZE), g.ints(0, -1, count, SIZE)), perm=[0, 2, 1, 3])
    return heads("q", m, HEADS), heads("k", n, HEADS // groups), heads("v", n, HEADS // groups)


def cut(g, b, m, n, groups):  # from one tensor, by slices
    x = g.input("x", b, m, 3 * HEADS * SIZE)
    parts = [g.op("Slice", x, g.ints(i * HEADS * SIZE), g.ints((i + 1) * HEADS * SIZE), g.ints(2)) for i in range(3)]
    return [g.op("Transpose", g.op("Reshape", p, g.ints(0, -1, HEADS, SIZE)), perm=[0, 2, 1, 3]) for p in parts]


def gathered(g, b, m, n, groups):  # from one tensor, with five axes
    x = g.op("Reshape", g.input("x", b, m, 3 * HEADS * SIZE), g.ints(0, -1, 3, HEADS, SIZE))
    x = g.op("Transpose", x, perm=[2, 0, 3, 1, 4])
    return [g.op("Gather", x, g.const(i, np.int64), axis=0) for i in range(3)]


def repeated(g, x, groups, how):
    if how == "gather":
        return g.op("Gather", x, g.ints(*[i // groups for i in range(HEADS)]), axis=1)
    x = g.unsqueeze(x, 2)
    if how == "concat":
        x = g.op("Concat", *[x] * groups, axis=2)
    else:
        x = g.op("Tile" if how == "tile" else "Expand", x, g.ints(1, 1, groups, 1, 1))
    return g.op("Reshape", x, g.ints(0, HEADS, -1, SIZE))


def attention(name, opset=17, mask=None, scale="div", layout=plain, repeat=None, fixed=False, softmax="operator"):
    g = Graph("attention_" + name, opset)
    groups = 2 if repeat else 1
    q, k, v = layout(g, *((2, FIXED, FIXED) if fixed else ("b", "m", "n")), groups)
    if repeat:
        k, v = repeated(g, k, groups, repeat), repeated(g, v, groups, repeat)
    k = g.op("Transpose", k, perm=[0, 1, 3, 2])
    of_q, of_k, of_s = scales[scale]
    s = g.op("MatMul", of_q(g, q) if of_q else q, of_k(g, k) if of_k else k)
    s = of_s(g, s) if of_s else s
    s = mask(g, s) if mask else s
    if softmax == "written":
        power = g.op("Exp", g.op("Sub", s, g.reduce("ReduceMax", s)))
        weights = g.op("Div", power, g.reduce("ReduceSum", power))
    else:
        weights = g.op("Softmax", s, axis=3)
    if softmax == "guarded":  # rows that are masked altogether
        weights = g.op("Where", g.op("IsNaN", weights), g.const(0.0), weights)
    y = g.op("MatMul", weights, v)
    if layout is not plain:
        y = g.op("Reshape", g.op("Transpose", y, perm=[0, 2, 1, 3]), g.ints(0, -1, HEADS * SIZE))
    g.save(y)


for opset in (9, 11, 13, 17, 18, 21):
    attention(f"opset_{opset}", opset, masks["added"])
for name in scales:
    attention("scale_" + name, scale=name)
for name, mask in masks.items():
    attention("mask_" + name, mask=mask)
for name, mask in causal.items():
    attention("causal_" + name, mask=mask, fixed=True)
for layout in (merged, cut, gathered):
    attention("heads_" + layout.__name__, layout=layout)
for repeat in ("expand", "tile", "concat", "gather"):
    attention("groups_" + repeat, repeat=repeat)
    attention("groups_merged_" + repeat, repeat=repeat, layout=merged)
attention("written", mask=masks["added"], softmax="written")
attention("guarded", mask=masks["chosen"], softmax="guarded")
