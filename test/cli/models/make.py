"""The small models of the command-line cases. usage: make.py FOLDER (needs the onnx package)"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

OUT = sys.argv[1]
N = h.make_node


def port(name, shape, dtype=T.FLOAT):
    return h.make_tensor_value_info(name, dtype, shape)


def constant(name, array):
    return nh.from_array(np.asarray(array), name)


def save(name, nodes, inputs, outputs, constants=()):
    graph = h.make_graph(nodes, name, inputs, outputs, list(constants))
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, os.path.join(OUT, name + ".onnx"))


save("chain", [N("Mul", ["x", "x"], ["a"]), N("Sigmoid", ["a"], ["b"]), N("Add", ["b", "y"], ["c"]), N("Relu", ["c"], ["z"])],
     [port("x", ["n"]), port("y", ["n"])], [port("z", ["n"])])
save("outputs", [N("Relu", ["x"], ["r"]), N("Reshape", ["r", "shape"], ["v"]), N("Identity", ["x"], ["i"]), N("Shape", ["x"], ["s"]), N("Neg", ["v"], ["w"])],
     [port("x", ["n", 4])],
     [port("r", ["n", 4]), port("v", ["n", "m"]), port("i", ["n", 4]), port("x", ["n", 4]), port("k", [3]), port("s", [2], T.INT64), port("w", ["n", "m"])],
     [constant("shape", np.array([-1, 2], np.int64)), constant("k", np.array([1, 2, 3], np.float32))])
save("gather", [N("Gather", ["table", "ids"], ["y"])], [port("ids", ["batch", "length"], T.INT64)], [port("y", ["batch", "length", 8])],
     [constant("table", np.arange(88, dtype=np.float32).reshape(11, 8))])
save("matmul", [N("MatMul", ["a", "b"], ["y"])], [port("a", ["m", "k"]), port("b", ["k", "n"])], [port("y", ["m", "n"])])
save("names", [N("Add", ["a=b:0", "a"], ["../odd name"])], [port("a=b:0", ["for", "p"]), port("a", ["for", "p"])], [port("../odd name", ["for", "p"])])
save("unknown", [N("Relu", ["x"], ["a"]), N("Frobnicate", ["a"], ["b"], name="first"), N("Frobnicate", ["b"], ["c"], name="second"), N("Twist", ["c"], ["y"], domain="com.example")],
     [port("x", [2])], [port("y", [2])])
save("by_value", [N("Neg", ["axes"], ["negative"]), N("ReduceSum", ["x", "negative"], ["r"], keepdims=1), N("Tile", ["r", "repeats"], ["y"])],
     [port("x", ["n", 4]), port("axes", [1], T.INT64), port("repeats", ["k"], T.INT64)], [port("y", ["p", "q"])])
save("declared_shape", [N("Relu", ["x"], ["y"]), N("Neg", ["x"], ["z"])], [port("x", ["n", 3])], [port("y", [2, 4]), port("z", [2, 3])])
save("declared_type", [N("Relu", ["x"], ["y"])], [port("x", [2, 3])], [port("y", ["n", 3], T.INT64)])
save("attribute", [N("Softmax", ["x"], ["y"], axis=1.5)], [port("x", [2, 3])], [port("y", [2, 3])])
save("same_file", [N("Relu", ["x"], ["a/b"]), N("Neg", ["x"], ["a_b"])], [port("x", [2])], [port("a/b", [2]), port("a_b", [2])])
save("random", [N("RandomNormalLike", ["x"], ["normal"], mean=1.0, scale=2.0), N("RandomNormalLike", ["x"], ["another"], mean=1.0, scale=2.0),
                N("RandomUniform", [], ["uniform"], shape=[3, 1000], low=-1.0, high=3.0, dtype=T.DOUBLE, seed=3.0), N("RandomNormal", [], ["half"], shape=[500], dtype=T.FLOAT16),
                N("RandomUniformLike", ["p"], ["alike"], seed=3.0, dtype=T.BFLOAT16), N("Bernoulli", ["p"], ["hit"], dtype=T.BOOL), N("Multinomial", ["weights"], ["drawn"], sample_size=4000),
                N("Add", ["x", "normal"], ["y"])],
     [port("x", ["n", 100]), port("p", ["m"])],
     [port("y", ["n", 100]), port("another", ["n", 100]), port("uniform", [3, 1000], T.DOUBLE), port("half", [500], T.FLOAT16), port("alike", ["m"], T.BFLOAT16), port("hit", ["m"], T.BOOL),
      port("drawn", [2, 4000], T.INT32)],
     [constant("weights", np.log(np.array([[1, 2, 3, 4], [1, 1, 1, 1]], np.float32)))])
weights = [constant("w", np.ones((1, 16, 3), np.float32)), constant("r", np.ones((1, 16, 4), np.float32))]
save("recurrent_wrong", [N("LSTM", ["x", "w", "r"], ["a"], hidden_size=5), N("LSTM", ["x", "w", "r"], ["b"], activations=[1, 2, 3]), N("LSTM", ["x", "w", "r"], ["c"], activation_alpha=[1, 2])],
     [port("x", [5, 2, 3])], [port("a", None), port("b", None), port("c", None)], weights)
# node 0 leads back to itself, and nothing leads to it
tree = h.make_graph([N("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[0, 0, 0], nodes_values=[0.5, 0.0, 0.0],
                       nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids=[0, 0, 0], nodes_falsenodeids=[2, 0, 0], target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0],
                       target_weights=[1.0, 2.0])], "tree", [port("x", [2, 1])], [port("y", None)])
onnx.save(h.make_model(tree, opset_imports=[h.make_opsetid("", 17), h.make_opsetid("ai.onnx.ml", 3)], ir_version=8), os.path.join(OUT, "tree_wrong.onnx"))
# a depth whose difference to 1 wraps
save("one_hot", [N("OneHot", ["x", "depth", "v"], ["y"])], [port("x", ["n"], T.INT64), port("depth", [], T.INT64), port("v", [2])], [port("y", None)])
with open(os.path.join(OUT, "smallest.pb"), "wb") as file:
    file.write(constant("depth", np.array(-2**63, np.int64)).SerializeToString())
# what classifiers are exported as: the last node makes maps
classes = h.make_graph([N("LinearClassifier", ["x"], ["label", "p"], domain="ai.onnx.ml", classlabels_strings=["ant", "bee", "cat"], coefficients=[1.0, 2.0, 3.0, 4.0, 5.0, -6.0], intercepts=[0.5, 0.25, 0.0],
                          post_transform="SOFTMAX"), N("ZipMap", ["p"], ["scores"], domain="ai.onnx.ml", classlabels_strings=["ant", "bee", "cat"])], "maps", [port("x", ["n", 2])],
                       [port("label", ["n"], T.STRING), h.make_value_info("scores", h.make_sequence_type_proto(h.make_map_type_proto(T.STRING, h.make_tensor_type_proto(T.FLOAT, []))))])
onnx.save(h.make_model(classes, opset_imports=[h.make_opsetid("", 17), h.make_opsetid("ai.onnx.ml", 3)], ir_version=8), os.path.join(OUT, "maps.onnx"))
# data sets that store the maps: their keys in other orders; one without a key, one with other values
rows = [{"cat": 1.1823489e-08, "bee": 0.99682730, "ant": 0.0031726828}, {"ant": 3.3982674e-09, "cat": 0.99999988, "bee": 1.4449802e-07}]
for folder, changes in (("maps", {}), ("maps_lacking", {"bee": None}), ("maps_differing", {"bee": 0.75})):
    data = onnx.SequenceProto(name="scores", elem_type=onnx.SequenceProto.MAP)
    for number, row in enumerate(rows):
        kept = {key: changes.get(key, value) if number == 1 else value for key, value in row.items()}
        kept = {"dog" if value is None else key: 0.5 if value is None else value for key, value in kept.items()}
        stored = data.map_values.add(key_type=T.STRING)
        stored.string_keys.extend(key.encode() for key in kept)
        stored.values.elem_type = onnx.SequenceProto.TENSOR
        stored.values.tensor_values.extend(constant("", np.float32(value)) for value in kept.values())
    os.makedirs(os.path.join(OUT, folder), exist_ok=True)
    for name, message in (("input_0", constant("x", np.array([[1, 2], [3, -1]], np.float32))), ("output_0", constant("label", np.array(["bee", "cat"], object))), ("output_1", data)):
        with open(os.path.join(OUT, folder, name + ".pb"), "wb") as file:
            file.write(message.SerializeToString())
# out of every range, on both sides of each limit
edges = [0, -0.0, 0.5, -1.9, 127, 128, -129, 256, 32768, 65536, -32769, 2**31 - 1, 2**31, -2**31, -2**31 - 1, 2**32, 5e9, -5e9, 2.0**63, 2.0**64, -2.0**63, -2.0**64, 1e30, -1e30,
         np.inf, -np.inf, np.nan]
kinds = [T.INT8, T.UINT8, T.INT16, T.UINT16, T.INT32, T.UINT32, T.INT64, T.UINT64, T.BOOL]
sources = [T.FLOAT, T.DOUBLE, T.FLOAT16, T.BFLOAT16]
save("casts", [N("Add", ["edges", "x"], ["e"])] + [N("Cast", ["e"], [f"s{s}"], to=s) for s in sources] + [N("Cast", [f"s{s}"], [f"c{s}_{k}"], to=k) for s in sources for k in kinds],
     [port("x", [], T.DOUBLE)], [port(f"c{s}_{k}", [len(edges)], k) for s in sources for k in kinds], [constant("edges", np.array(edges))])
# what can only be seen as it runs: more elements than the axis has; a value that doubles with each turn; a version that nobody knows yet
save("topk_found", [N("ReduceSum", ["c"], ["k"], keepdims=1), N("TopK", ["x", "k"], ["v", "i"])], [port("x", [2, 3]), port("c", ["M"], T.INT64)], [port("v", [2, "K"]), port("i", [2, "K"], T.INT64)])
twice = h.make_graph([N("Identity", ["c"], ["co"]), N("Concat", ["a", "a"], ["b"], axis=0)], "twice", [port("t", [], T.INT64), port("c", [], T.BOOL), port("a", ["L"])], [port("co", [], T.BOOL), port("b", ["L2"])])
save("doubling", [N("Loop", ["n", "", "x"], ["y"], body=twice)], [port("n", [], T.INT64), port("x", [1])], [port("y", ["Q"])])
newer = h.make_graph([N("Relu", ["x"], ["y"])], "newer", [port("x", [2])], [port("y", [2])])
onnx.save(h.make_model(newer, opset_imports=[h.make_opsetid("", 99)], ir_version=10), os.path.join(OUT, "opset_newer.onnx"))
vector = h.make_graph([N("DictVectorizer", ["x"], ["y"], domain="ai.onnx.ml", string_vocabulary=["ant", "bee"])], "vector", [h.make_value_info("x", h.make_map_type_proto(T.STRING, h.make_tensor_type_proto(T.FLOAT, [])))], [port("y", None)])
onnx.save(h.make_model(vector, opset_imports=[h.make_opsetid("", 17), h.make_opsetid("ai.onnx.ml", 3)], ir_version=8), os.path.join(OUT, "map_input.onnx"))
# quotients by what may be zero of either sign, a divisor and sums beyond float32 (also of one term alone), a product of many terms
save("edges", [N("Max", ["x", "floor"], ["equal"]), N("LayerNormalization", ["equal", "scale"], ["normed"]), N("Div", ["equal", "normed"], ["quotient"]), N("Clip", ["quotient", "one", "two"], ["edge"]),
               N("Mul", ["x", "large"], ["far"]), N("Sigmoid", ["far"], ["sigmoid"]), N("Mul", ["far", "sigmoid"], ["swish"]), N("Mul", ["x", "huge"], ["big"]), N("ReduceL2", ["big"], ["length"], axes=[1]),
               N("ReduceProd", ["far"], ["product"], axes=[1]), N("Unsqueeze", ["big", "last"], ["alone"]), N("ReduceL2", ["alone"], ["size"], axes=[2])],
     [port("x", [8, 7])], [port("edge", [8, 7]), port("swish", [8, 7]), port("length", [8, 1]), port("product", [8, 1]), port("size", [8, 7, 1])],
     [constant("floor", np.float32(50.7)), constant("scale", np.array([0.97, -0.22, 1.66, -1.1, 0.3, 0.7, -2.2], np.float32)), constant("one", np.float32(1)), constant("two", np.float32(2)),
      constant("large", np.float32(-60)), constant("huge", np.float32(3e19)), constant("last", np.array([2], np.int64))])
# four branches that do not depend on each other, each of one row: nothing to split between threads, and work enough for some
save("beside", [n for k in range(4) for n in (N("LogSoftmax", [f"x{k}"], [f"p{k}"], axis=-1), N("Softmax", [f"p{k}"], [f"q{k}"], axis=0), N("ReduceLogSumExp", [f"x{k}"], [f"r{k}"], axes=[1]))],
     [port(f"x{k}", [1, 3000 + k]) for k in range(4)], [port(f"{letter}{k}", [1, 3000 + k if letter == "q" else 1]) for k in range(4) for letter in "qr"])
# more of these: a Gelu of what may be infinite of either sign, a product whose parts leave float32 before a zero comes
gelu = h.make_graph([N("MatMul", ["x", "row"], ["divisor"]), N("Div", ["y", "divisor"], ["quotient"]), N("BiasGelu", ["quotient", "bias"], ["gelu"], domain="com.microsoft"), N("Mul", ["y", "large"], ["far"]),
                     N("ReduceProd", ["far"], ["product"], axes=[1])], "edges_gelu", [port("x", [5, 1]), port("y", [5, 16])], [port("gelu", [5, 16]), port("product", [5, 1])],
                    [constant("row", np.array([[1, -1, 2, 0.5, 0, 3, -2, 1, 1, -0.5, 4, 1, 2, -1, 1, 0.25]], np.float32)), constant("bias", np.linspace(-1, 1, 16, dtype=np.float32)),
                     constant("large", np.array([1e20, -1e20, 3e19, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 0], np.float32))])
onnx.save(h.make_model(gelu, opset_imports=[h.make_opsetid("", 17), h.make_opsetid("com.microsoft", 1)], ir_version=8), os.path.join(OUT, "edges_gelu.onnx"))

# Numbers that leave float32 on their way to ones that do not: a mask of the lowest number added to scores, e^x under a quotient.
save("masked", [N("Mul", ["x", "hundreds"], ["large"]), N("Add", ["large", "mask"], ["scores"]), N("Softmax", ["scores"], ["p"], axis=-1), N("Sigmoid", ["large"], ["s"]),
                N("Neg", ["large"], ["negative"]), N("Exp", ["negative"], ["e"]), N("Add", ["e", "one"], ["more"]), N("Div", ["large", "more"], ["swish"])],
     [port("x", ["n", 8])], [port("p", ["n", 8]), port("s", ["n", 8]), port("swish", ["n", 8])],
     [constant("hundreds", np.float32(200)), constant("one", np.float32(1)),
      constant("mask", np.array([0, np.finfo(np.float32).min, 0, np.finfo(np.float32).min, 0, 0, 0, np.finfo(np.float32).min], np.float32))])
save("masked_attention", [N("MatMul", ["q", "k"], ["products"]), N("Add", ["products", "mask"], ["scores"]), N("Softmax", ["scores"], ["p"], axis=-1), N("MatMul", ["p", "v"], ["y"])],
     [port("q", [2, 16, 8]), port("k", [2, 8, 16]), port("v", [2, 16, 8])], [port("y", [2, 16, 8])],
     [constant("mask", np.where(np.arange(16) < 11, 0, np.finfo(np.float32).min).astype(np.float32))])
# All that a float can be, through steps as exporters write them; 8-bit recurrent layers with weights of both types, with a zero point a column and one for all.
limits = [0, -0.0, np.nan, np.inf, -np.inf, 1e30, -1e30, 3.4e38, 5e9, -5e9, 1e-40, 26.45, -26.45, 0.05186333, 0.1555899, 13.2, -13.2, 1e4, -1e4]
steps = [(T.UINT8, np.uint8, 0), (T.UINT8, np.uint8, 81), (T.INT8, np.int8, 0), (T.INT8, np.int8, -5)]
save("quantised_limits", [N("Add", ["limits", "x"], ["e"])] + [n for k in range(4) for n in (
         N("QuantizeLinear", ["e", "scale", f"z{k}"], [f"q{k}"]), N("DequantizeLinear", [f"q{k}", "scale", f"z{k}"], [f"d{k}"]), N("Mul", [f"d{k}", "factor"], [f"m{k}"]),
         N("QuantizeLinear", [f"m{k}", "scale", f"z{k}"], [f"y{k}"]))],
     [port("x", [])], [port(f"{letter}{k}", [len(limits)], steps[k][0]) for k in range(4) for letter in "qy"],
     [constant("limits", np.array(limits, np.float32)), constant("scale", np.float32(0.103726655)), constant("factor", np.float32(1.2950987))] + [constant(f"z{k}", s[1](s[2])) for k, s in enumerate(steps)])


def lstm_8bit(k, element, directions, inputs, hidden, a_column):
    rng, low = np.random.default_rng(k), np.iinfo(element).min
    one = (directions, 4 * hidden) if a_column else (directions,)
    made = {"W": rng.integers(low, low + 256, (directions, inputs, 4 * hidden)), "R": rng.integers(low, low + 256, (directions, hidden, 4 * hidden)), "Wz": rng.integers(low + 120, low + 136, one),
            "Rz": rng.integers(low + 120, low + 136, one)}
    made = {n: v.astype(element) for n, v in made.items()} | {n: (rng.uniform(0.5, 1.5, one) * 0.01).astype(np.float32) for n in ("Ws", "Rs")}
    made["B"] = rng.normal(0, 0.3, (directions, 8 * hidden)).astype(np.float32)
    node = N("DynamicQuantizeLSTM", [f"x{k}", f"W{k}", f"R{k}", f"B{k}", "", "", "", "", f"Ws{k}", f"Wz{k}", f"Rs{k}", f"Rz{k}"], [f"y{k}", f"h{k}", f"c{k}"], domain="com.microsoft",
             hidden_size=hidden, direction="bidirectional" if directions == 2 else "forward")
    return node, port(f"x{k}", [5, 2, inputs]), [port(f"{n}{k}", None) for n in "yhc"], [constant(f"{n}{k}", v) for n, v in made.items()]


layers = [lstm_8bit(0, np.int8, 2, 10, 7, True), lstm_8bit(1, np.uint8, 1, 16, 16, False), lstm_8bit(2, np.int8, 1, 3, 33, True)]
recurrent = h.make_graph([n[0] for n in layers], "recurrent_8bit", [n[1] for n in layers], [p for n in layers for p in n[2]], [c for n in layers for c in n[3]])
onnx.save(h.make_model(recurrent, opset_imports=[h.make_opsetid("", 17), h.make_opsetid("com.microsoft", 1)], ir_version=8), os.path.join(OUT, "recurrent_8bit.onnx"))


def lstm_of_extremes(batch, element, lowest, direction):
    """Rows and weights of the least and the largest bytes, two neighbours alike: products of pairs as large as they can be, which partly cancel in a sum."""
    rng, inputs, hidden, directions = np.random.default_rng(batch), 22, 18, 2 if direction == "bidirectional" else 1
    k, middle = f"_{batch}", np.iinfo(element).min + 128

    def alike(low, high, *dims):
        return np.repeat(rng.choice([low, high], (dims[0], dims[1] // 2) + dims[2:]), 2, axis=1)

    made = {n: (alike(lowest, 127, directions, depth, 4 * hidden) + middle).astype(element) for n, depth in (("W", inputs), ("R", hidden))}
    made |= {n: np.full(directions, middle).astype(element) for n in ("Wz", "Rz")} | {n: np.full(directions, 0.0005, np.float32) for n in ("Ws", "Rs")}
    made |= {"signs": alike(-1, 1, 3 * batch, inputs).reshape(3, batch, inputs).astype(np.float32), "H": alike(-1, 1, directions * batch, hidden).reshape(directions, batch, hidden).astype(np.float32)}
    nodes = [N("Mul", [f"signs{k}", "t"], [f"x{k}"]), N("Mul", [f"H{k}", "t"], [f"before{k}"]),
             N("DynamicQuantizeLSTM", [f"x{k}", f"W{k}", f"R{k}", "", "", f"before{k}", "", "", f"Ws{k}", f"Wz{k}", f"Rs{k}", f"Rz{k}"], [f"y{k}", f"h{k}", f"c{k}"], domain="com.microsoft",
               hidden_size=hidden, direction=direction)]
    return nodes, [port(f"{n}{k}", None) for n in "yhc"], [constant(f"{n}{k}", v) for n, v in made.items()]


# every number of rows that a tile of bytes has, and more; weights with sign with and without -128, of which two products saturate 16 bits, and without sign
layers = [lstm_of_extremes(batch, element, lowest, direction) for batch, element, lowest, direction in (
    (1, np.int8, -127, "forward"), (2, np.int8, -127, "reverse"), (3, np.int8, -128, "reverse"), (4, np.int8, -127, "bidirectional"), (5, np.int8, -128, "forward"),
    (6, np.uint8, -128, "reverse"), (7, np.int8, -127, "reverse"), (8, np.int8, -128, "bidirectional"))]
extremes = h.make_graph([n for layer in layers for n in layer[0]], "recurrent_extremes", [port("t", [])], [p for layer in layers for p in layer[1]], [c for layer in layers for c in layer[2]])
onnx.save(h.make_model(extremes, opset_imports=[h.make_opsetid("", 17), h.make_opsetid("com.microsoft", 1)], ir_version=8), os.path.join(OUT, "recurrent_extremes.onnx"))
# A convolution with stride whose channels are found in a table, the table last of all constants, and the same without.
for name, nodes, table in (("window_of_table", [N("Gather", ["x", "table"], ["channels"], axis=1, name="pick")], [constant("table", np.arange(15, -1, -1))]), ("window", [], [])):
    save(name, nodes + [N("Conv", ["channels" if nodes else "x", "w"], ["y"], strides=[2, 2], pads=[1, 1, 1, 1], name="conv")],
         [port("x", [1, 16, 20, 21])], [port("y", None)], [constant("w", np.random.default_rng(5).standard_normal((12, 16, 5, 5)).astype(np.float32) / 20)] + table)
# An operator for each property that `verify --bisect` names: sums of terms of one sign and of both, a function, a rule for NaN, rounding.
save("properties", [N("MatMul", ["x", "w"], ["products"], name="products"), N("Add", ["products", "bias"], ["moved"], name="bias"),
                    N("Mul", ["x", "x"], ["squares"], name="squares"), N("ReduceSum", ["squares", "axis"], ["energy"], name="energy", keepdims=0),
                    N("Mul", ["x", "y"], ["crossed"], name="crossed"), N("ReduceSum", ["crossed", "axis"], ["balance"], name="balance", keepdims=0),
                    N("Erf", ["x"], ["e"], name="erf"), N("Mul", ["e", "y"], ["curve"], name="curve"),
                    N("Max", ["x", "y"], ["larger"], name="larger"), N("Add", ["larger", "x"], ["above"], name="above"),
                    N("Round", ["x"], ["whole"], name="whole"), N("Sub", ["x", "whole"], ["rest"], name="rest"),
                    N("Cast", ["y"], ["steps"], name="steps", to=T.INT32), N("Add", ["steps", "one"], ["counted"], name="counted"),
                    N("Mul", ["y", "two"], ["wide"], name="wide"), N("QuantizeLinear", ["wide", "step", "zero"], ["code"], name="code")],
     [port("x", [16, 64]), port("y", [16, 64])],
     [port("moved", [16, 24]), port("energy", [16]), port("balance", [16]), port("curve", [16, 64]), port("above", [16, 64]), port("rest", [16, 64]), port("counted", [16, 64], T.INT32), port("code", [16, 64], T.UINT8)],
     [constant("w", np.random.default_rng(7).standard_normal((64, 24)).astype(np.float32)), constant("bias", np.linspace(-1, 1, 24, dtype=np.float32)), constant("axis", np.array([1], np.int64)),
      constant("two", np.float32(2)), constant("one", np.int32(1)), constant("step", np.float32(0.5)), constant("zero", np.uint8(128))])
# a branch whose convolution does not fit into what is short
fitting = h.make_graph([N("Conv", ["x", "w"], ["c"]), N("ReduceSum", ["c"], ["a"], keepdims=0)], "fitting", [], [port("a", [])], [constant("w", np.ones((1, 1, 70), np.float32))])
shorter = h.make_graph([N("ReduceSum", ["x"], ["b"], keepdims=0)], "shorter", [], [port("b", [])])
save("branch_short", [N("If", ["long"], ["y"], then_branch=fitting, else_branch=shorter)], [port("x", [1, 1, "n"]), port("long", [], T.BOOL)], [port("y", [])])
# what lies behind the end of the longest sequence decides nothing; weights of an interpolation that are thirds and sixths
node, x, results, constants = lstm_8bit(0, np.int8, 1, 3, 4, False)
node.input[4] = "lengths"
padding = np.zeros((5, 2, 3), np.float32)
padding[3:] = 1e6
padded = h.make_graph([N("Mul", ["padding", "t"], ["tail"]), N("Add", ["inputs", "tail"], ["x0"]), node], "recurrent_padded", [port("t", [])], results,
                      constants + [constant("lengths", np.array([3, 2], np.int32)), constant("padding", padding), constant("inputs", np.random.default_rng(1).normal(0, 1, (5, 2, 3)).astype(np.float32))])
onnx.save(h.make_model(padded, opset_imports=[h.make_opsetid("", 17), h.make_opsetid("com.microsoft", 1)], ir_version=8), os.path.join(OUT, "recurrent_padded.onnx"))
save("interpolated", [N("Resize", ["x", "", "thirds"], ["line"], mode="linear"), N("Resize", ["x", "", "thirds"], ["curve"], mode="cubic")],
     [port("x", [1, 4, 64, 64])], [port("line", None), port("curve", None)], [constant("thirds", np.array([1, 1, 1, 1.5], np.float32))])
