"""Writes the models of this folder: softmax, layer norm, RMS norm and look-alikes in forms that exporters give, work in
front of contractions, and what policy best makes of each (expected.json: kernels). Needs the onnx package. usage: make_rows.py"""
import json, os, sys
import numpy as np
from onnx import numpy_helper as N, TensorProto as T

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(here))
import graph
expected = {}


class Graph(graph.Graph):
    def const(self, value, dtype=np.float32):
        self.count += 1
        name = f"c{self.count}"
        self.weights.append(N.from_array(np.asarray(value, dtype), name))
        return name

    def mean(self, x, keepdims=1, axis=-1):
        if self.opset >= 18:
            return self.op("ReduceMean", x, self.const([axis], np.int64), keepdims=keepdims)
        return self.op("ReduceMean", x, axes=[axis], keepdims=keepdims)

    def save(self, kernels, *outputs):
        self.write(here, outputs)
        expected[self.name] = kernels


def weights(g, width=32):
    r = np.random.default_rng(0)
    return g.const(r.uniform(0.5, 1.5, width)), g.const(r.normal(0, 1, width))


def layer_norm(name, opset=17, square="Pow", divide="Div", eps_first=True, affine=True, order=0, dims=("b", 8, 32), kernels=1):
    g = Graph(name, opset)
    x = g.input("x", *dims)
    centred = g.op("Sub", x, g.mean(x))
    again = g.op("Sub", x, g.mean(x)) if order == 1 else centred
    squared = g.op("Pow", again, g.const(2.0)) if square == "Pow" else g.op("Mul", again, again)
    variance = g.mean(squared)
    shifted = g.op("Add", variance, g.const(1e-5)) if eps_first else g.op("Add", g.const(1e-5), variance)
    deviation = g.op("Sqrt", shifted)
    if divide == "Div":
        y = g.op("Div", centred, deviation)
    elif divide == "Reciprocal":
        y = g.op("Mul", centred, g.op("Reciprocal", deviation))
    else:
        y = g.op("Mul", g.op("Pow", shifted, g.const(-0.5)), centred)
    if affine:
        scale, bias = weights(g, dims[-1])
        y = g.op("Add", g.op("Mul", y, scale), bias)
    g.save(kernels, y)


layer_norm("norm_pow_div")
layer_norm("norm_mul_div", square="Mul")
layer_norm("norm_reciprocal", divide="Reciprocal")
layer_norm("norm_rsqrt_pow", divide="Pow")
layer_norm("norm_eps_first", eps_first=False, square="Mul")
layer_norm("norm_no_affine", affine=False)
layer_norm("norm_two_subtractions", order=1)
layer_norm("norm_axes_input", opset=18)
layer_norm("norm_rank_2", dims=("n", 32))
layer_norm("norm_symbolic_row", dims=(8, "w"), affine=False)

g = Graph("norm_keepdims_0")  # row means are subtracted from columns: right, and no layer norm
x = g.input("x", 512, 512)
centred = g.op("Sub", x, g.mean(x, keepdims=0))
variance = g.mean(g.op("Mul", centred, centred), keepdims=0)
g.save(3, g.op("Div", centred, g.op("Sqrt", g.op("Add", variance, g.const(1e-5)))))

g = Graph("sums_crossed")  # each element needs the sums of two rows
x = g.input("x", 512, 512)
s = g.op("ReduceSum", x, g.const([1], np.int64), keepdims=1)
g.save(2, g.op("Add", s, g.op("Transpose", s, perm=[1, 0])))

g = Graph("norm_unsqueezed")  # keepdims 0, then Unsqueeze
x = g.input("x", "b", 8, 32)
axis = g.const([2], np.int64)
centred = g.op("Sub", x, g.op("Unsqueeze", g.mean(x, keepdims=0), axis))
variance = g.op("Unsqueeze", g.mean(g.op("Mul", centred, centred), keepdims=0), axis)
g.save(1, g.op("Div", centred, g.op("Sqrt", g.op("Add", variance, g.const(1e-5)))))

g = Graph("norm_residual")  # the sum is needed behind the norm too: two results of one shape
x, r = g.input("x", "b", 8, 32), g.input("r", "b", 8, 32)
total = g.op("Add", x, r)
scale, bias = weights(g)
normed = g.op("LayerNormalization", total, scale, bias, axis=-1)
g.save(1, normed, total)

g = Graph("rms_norm")
x = g.input("x", "b", 8, 32)
root = g.op("Sqrt", g.op("Add", g.mean(g.op("Pow", x, g.const(2.0))), g.const(1e-6)))
g.save(1, g.op("Mul", weights(g)[0], g.op("Mul", x, g.op("Div", g.const(1.0), root))))

g = Graph("softmax_written")
x = g.input("x", "b", 8, "w")
e = g.op("Exp", g.op("Sub", x, g.op("ReduceMax", x, axes=[-1], keepdims=1)))
g.save(1, g.op("Div", e, g.op("ReduceSum", e, g.const([-1], np.int64), keepdims=1)))

g = Graph("softmax_no_max")
x = g.input("x", "b", 8, "w")
e = g.op("Exp", x)
g.save(1, g.op("Div", e, g.op("ReduceSum", e, g.const([-1], np.int64), keepdims=1)))

g = Graph("log_softmax_written")
x = g.input("x", "b", 8, "w")
shifted = g.op("Sub", x, g.op("ReduceMax", x, axes=[-1], keepdims=1))
total = g.op("ReduceSum", g.op("Exp", shifted), g.const([-1], np.int64), keepdims=1)
g.save(1, g.op("Sub", shifted, g.op("Log", total)))

g = Graph("softmax_masked")
x, mask = g.input("x", "b", 4, "q", "k"), g.input("mask", "b", 1, 1, "k")
scaled = g.op("Add", g.op("Div", x, g.const(8.0)), mask)
g.save(1, g.op("Mul", g.op("Softmax", scaled, axis=-1), g.const(2.0)))

g = Graph("softmax_then_transpose")  # the rows of the softmax are columns of the result
x = g.input("x", 64, 48)
g.save(2, g.op("Transpose", g.op("Softmax", x, axis=-1), perm=[1, 0]))

g = Graph("columns_normalised")  # a sum over the first axis, needed by all rows
x = g.input("x", 256, 4096)
g.save(1, g.op("Div", x, g.op("ReduceSum", x, g.const([0], np.int64), keepdims=1)))

g = Graph("instance_norm_then_gate")
x = g.input("x", "n", 8, 16, 16)
scale, bias = weights(g, 8)
y = g.op("InstanceNormalization", x, scale, bias)
g.save(1, g.op("Mul", y, g.op("Sigmoid", y)))

g = Graph("siblings_of_one_shape")
x = g.input("x", "n", 64)
r = g.op("Relu", x)
g.save(1, g.op("Exp", r), g.op("Neg", r), r)

g = Graph("siblings_turned")  # heads of an attention, cut out of one tensor
x = g.input("x", 1, 20, 48)


def head(start, perm):
    cut = g.op("Slice", x, g.const([start], np.int64), g.const([start + 16], np.int64), g.const([2], np.int64))
    return g.op("Transpose", g.op("Reshape", cut, g.const([1, 20, 4, 4], np.int64)), perm=perm)


g.save(1, head(0, [0, 2, 1, 3]), head(16, [0, 2, 3, 1]), head(32, [0, 2, 1, 3]))

g = Graph("siblings_of_two_kinds")  # the second needs more than the first: it would keep the first's readers waiting
x = g.input("x", "n", 64)
y = g.input("y", "n", 64)
g.save(2, g.op("Transpose", x, perm=[1, 0]), g.op("Add", x, y))

g = Graph("results_of_two_shapes")
x = g.input("x", "n", 64)
r = g.op("Exp", x)
g.save(2, r, g.op("ReduceSum", r, g.const([1], np.int64), keepdims=0))

g = Graph("long_row_alone")  # one row of a million: no loop would be left for the threads
x = g.input("x", 1, 1 << 20)
g.save(2, g.op("Sub", x, g.op("Sqrt", g.mean(g.op("Abs", x)))))

# ---- work in front of contractions and pools ----


def in_front(name, kernels, dims, work, user):
    g = Graph(name)
    g.save(kernels, user(g, work(g, g.input("x", *dims))))


def conv(channels, kernel, pads=0, group=1):
    def user(g, x):
        w = np.random.default_rng(1).normal(0, 0.1, (32, channels // group, kernel, kernel))
        return g.op("Conv", x, g.const(w), pads=[pads] * 4, group=group)
    return user


def product(rows):  # x is the first operand
    def user(g, x):
        return g.op("MatMul", x, g.const(np.random.default_rng(1).normal(0, 0.1, (rows, 48))))
    return user


def norm_of_channels(g, x, channels):  # batch normalisation, and a product and a sum behind it
    r = np.random.default_rng(2)
    numbers = [g.const(r.uniform(0.5, 1.5, channels)) for _ in range(4)]
    y = g.op("BatchNormalization", x, *numbers)
    return g.op("Add", g.op("Mul", y, g.const(r.uniform(0.5, 1.5, (channels, 1, 1)))), g.const(r.normal(0, 1, (channels, 1, 1))))


def relu(g, x):
    return g.op("Relu", x)


def turn(*perm):
    return lambda g, x: g.op("Transpose", x, perm=list(perm))


in_front("front_heads", 1, ("b", 16, 64), lambda g, x: g.op("Transpose", g.op("Reshape", x, g.const([0, 16, 4, 16], np.int64)), perm=[0, 2, 1, 3]), product(16))
in_front("front_relu_product", 1, ("b", 16, 64), relu, product(64))
in_front("front_vector_turned", 1, (1, 64, 16), lambda g, x: g.op("MatMul", g.const(np.ones((1, 1, 16))), g.op("Transpose", x, perm=[0, 2, 1])), lambda g, x: x)
in_front("front_layout_conv", 1, (1, 16, 16, 32), turn(0, 3, 1, 2), conv(32, 3, 1))
in_front("front_relu_conv_3", 1, (1, 32, 16, 16), relu, conv(32, 3, 1))
in_front("front_relu_conv_1", 1, (1, 32, 16, 16), relu, conv(32, 1))
in_front("front_norm_conv_1", 1, (1, 32, 7, 7), lambda g, x: g.op("Relu", norm_of_channels(g, x, 32)), conv(32, 1))
in_front("front_gate_conv_1", 1, (1, 32, 14, 14), lambda g, x: g.op("Mul", x, g.input("gate", 1, 32, 1, 1)), conv(32, 1))
in_front("front_columns_conv_1", 2, (1, 32, 16, 16), lambda g, x: g.op("Mul", x, g.input("mask", 1, 1, 1, 16)), conv(32, 1))
in_front("front_relu_depthwise", 2, (1, 32, 16, 16), relu, conv(32, 3, 1, 32))
in_front("front_pad_conv", 1, (1, 32, 16, 16), lambda g, x: g.op("Pad", x, g.const([0, 0, 1, 1, 0, 0, 1, 1], np.int64)), conv(32, 3))
in_front("front_concat_conv", 2, (1, 16, 16, 16), lambda g, x: g.op("Concat", x, x, axis=1), conv(32, 1))
in_front("front_exp_product", 1, ("b", 16, 64), lambda g, x: g.op("Exp", x), product(64))
in_front("front_relu_pool", 1, (1, 8, 16, 16), relu, lambda g, x: g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2]))
in_front("front_turn_pool", 2, (1, 16, 16, 8), turn(0, 3, 1, 2), lambda g, x: g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2]))



def pool_behind(name, kernels, dims, channels, kernel, stride, pad, kind, window, step, border, act="Relu", last=None, **more):
    g = Graph(name)
    w, b = np.random.default_rng(3).normal(0, 0.2, (channels, dims[1], kernel, kernel)), np.random.default_rng(4).normal(0, 1, channels)
    y = g.op("Conv", g.input("x", *dims), g.const(w), g.const(b), pads=[pad] * 4, strides=[stride] * 2)
    z = g.op(kind, g.op(act, y), kernel_shape=[window] * 2, strides=[step] * 2, pads=border, **more)
    g.save(kernels, g.op(last, z) if last else z)


pool_behind("pool_behind_large", 1, (1, 3, 257, 256), 16, 3, 2, 1, "MaxPool", 3, 2, [0, 0, 1, 1])  # 1 MiB between: lines at a time
pool_behind("pool_behind_small", 2, (1, 3, 70, 150), 24, 7, 2, 3, "MaxPool", 3, 2, [1, 1, 2, 1])
pool_behind("pool_behind_average", 2, (1, 12, 24, 40), 16, 1, 1, 0, "AveragePool", 3, 1, [1, 1, 1, 1], "Sigmoid", "Neg", count_include_pad=1)
pool_behind("pool_behind_apart", 2, (1, 12, 20, 33), 16, 5, 1, 2, "AveragePool", 2, 2, [0, 0, 0, 0], "Sigmoid")
pool_behind("pool_behind_winograd", 2, (1, 16, 128, 128), 16, 3, 1, 1, "MaxPool", 2, 2, [0, 0, 0, 0])  # its tiles want the whole picture


def bottleneck(name, kernels, side, channels=16, taps=3, stride=1):  # expand, depth-wise, project
    g, r = Graph(name), np.random.default_rng(5)
    clip = lambda x: g.op("Clip", x, g.const(0.0), g.const(6.0))
    y = clip(g.op("Conv", g.input("x", 1, 8, side, side), g.const(r.normal(0, 0.3, (channels, 8, 1, 1)))))
    z = g.op("Conv", y, g.const(r.normal(0, 0.3, (channels, 1, taps, taps))), pads=[taps // 2] * 4, strides=[stride] * 2, group=channels)
    g.save(kernels, g.op("Conv", g.op("Relu", z) if stride == 1 else clip(z), g.const(r.normal(0, 0.3, (8, channels, 1, 1)))))


bottleneck("bottleneck_large", 2, 128)
bottleneck("bottleneck_small", 3, 28)
bottleneck("bottleneck_strided", 2, 184, 32, 3, 2)  # four times the bytes of the window's result: expand and depth-wise are one
bottleneck("bottleneck_strided_small", 3, 39, 20, 5, 2)

g = Graph("front_shared")  # two products read it
r = g.op("Transpose", g.input("x", 16, 64), perm=[1, 0])
g.save(2, product(16)(g, r), g.op("MatMul", g.const(np.ones((8, 64))), r))

g = Graph("front_shared_dear")  # exponentials are not computed twice
r = g.op("Exp", g.input("x", 16, 64))
g.save(3, product(64)(g, r), g.op("MatMul", g.const(np.ones((8, 16))), r))

g = Graph("gate_of_channels")  # squeeze-excite: the activation is computed again, the gate by each part
x = g.input("x", 1, 240, 28, 28)
s = g.op("HardSwish", x)
z = g.op("Relu", g.op("Conv", g.op("GlobalAveragePool", s), g.const(np.full((16, 240, 1, 1), 0.02))))
g.save(2, g.op("Mul", s, g.op("HardSigmoid", g.op("Conv", z, g.const(np.full((240, 16, 1, 1), 0.1))))))

# ---- attention ----


def softmax_of(g, scores, form):
    if form == "operator":
        return g.op("Softmax", scores, axis=-1)
    shifted = g.op("Sub", scores, g.op("ReduceMax", scores, axes=[-1], keepdims=1)) if form == "written" else scores
    power = g.op("Exp", shifted)
    return g.op("Div", power, g.op("ReduceSum", power, g.const([-1], np.int64), keepdims=1))


def heads_of(g, name, length, size, perm):  # [batch, length, heads * size] by heads
    cut = g.op("Reshape", g.input(name, "b", length, 4 * size), g.const([0, 0, 4, size], np.int64))
    return g.op("Transpose", cut, perm=perm)


def attention(name, scale="after", mask=None, softmax="operator", merged=False, minor=False, keys_turned=False, kernels=1):
    g = Graph(name)
    if minor:
        q, k, v = heads_of(g, "q", "m", 16, [0, 2, 1, 3]), heads_of(g, "k", "n", 16, [0, 2, 3, 1]), heads_of(g, "v", "n", 24, [0, 2, 1, 3])
    else:
        q, v = g.input("q", "b", 4, "m", 16), g.input("v", "b", 4, "n", 24)
        k = g.input("k", "b", 4, 16, "n") if keys_turned else g.op("Transpose", g.input("k", "b", 4, "n", 16), perm=[0, 1, 3, 2])
    if scale == "before":
        q = g.op("Mul", q, g.const(0.25))
    if scale == "both":
        q, k = g.op("Mul", q, g.const(0.5)), g.op("Mul", k, g.const(0.5))
    scores = g.op("MatMul", q, k)
    if scale == "after":
        scores = g.op("Mul", scores, g.const(0.25))
    if scale == "divided":
        scores = g.op("Div", scores, g.const(4.0))
    if mask == "keys":
        scores = g.op("Add", scores, g.input("mask", "b", 1, 1, "n"))
    if mask == "pairs":
        scores = g.op("Add", g.input("mask", "b", 1, "m", "n"), scores)
    if mask == "choice":
        scores = g.op("Where", g.op("Less", g.input("mask", 1, 1, "m", "n"), g.const(0.5)), scores, g.const(-1e4))
    y = g.op("MatMul", softmax_of(g, scores, softmax), v)
    if merged:
        y = g.op("Reshape", g.op("Transpose", y, perm=[0, 2, 1, 3]), g.const([0, 0, 96], np.int64))
    g.save(kernels, y)


attention("attention_plain", scale=None)
attention("attention_scaled_after")
attention("attention_scaled_before", scale="before")
attention("attention_scaled_both", scale="both")
attention("attention_divided_keys_masked", scale="divided", mask="keys")
attention("attention_pairs_masked", mask="pairs")
attention("attention_chosen", mask="choice")
attention("attention_softmax_written", softmax="written", mask="keys")
attention("attention_softmax_no_max", softmax="no max")
attention("attention_keys_turned", keys_turned=True, mask="keys")
attention("attention_heads_minor", minor=True, mask="keys")
attention("attention_merged", minor=True, merged=True, scale="before")

g = Graph("attention_shared_keys")  # groups of queries share a head of keys and values
q = g.op("Reshape", g.input("q", "b", 6, "m", 16), g.const([0, 2, 3, -1, 16], np.int64))
k, v = g.input("k", "b", 2, 1, 16, "n"), g.input("v", "b", 2, 1, "n", 16)
g.save(1, g.op("MatMul", g.op("Softmax", g.op("MatMul", q, k), axis=-1), v))



def long_attention(name, causal, kernels=1):  # rows of scores so long that their softmax goes by blocks of columns
    g = Graph(name)
    q, k, v = g.input("q", 1, 2, 40, 16), g.input("k", 1, 2, 16, 4500), g.input("v", 1, 2, 4500, 24)
    scores = g.op("Mul", g.op("MatMul", q, k), g.const(0.25))
    if causal:  # queries stand at the end of the keys
        at_query, at_key = g.const(np.arange(4460, 4500).reshape(40, 1), np.int64), g.const(np.arange(4500), np.int64)
        scores = g.op("Where", g.op("GreaterOrEqual", at_query, at_key), scores, g.const(-np.inf))
    else:
        scores = g.op("Add", scores, g.input("mask", 1, 1, 1, 4500))
    g.save(kernels, g.op("MatMul", g.op("Softmax", scores, axis=-1), v))


long_attention("attention_long_causal", True)
long_attention("attention_long_masked", False)

g = Graph("attention_over_queries")  # normalised along the wrong axis: no attention, and no row holds what its result needs
q, k, v = g.input("q", 4, 64, 16), g.input("k", 4, 16, 48), g.input("v", 4, 48, 24)
g.save(3, g.op("MatMul", g.op("Softmax", g.op("MatMul", q, k), axis=1), v))

g = Graph("product_normalised")  # the rows of a small product are whole in a block
x = g.input("x", "b", 64, 48)
scale, bias = weights(g, 40)
g.save(1, g.op("LayerNormalization", g.op("MatMul", x, g.const(np.random.default_rng(1).normal(0, 0.1, (48, 40)))), scale, bias, axis=-1))

g = Graph("large_product_normalised")  # its weights would be read once for each block of rows
x = g.input("x", 1, 128, 512)
w = g.op("MatMul", x, g.input("w", 512, 1024))
g.save(2, g.op("Softmax", w, axis=-1))

g = Graph("product_of_few_rows_normalised")  # long rows: blocks of eight; the powers of the softmax are stored by nobody
w = g.op("MatMul", g.input("x", 1, 40, 120), g.input("w", 120, 6625))
g.save(2, g.op("Softmax", w, axis=-1))

g = Graph("batches_of_one_weight")  # each position of the batch would read the weights
w = g.op("MatMul", g.input("x", 16, 8, 120), g.input("w", 120, 3000))
g.save(2, g.op("Softmax", w, axis=-1))

for name, columns in (("weight_of_whole_vectors", 112), ("weight_copied_first", 113)):  # where weights stay in no cache, the latter is two kernels
    g = Graph(name)
    weight = g.const(np.random.default_rng(3).normal(0, 0.2, (19, columns)))
    g.save(1, g.op("Softmax", g.op("MatMul", g.input("x", 1, 40, 19), weight), axis=-1))

g = Graph("two_small_layers")
x = g.input("x", "b", 64, 32)
hidden = g.op("Tanh", g.op("MatMul", x, g.const(np.random.default_rng(1).normal(0, 0.2, (32, 64)))))
g.save(1, g.op("MatMul", hidden, g.const(np.random.default_rng(2).normal(0, 0.2, (64, 16)))))

# ---- ten forms of softmax and of Gelu ----


def softmax_form(name, max_by="ReduceMax", divide="Div", keepdims=1, axes_input=True, scale=False, cast=False, axis=-1, kernels=1):
    g = Graph(name, opset=18 if axes_input else 12)
    x = g.input("x", "b", 8, "w")
    if scale:
        x = g.op("Mul", x, g.const(0.5))

    def reduce(kind, value):
        if axes_input:
            r = g.op(kind, value, g.const([axis], np.int64), keepdims=keepdims)
        else:
            r = g.op(kind, value, axes=[axis], keepdims=keepdims)
        return r if keepdims else g.op("Unsqueeze", r, g.const([2], np.int64)) if axes_input else g.op("Unsqueeze", r, axes=[2])

    if max_by == "ReduceMax":
        x = g.op("Sub", x, reduce("ReduceMax", x))
    if max_by == "negated":
        x = g.op("Add", x, g.op("Neg", reduce("ReduceMax", x)))
    if cast:
        x = g.op("Cast", g.op("Cast", x, to=T.DOUBLE), to=T.FLOAT)
    power = g.op("Exp", x)
    total = reduce("ReduceSum", power)
    if divide == "Div":
        y = g.op("Div", power, total)
    elif divide == "Reciprocal":
        y = g.op("Mul", power, g.op("Reciprocal", total))
    elif divide == "Pow":
        y = g.op("Mul", g.op("Pow", total, g.const(-1.0)), power)
    else:
        y = g.op("Exp", g.op("Sub", x, g.op("Log", total)))
    g.save(kernels, y)


softmax_form("softmax_form_reciprocal", divide="Reciprocal")
softmax_form("softmax_form_power", divide="Pow")
softmax_form("softmax_form_log", divide="Log")
softmax_form("softmax_form_negated", max_by="negated")
softmax_form("softmax_form_keepdims_0", keepdims=0)
softmax_form("softmax_form_axes_input", axes_input=True)
softmax_form("softmax_form_scaled", scale=True)
softmax_form("softmax_form_no_max_reciprocal", max_by=None, divide="Reciprocal")
softmax_form("softmax_form_axis_2", axis=2)
softmax_form("softmax_form_cast", cast=True)

ROOT_HALF, ROOT_2_PI = 0.7071067811865476, 0.7978845608028654


def gelu_form(name, build):
    g = Graph(name, opset=20)
    g.save(1, build(g, g.input("x", "b", 8, 32)))


def gelu_erf(divide, half_last, order):
    def build(g, x):
        scaled = g.op("Div", x, g.const(1 / ROOT_HALF)) if divide else g.op("Mul", x, g.const(ROOT_HALF))
        erf = g.op("Erf", scaled)
        one = g.op("Add", erf, g.const(1.0)) if order else g.op("Add", g.const(1.0), erf)
        return g.op("Mul", g.op("Mul", x, one), g.const(0.5)) if half_last else g.op("Mul", g.op("Mul", x, g.const(0.5)), one)
    return build


def gelu_tanh(cube, factored):
    def build(g, x):
        if factored:
            inner = g.op("Mul", x, g.op("Add", g.const(1.0), g.op("Mul", g.const(0.044715), g.op("Mul", x, x))))
        else:
            third = g.op("Pow", x, g.const(3.0)) if cube else g.op("Mul", g.op("Mul", x, x), x)
            inner = g.op("Add", x, g.op("Mul", third, g.const(0.044715)))
        return g.op("Mul", g.op("Mul", x, g.const(0.5)), g.op("Add", g.op("Tanh", g.op("Mul", inner, g.const(ROOT_2_PI))), g.const(1.0)))
    return build


gelu_form("gelu_erf_div", gelu_erf(True, True, True))
gelu_form("gelu_erf_mul", gelu_erf(False, True, True))
gelu_form("gelu_erf_half_first", gelu_erf(True, False, True))
gelu_form("gelu_erf_one_first", gelu_erf(False, False, False))
gelu_form("gelu_tanh_pow", gelu_tanh(True, False))
gelu_form("gelu_tanh_mul", gelu_tanh(False, False))
gelu_form("gelu_tanh_factored", gelu_tanh(False, True))
gelu_form("gelu_sigmoid", lambda g, x: g.op("Mul", x, g.op("Sigmoid", g.op("Mul", x, g.const(1.702)))))
gelu_form("gelu_operator", lambda g, x: g.op("Gelu", x))
gelu_form("gelu_operator_tanh", lambda g, x: g.op("Gelu", x, approximate="tanh"))

# ---- contractions that share an operand ----


def layer(g, x, seed, rows=32, columns=48):
    r = np.random.default_rng(seed)
    return g.op("Add", g.op("MatMul", x, g.const(r.normal(0, 0.2, (rows, columns)))), g.const(r.normal(0, 1, columns)))


g = Graph("shared_queries_keys_values")
x = g.input("x", "b", 16, 32)
g.save(1, layer(g, x, 1), layer(g, x, 2), layer(g, x, 3))

g = Graph("shared_gate")
x = g.input("x", "b", 16, 32)
gate = layer(g, x, 1)
g.save(1, g.op("Mul", g.op("Mul", gate, g.op("Sigmoid", gate)), layer(g, x, 2)))

g = Graph("shared_widths_differ")  # one tile has one number of columns
x = g.input("x", "b", 512, 32)
g.save(2, layer(g, x, 1), layer(g, x, 2, columns=16))

g = Graph("shared_second_operand")  # the same weights for two tensors
w = g.const(np.random.default_rng(1).normal(0, 0.2, (32, 48)))
g.save(2, g.op("MatMul", g.input("x", "b", 16, 32), w), g.op("MatMul", g.input("y", "b", 16, 32), w))


def depthwise_pair(name, kernels, size):  # a value between that is large, or stays in a cache
    g = Graph(name)
    r = np.random.default_rng(1)
    x = g.op("Conv", g.input("x", 1, 48, size, size), g.const(r.normal(0, 0.3, (48, 1, 3, 3))), pads=[1] * 4, group=48)
    g.save(kernels, g.op("Conv", g.op("Clip", x, g.const(0.0), g.const(6.0)), g.const(r.normal(0, 0.1, (24, 48, 1, 1)))))


depthwise_pair("depthwise_pair_large", 1, 80)
depthwise_pair("depthwise_pair_small", 2, 28)

json.dump(expected, open(os.path.join(here, "expected.json"), "w"), indent=1)
