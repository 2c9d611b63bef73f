"""Writes the models of this folder: cells of LSTM and GRU written out in the forms that exporters and people give, several steps one
behind the other, a Scan; and look-alikes. expected.json: per model the most kernels, the products that the pass
`gates` leaves (look-alikes: as many as there were; of their kernels nothing is asked). CELL/input_K.pb and output_K.pb: what every form of a cell is given, and what numpy
computes in float64. Needs the onnx package. usage: make_gates.py"""
import json
import os

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as H
from onnx import numpy_helper as N

here = os.path.dirname(os.path.abspath(__file__))
INPUT, STATE, BATCH = 12, 16, 5
expected = {}


def drawn(seed, *shape, scale=0.4):
    return np.random.default_rng(seed).normal(0, scale, shape).astype(np.float32)


class Graph:
    def __init__(self, opset=17):
        self.opset, self.nodes, self.weights, self.count = opset, [], {}, 0

    def const(self, value, dtype=np.float32):
        value = np.asarray(value, dtype)
        for name, known in self.weights.items():  # steps share their weights
            if known.dtype == value.dtype and known.shape == value.shape and (known == value).all():
                return name
        name = f"c{len(self.weights) + 1}"
        self.weights[name] = value
        return name

    def op(self, kind, *inputs, outputs=1, **attributes):
        self.count += 1
        names = [f"{kind}_{self.count}" + (f"_{k}" if outputs > 1 else "") for k in range(outputs)]
        self.nodes.append(H.make_node(kind, list(inputs), names, name=f"{kind}_{self.count}", **attributes))
        return names[0] if outputs == 1 else names

    def save(self, name, inputs, outputs, **about):
        for value, new in outputs:
            self.nodes.append(H.make_node("Identity", [value], [new], name="Identity_" + new))
        infos = [H.make_tensor_value_info(n, T.FLOAT, dims) for n, dims in inputs]
        outs = [H.make_tensor_value_info(new, T.FLOAT, None) for _, new in outputs]
        graph = H.make_graph(self.nodes, name, infos, outs, [N.from_array(a, n) for n, a in self.weights.items()])
        model = H.make_model(graph, opset_imports=[H.make_opsetid("", self.opset)], ir_version=8, producer_name="")
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
        onnx.checker.check_model(model)
        onnx.save(model, os.path.join(here, name + ".onnx"))
        expected[name] = about


def cell_inputs(lstm, rows="n"):
    return [("x", [rows, INPUT]), ("h", [rows, STATE])] + ([("c", [rows, STATE])] if lstm else [])


# ---- weights by gate, and how forms put them together ----

W = {k: drawn(s, INPUT, STATE) for s, k in enumerate("ifogzrn")}
R = {k: drawn(s + 10, STATE, STATE) for s, k in enumerate("ifogzrn")}
BW = {k: drawn(s + 20, STATE) for s, k in enumerate("ifogzrn")}
BR = {k: drawn(s + 30, STATE) for s, k in enumerate("ifogzrn")}
P = {k: drawn(s + 40, STATE) for s, k in enumerate("ifo")}


def side(which, order):  # matrix and bias of all gates in that order
    m, b = (W, BW) if which == "x" else (R, BR)
    return np.concatenate([m[k] for k in order], 1), np.concatenate([b[k] for k in order])


def product(g, value, which, order, form="matmul", bias=True):
    m, b = side(which, order)
    if form == "gemm":
        return g.op("Gemm", value, g.const(m.T), g.const(b), transB=1)
    if form == "gemm plain":
        return g.op("Gemm", value, g.const(m), g.const(b))
    result = g.op("MatMul", value, g.const(m))
    return g.op("Add", result, g.const(b)) if bias else result


def cut(g, value, n, how):
    if how == "split":
        return g.op("Split", value, g.const([STATE] * n, np.int64), outputs=n, axis=1)
    if how == "split old":
        return g.op("Split", value, outputs=n, axis=-1)
    if how == "slices":
        ends = [(k * STATE, (k + 1) * STATE) for k in range(n)]
        return [g.op("Slice", value, g.const([a], np.int64), g.const([b], np.int64), g.const([1], np.int64)) for a, b in ends]
    if how == "chunks":  # as PyTorch exports chunk: the width is asked of the product
        each = g.op("Div", g.op("Gather", g.op("Shape", value), g.const([1], np.int64)), g.const([n], np.int64))
        ends = [(g.op("Mul", each, g.const([k], np.int64)), g.op("Mul", each, g.const([k + 1], np.int64))) for k in range(n)]
        return [g.op("Slice", value, a, b, g.const([1], np.int64)) for a, b in ends]
    apart = g.op("Reshape", value, g.const([-1, n, STATE], np.int64))
    if how == "turned":  # gates first: [gate, row, column]
        apart = g.op("Transpose", apart, perm=[1, 0, 2])
        return [g.op("Gather", apart, g.const(k, np.int64), axis=0) for k in range(n)]
    return [g.op("Gather", apart, g.const(k, np.int64), axis=1) for k in range(n)]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def hard_sigmoid(x):
    return np.clip(0.2 * x + 0.5, 0, 1)


# ---- LSTM ----


def lstm_gates(g, i, f, o, c_in, c, squash="Sigmoid", act="Tanh"):
    i, f, o = (g.op(squash, v) for v in (i, f, o))
    c_new = g.op("Add", g.op("Mul", f, c), g.op("Mul", i, g.op(act, c_in)))
    return g.op("Mul", o, g.op(act, c_new)), c_new


def lstm_step(g, x, h, c, form="sum", how="split", order="ifog", matrix="matmul", bias="both", **more):
    n = len(order)
    if form == "apart":
        gates = {}
        for k in order:
            s = g.op("Add", g.op("MatMul", x, g.const(W[k])), g.op("MatMul", h, g.const(R[k])))
            gates[k] = g.op("Add", s, g.const(BW[k] + BR[k]))
    elif form == "each":  # both are cut, the pieces added
        xs, hs = cut(g, product(g, x, "x", order, matrix), n, how), cut(g, product(g, h, "h", order, matrix), n, how)
        gates = {k: g.op("Add", a, b) for k, a, b in zip(order, xs, hs)}
    elif form == "joined":  # one product of input and state
        both = np.concatenate([side("x", order)[0], side("h", order)[0]], 0)
        s = g.op("MatMul", g.op("Concat", x, h, axis=1), g.const(both))
        s = g.op("Add", s, g.const(side("x", order)[1] + side("h", order)[1]))
        gates = dict(zip(order, cut(g, s, n, how)))
    else:
        terms = [product(g, x, "x", order, matrix, bias == "both"), product(g, h, "h", order, matrix, bias == "both")]
        if form == "state first":
            terms.reverse()
        s = g.op("Add", *terms)
        if bias == "one":
            s = g.op("Add", s, g.const(side("x", order)[1] + side("h", order)[1]))
        gates = dict(zip(order, cut(g, s, n, how)))
    if more.pop("peepholes", False):
        gates["i"] = g.op("Add", gates["i"], g.op("Mul", g.const(P["i"]), c))
        gates["f"] = g.op("Add", gates["f"], g.op("Mul", g.const(P["f"]), c))
        i, f = g.op("Sigmoid", gates["i"]), g.op("Sigmoid", gates["f"])
        c_new = g.op("Add", g.op("Mul", f, c), g.op("Mul", i, g.op("Tanh", gates["g"])))
        o = g.op("Sigmoid", g.op("Add", gates["o"], g.op("Mul", g.const(P["o"]), c_new)))
        return g.op("Mul", o, g.op("Tanh", c_new)), c_new
    return lstm_gates(g, *(gates[k] for k in "ifog"), c, **more)


def lstm(name, opset=17, products=5, **form):
    g = Graph(opset)
    h, c = lstm_step(g, "x", "h", "c", **form)
    g.save(name, cell_inputs(True), [(h, "h_new"), (c, "c_new")], kernels=2, products=products)


lstm("lstm_split")
lstm("lstm_split_old", opset=11, how="split old")
lstm("lstm_slices", how="slices", order="iofg")
lstm("lstm_gathered", how="gathered")
lstm("lstm_turned", how="turned", order="gifo")
lstm("lstm_gemm", matrix="gemm", order="ifgo")
lstm("lstm_gemm_plain", matrix="gemm plain", form="each")
lstm("lstm_each", form="each")
lstm("lstm_one_bias", bias="one", order="iogf")
lstm("lstm_state_first", form="state first", how="slices")
lstm("lstm_apart", form="apart")
lstm("lstm_joined", form="joined", products=4)
lstm("lstm_no_bias", bias="none")
lstm("lstm_peepholes", peepholes=True)
lstm("lstm_relu", squash="HardSigmoid", act="Relu")

# ---- GRU ----


def gru_step(g, x, h, how="split", matrix="matmul", before=False, apart=False):
    order, later = "zrn", "zr" if before else "zrn"
    if apart:
        xs = [product(g, x, "x", k, matrix) for k in order]
        hs = [product(g, h, "h", k, matrix) for k in later]
    else:
        xs = cut(g, product(g, x, "x", order, matrix), 3, how)
        hs = cut(g, product(g, h, "h", later, matrix), len(later), how)
    z, r = g.op("Sigmoid", g.op("Add", xs[0], hs[0])), g.op("Sigmoid", g.op("Add", xs[1], hs[1]))
    n = product(g, g.op("Mul", r, h), "h", "n", matrix) if before else g.op("Mul", r, hs[2])
    n = g.op("Tanh", g.op("Add", xs[2], n))
    return g.op("Add", g.op("Mul", g.op("Sub", g.const(1.0), z), n), g.op("Mul", z, h))


def gru(name, kernels=2, products=4, **form):
    g = Graph()
    g.save(name, cell_inputs(False), [(gru_step(g, "x", "h", **form), "h_new")], kernels=kernels, products=products)


gru("gru_split")
gru("gru_slices", how="slices")
gru("gru_gathered", how="gathered")
gru("gru_chunks", how="chunks", products=5)  # one of which is there for its shape alone
gru("gru_gemm", matrix="gemm")
gru("gru_apart", apart=True)
gru("gru_before_split", kernels=4, before=True)
gru("gru_before_gemm", kernels=4, before=True, matrix="gemm", how="slices")
gru("gru_before_apart", kernels=4, before=True, apart=True)

# ---- several steps ----


def steps_of(name, n, body, lstm_state, products, directions=1):
    g = Graph()
    xs = [g.op("Squeeze", g.op("Slice", "x", g.const([t], np.int64), g.const([t + 1], np.int64), g.const([0], np.int64)), g.const([0], np.int64)) for t in range(n)]
    outs = []
    for d in range(directions):
        state = ["h", "c"] if lstm_state else ["h"]
        for t in range(n):
            result = body(g, xs[n - 1 - t if d else t], *state)
            state = list(result) if lstm_state else [result]
        outs.append(state[0])
    inputs = [("x", [n, "n", INPUT])] + cell_inputs(lstm_state)[1:]
    g.save(name, inputs, [(o, f"h_new_{d}") for d, o in enumerate(outs)], kernels=2 * n * directions + (directions > 1), products=products)  # one that cuts x, where several read the parts


steps_of("lstm_three_steps", 3, lambda g, x, h, c: lstm_step(g, x, h, c), True, 15)
steps_of("gru_three_steps", 3, lambda g, x, h: gru_step(g, x, h), False, 12)
steps_of("lstm_both_ways", 2, lambda g, x, h, c: lstm_step(g, x, h, c, how="slices"), True, 20, directions=2)

body = Graph()
h_new, c_new = lstm_step(body, "x_t", "h_in", "c_in")
body.nodes.append(H.make_node("Identity", [h_new], ["y_t"], name="Identity_y"))
infos = lambda names, width: [H.make_tensor_value_info(n, T.FLOAT, ["n", width]) for n in names]
inner = H.make_graph(body.nodes, "body", infos(["h_in", "c_in"], STATE) + infos(["x_t"], INPUT), infos([h_new, c_new, "y_t"], STATE),
                     [N.from_array(a, n) for n, a in body.weights.items()])
g = Graph()
h_last, c_last, y = g.op("Scan", "h", "c", "x", outputs=3, body=inner, num_scan_inputs=1)
g.save("lstm_scan", [("x", [4, "n", INPUT])] + cell_inputs(True)[1:], [(y, "y"), (h_last, "h_last")], kernels=2, products=5)

# ---- look-alikes: what is not cut, or may not be ----


def look_alike(name, build, inputs, products, note=None):
    g = Graph()
    outs = build(g)
    about = dict(kernels=0, products=products)
    if note:
        about["note"] = note
    g.save(name, inputs, [(o, f"y{k}") for k, o in enumerate(outs)], **about)


def gated(g, pieces):
    return [g.op("Mul", g.op("Sigmoid", pieces[0]), pieces[1])]


x_only, both = [("x", ["n", INPUT])], [("x", ["n", INPUT]), ("w", [INPUT, 2 * STATE])]
two = drawn(50, INPUT, 2 * STATE)
split = lambda g, v, sizes, axis=1: g.op("Split", v, g.const(sizes, np.int64), outputs=len(sizes), axis=axis)
look_alike("not_constant", lambda g: gated(g, split(g, g.op("MatMul", "x", "w"), [STATE, STATE])), both, 1, note="gates-constants")


def uneven(g):
    a, b = split(g, g.op("MatMul", "x", g.const(two)), [STATE + 8, STATE - 8])
    return [g.op("Sigmoid", a), g.op("Tanh", b)]


def rows_cut(g):  # pieces are rows, not columns
    a, b = split(g, g.op("MatMul", "x", g.const(two)), [3, 3], axis=0)
    return gated(g, [a, b])


def every_other(g):  # columns in steps of two
    v = g.op("MatMul", "x", g.const(two))
    parts = [g.op("Slice", v, g.const([k], np.int64), g.const([2 * STATE], np.int64), g.const([1], np.int64), g.const([2], np.int64)) for k in range(2)]
    return gated(g, parts)


def overlapping(g):
    v = g.op("MatMul", "x", g.const(two))
    parts = [g.op("Slice", v, g.const([k], np.int64), g.const([k + STATE], np.int64), g.const([1], np.int64)) for k in (0, 8)]
    return gated(g, parts)


def read_whole(g):  # the whole is read beside its pieces
    v = g.op("MatMul", "x", g.const(two))
    return gated(g, split(g, v, [STATE, STATE])) + [g.op("ReduceSum", v, g.const([1], np.int64))]


def read_by_product(g):  # a piece goes into a product, as queries and keys do
    a, b = split(g, g.op("MatMul", "x", g.const(two)), [STATE, STATE])
    return [g.op("MatMul", a, g.op("Transpose", b, perm=[1, 0]))]


def piece_is_output(g):
    a, b = split(g, g.op("MatMul", "x", g.const(two)), [STATE, STATE])
    return [a, g.op("Sigmoid", b)]


def spread(g):  # scale and shift for all rows of something larger
    a, b = split(g, g.op("MatMul", "x", g.const(two)), [STATE, STATE])
    return [g.op("Add", g.op("Mul", "w", a), b)]


look_alike("widths_differ", uneven, x_only, 1, "gates-widths")
look_alike("rows_cut", rows_cut, [("x", [6, INPUT])], 1, "gates-columns")
look_alike("every_other", every_other, x_only, 1, "gates-columns")
look_alike("overlapping", overlapping, x_only, 1, "gates-overlap")
look_alike("read_whole", read_whole, x_only, 1, "gates-whole")
look_alike("read_by_product", read_by_product, x_only, 2, "gates-readers")
look_alike("piece_is_output", piece_is_output, x_only, 1, "gates-output")
look_alike("spread", spread, [("x", [1, INPUT]), ("w", [9, STATE])], 1, "gates-readers")

# ---- what numpy makes of the cells ----


def store(folder, inputs, outputs):
    os.makedirs(os.path.join(here, folder), exist_ok=True)
    for kind, values in (("input", inputs), ("output", outputs)):
        for k, (name, value) in enumerate(values):
            with open(os.path.join(here, folder, f"{kind}_{k}.pb"), "wb") as f:
                f.write(N.from_array(np.asarray(value, np.float32), name).SerializeToString())


def lstm_numpy(x, h, c, bias=1, peep=0, squash=sigmoid, act=np.tanh):
    pre = {k: x @ W[k].astype(float) + h @ R[k].astype(float) + bias * (BW[k].astype(float) + BR[k]) for k in "ifog"}
    i, f = squash(pre["i"] + peep * P["i"] * c), squash(pre["f"] + peep * P["f"] * c)
    c_new = f * c + i * act(pre["g"])
    return squash(pre["o"] + peep * P["o"] * c_new) * act(c_new), c_new


def gru_numpy(x, h, before):
    z, r = (sigmoid(x @ W[k].astype(float) + BW[k] + h @ R[k].astype(float) + BR[k]) for k in "zr")
    inner = (r * h) @ R["n"].astype(float) + BR["n"] if before else r * (h @ R["n"].astype(float) + BR["n"])
    return (1 - z) * np.tanh(x @ W["n"].astype(float) + BW["n"] + inner) + z * h


x, h, c, xs = drawn(60, BATCH, INPUT, scale=1), drawn(61, BATCH, STATE, scale=1), drawn(62, BATCH, STATE, scale=1), drawn(63, 4, BATCH, INPUT, scale=1)
given = [("x", x), ("h", h), ("c", c)]
relu = lambda v: np.maximum(v, 0)
for folder, about in [("lstm", {}), ("lstm_no_bias", dict(bias=0)), ("lstm_peepholes", dict(peep=1)), ("lstm_relu", dict(squash=hard_sigmoid, act=relu))]:
    store(folder, given, zip(("h_new", "c_new"), lstm_numpy(*(v.astype(float) for _, v in given), **about)))
for folder, before in (("gru", False), ("gru_before", True)):
    store(folder, given[:2], [("h_new", gru_numpy(x.astype(float), h.astype(float), before))])


def run_lstm(xs):
    state, ys = (h.astype(float), c.astype(float)), []
    for x_t in xs:
        state = lstm_numpy(x_t.astype(float), *state)
        ys.append(state[0])
    return state[0], np.stack(ys)


store("lstm_three_steps", [("x", xs[:3])] + given[1:], [("h_new_0", run_lstm(xs[:3])[0])])
store("lstm_both_ways", [("x", xs[:2])] + given[1:], [("h_new_0", run_lstm(xs[:2])[0]), ("h_new_1", run_lstm(xs[1::-1])[0])])
store("lstm_scan", [("x", xs)] + given[1:], [("y", run_lstm(xs)[1]), ("h_last", run_lstm(xs)[0])])
state = h.astype(float)
for x_t in xs[:3]:
    state = gru_numpy(x_t.astype(float), state, False)
store("gru_three_steps", [("x", xs[:3]), ("h", h)], [("h_new_0", state)])

json.dump(expected, open(os.path.join(here, "expected.json"), "w"), indent=1)
