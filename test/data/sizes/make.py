"""Small models of every family of operators whose sizes are symbols; test/unit/api_sizes.c runs one build of each for many
sizes. Needs the onnx package. usage: make.py FOLDER"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as H
from onnx import numpy_helper as N

OUT = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
draw = np.random.default_rng(3)
n = H.make_node


def port(name, shape, dtype=T.FLOAT): return H.make_tensor_value_info(name, dtype, shape)
def W(*shape): return (draw.standard_normal(shape) / 3).astype(np.float32)
def I(*values): return np.array(values, np.int64)


def save(name, nodes, inputs, outputs, opset=21, **constants):
    graph = H.make_graph(nodes, name, [port(*p) for p in inputs], [port(*p) for p in outputs], [N.from_array(np.asarray(v), k) for k, v in constants.items()])
    onnx.save(H.make_model(graph, opset_imports=[H.make_opsetid("", opset), H.make_opsetid("com.microsoft", 1)], ir_version=10), os.path.join(OUT, name + ".onnx"))


NM, X = ["N", "M"], ["x"]
save("elementwise", [n("Add", ["x", "b"], ["a"]), n("Sigmoid", ["a"], ["s"]), n("Mul", ["s", "x"], ["y"]), n("Greater", ["y", "b"], ["g"]), n("Where", ["g", "y", "b"], ["z"])],
     [("x", NM), ("b", ["M"])], [("y", NM), ("z", NM)])
save("broadcast", [n("Sub", ["r", "c"], ["y"]), n("Cast", ["y"], ["i"], to=T.INT32)], [("r", ["N", 1]), ("c", [1, "M"])], [("y", NM), ("i", NM, T.INT32)])
save("reduce_rows", [n("ReduceSum", ["x", "last"], ["y"]), n("ReduceMean", ["x", "last"], ["m"], keepdims=0), n("ReduceMax", ["x", "last"], ["z"], keepdims=0), n("ReduceL2", ["x", "last"], ["l"], keepdims=0)],
     [("x", NM)], [("y", ["N", 1]), ("m", ["N"]), ("z", ["N"]), ("l", ["N"])], last=I(-1))
save("reduce_columns", [n("ReduceSum", ["x", "first"], ["y"], keepdims=0), n("ReduceMin", ["x", "first"], ["z"], keepdims=0), n("ReduceProd", ["x", "first"], ["p"], keepdims=0)],
     [("x", NM)], [("y", ["M"]), ("z", ["M"]), ("p", ["M"])], first=I(0))
save("reduce_all", [n("ReduceSum", ["x"], ["y"], keepdims=0), n("ReduceSumSquare", ["x"], ["z"], keepdims=0), n("ReduceLogSumExp", ["x"], ["l"], keepdims=0)], [("x", NM)], [("y", []), ("z", []), ("l", [])])
save("argmax", [n("ArgMax", ["x"], ["y"], axis=1, keepdims=0)], [("x", NM)], [("y", ["N"], T.INT64)])
save("softmax", [n("Softmax", ["x"], ["y"], axis=-1), n("LogSoftmax", ["x"], ["z"], axis=0)], [("x", NM)], [("y", NM), ("z", NM)])
save("matmul", [n("MatMul", ["a", "b"], ["c"]), n("Relu", ["c"], ["y"])], [("a", ["M", "K"]), ("b", ["K", "N"])], [("y", ["M", "N"])])
save("matmul_batched", [n("MatMul", ["a", "b"], ["y"])], [("a", ["B", "M", "K"]), ("b", ["B", "K", "N"])], [("y", ["B", "M", "N"])])
save("matmul_weights", [n("MatMul", ["x", "w"], ["a"]), n("Add", ["a", "b"], ["c"]), n("Gelu", ["c"], ["y"])], [("x", ["B", "N", 16])], [("y", ["B", "N", 24])], w=W(16, 24), b=W(24))
save("gemm", [n("Gemm", ["a", "b", "c"], ["y"], transB=1, alpha=0.5)], [("a", ["M", "K"]), ("b", ["N", "K"]), ("c", ["N"])], [("y", ["M", "N"])])
save("matmul_integer", [n("MatMulInteger", ["a", "b", "za"], ["y"])], [("a", ["M", "K"], T.UINT8), ("b", ["K", "N"], T.INT8), ("za", [], T.UINT8)], [("y", ["M", "N"], T.INT32)])
save("einsum", [n("Einsum", ["a", "b"], ["y"], equation="bik,bjk->bij")], [("a", ["B", "I", "K"]), ("b", ["B", "J", "K"])], [("y", ["B", "I", "J"])])
save("conv", [n("Conv", ["x", "w", "b"], ["a"], pads=[1] * 4), n("Relu", ["a"], ["y"])], [("x", ["B", 3, "H", "W"])], [("y", ["B", 8, "H", "W"])], w=W(8, 3, 3, 3), b=W(8))
save("conv_strided", [n("Conv", ["x", "w"], ["y"], strides=[2, 2])], [("x", ["B", 4, "H", "W"])], [("y", ["B", 6, "P", "Q"])], w=W(6, 4, 3, 3))
save("conv_depthwise", [n("Conv", ["x", "w"], ["y"], pads=[1] * 4, strides=[2, 2], group=6)], [("x", ["B", 6, "H", "W"])], [("y", ["B", 6, "P", "Q"])], w=W(6, 1, 3, 3))
save("conv_1d", [n("Conv", ["x", "w"], ["y"], pads=[2, 2], dilations=[2])], [("x", ["B", 4, "L"])], [("y", ["B", 5, "L"])], w=W(5, 4, 3))
save("conv_transpose", [n("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2])], [("x", ["B", 3, "H", "W"])], [("y", ["B", 2, "P", "Q"])], w=W(3, 2, 3, 3))
save("pool", [n("MaxPool", ["x"], ["m"], kernel_shape=[3, 3], pads=[1] * 4), n("AveragePool", ["m"], ["y"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)], [("x", ["B", 3, "H", "W"])], [("y", ["B", 3, "P", "Q"])])
save("pool_short", [n("MaxPool", ["x"], ["m"], kernel_shape=[5, 3], strides=[3, 2], pads=[1, 0, 0, 0], ceil_mode=1), n("AveragePool", ["m"], ["y"], kernel_shape=[3, 1], strides=[3, 2], ceil_mode=1)], [("x", ["B", 3, "H", "W"])], [("y", ["B", 3, "P", "Q"])])
save("pool_global", [n("GlobalAveragePool", ["x"], ["a"]), n("GlobalMaxPool", ["x"], ["m"]), n("Add", ["a", "m"], ["y"])], [("x", ["B", 3, "H", "W"])], [("y", ["B", 3, 1, 1])])
save("gather", [n("Gather", ["table", "ids"], ["y"])], [("ids", ["B", "L"], T.INT64)], [("y", ["B", "L", 8])], table=W(11, 8))
save("gather_dynamic", [n("Gather", ["table", "ids"], ["y"])], [("table", ["V", 3]), ("ids", ["L"], T.INT64)], [("y", ["L", 3])])
save("concat", [n("Concat", ["a", "b", "a"], ["c"], axis=0), n("Neg", ["c"], ["y"])], [("a", ["N", 4]), ("b", ["M", 4])], [("y", ["P", 4])])
save("concat_inner", [n("Concat", ["a", "b"], ["c"], axis=1), n("Exp", ["c"], ["y"])], [("a", ["R", "N"]), ("b", ["R", "M"])], [("y", ["R", "P"])])
save("slice", [n("Slice", ["x", "s", "e", "ax", "st"], ["y"]), n("Slice", ["x", "s2", "e2", "ax", "st2"], ["z"])], [("x", NM)], [("y", ["P", "Q"]), ("z", ["R", "S"])],
     s=I(1, 0), e=I(-1, 1000), ax=I(0, 1), st=I(1, 2), s2=I(-1, -1), e2=I(-1000, -2000), st2=I(-1, -2))
save("reshape", [n("Shape", ["x"], ["s"]), n("Gather", ["s", "one"], ["m"]), n("Unsqueeze", ["m", "zero"], ["m1"]), n("Concat", ["m1", "minus"], ["t"], axis=0), n("Reshape", ["x", "t"], ["r"]), n("Tanh", ["r"], ["y"])],
     [("x", NM)], [("y", ["M", "P"])], one=np.array(1, np.int64), zero=I(0), minus=I(-1))
save("flatten_transpose", [n("Transpose", ["x"], ["t"], perm=[2, 0, 1]), n("Abs", ["t"], ["a"]), n("Flatten", ["a"], ["y"], axis=1)], [("x", ["A", "B", "C"])], [("y", ["C", "P"])])
save("split", [n("Split", ["x"], ["a", "b"], axis=1, num_outputs=2), n("ReduceSum", ["b", "ax"], ["y"])], [("x", NM)], [("a", ["N", "P"]), ("y", ["N", 1])], ax=I(1))
save("expand_tile", [n("Shape", ["t"], ["s"]), n("Expand", ["x", "s"], ["e"]), n("Tile", ["x", "k"], ["y"]), n("Add", ["e", "t"], ["z"])], [("x", [1, "M"]), ("t", NM)], [("z", NM), ("y", [3, "P"])], k=I(3, 2))
save("pad", [n("Pad", ["x", "p", "v"], ["a"]), n("Mul", ["a", "a"], ["y"])], [("x", NM)], [("y", ["P", "Q"])], p=I(1, 0, 2, 3), v=np.float32(0.5))
save("pad_edge", [n("Pad", ["x", "p"], ["y"], mode="edge")], [("x", NM)], [("y", ["P", "Q"])], p=I(1, 0, 2, 3))
save("layer_norm", [n("LayerNormalization", ["x", "w", "b"], ["a"]), n("Add", ["a", "x"], ["y"])], [("x", ["B", "N", 16])], [("y", ["B", "N", 16])], w=W(16), b=W(16))
save("layer_norm_rows", [n("ReduceMean", ["x", "last"], ["m"]), n("Sub", ["x", "m"], ["d"]), n("Mul", ["d", "d"], ["q"]), n("ReduceMean", ["q", "last"], ["v"]), n("Add", ["v", "eps"], ["ve"]), n("Sqrt", ["ve"], ["s"]), n("Div", ["d", "s"], ["y"])],
     [("x", NM)], [("y", NM)], last=I(-1), eps=np.float32(1e-5))
save("instance_norm", [n("InstanceNormalization", ["x", "w", "b"], ["y"])], [("x", ["B", 3, "L"])], [("y", ["B", 3, "L"])], w=W(3), b=W(3))
save("group_norm", [n("GroupNormalization", ["x", "w", "b"], ["y"], num_groups=2)], [("x", ["B", 4, "L"])], [("y", ["B", 4, "L"])], w=W(4), b=W(4))
save("attention", [n("Transpose", ["k"], ["kt"], perm=[0, 2, 1]), n("MatMul", ["q", "kt"], ["s"]), n("Mul", ["s", "scale"], ["t"]), n("Add", ["t", "mask"], ["u"]), n("Softmax", ["u"], ["p"], axis=-1), n("MatMul", ["p", "v"], ["y"])],
     [("q", ["B", "S", 16]), ("k", ["B", "K", 16]), ("v", ["B", "K", 16]), ("mask", ["S", "K"])], [("y", ["B", "S", 16])], scale=np.float32(0.25))
save("attention_cache", [n("Attention", ["q", "k", "v", "", "pk", "pv"], ["y", "nk", "nv"], is_causal=1)],
     [("q", ["B", 2, "S", 8]), ("k", ["B", 2, "S", 8]), ("v", ["B", 2, "S", 8]), ("pk", ["B", 2, "K", 8]), ("pv", ["B", 2, "K", 8])], [("y", ["B", 2, "S", 8]), ("nk", ["B", 2, "P", 8]), ("nv", ["B", 2, "P", 8])], opset=24)
save("resize", [n("Resize", ["x", "", "scales"], ["y"], mode="linear")], [("x", ["B", 2, "H", "W"])], [("y", ["B", 2, "P", "Q"])], scales=np.array([1, 1, 2, 2], np.float32))
save("topk", [n("TopK", ["x", "k"], ["y", "i"], axis=1)], [("x", NM)], [("y", ["N", 2]), ("i", ["N", 2], T.INT64)], k=I(2))
save("cumsum", [n("CumSum", ["x", "ax"], ["y"])], [("x", NM)], [("y", NM)], ax=np.array(1, np.int64))
save("nonzero", [n("Greater", ["x", "zero"], ["g"]), n("NonZero", ["g"], ["y"])], [("x", NM)], [("y", [2, "P"], T.INT64)], zero=np.float32(0))
save("compress", [n("Compress", ["x", "c"], ["y"], axis=0)], [("x", NM), ("c", ["N"], T.BOOL)], [("y", ["P", "M"])])
save("scatter", [n("ScatterElements", ["x", "i", "u"], ["y"], axis=1)], [("x", ["N", 4]), ("i", ["N", "K"], T.INT64), ("u", ["N", "K"])], [("y", ["N", 4])])
save("one_hot", [n("OneHot", ["i", "d", "v"], ["y"])], [("i", ["N"], T.INT64)], [("y", ["N", 5])], d=np.array(5, np.int64), v=np.array([0, 1], np.float32))
save("lstm", [n("LSTM", ["x", "w", "r"], ["y", "h"], hidden_size=3)], [("x", ["L", "B", 4])], [("y", ["L", 1, "B", 3]), ("h", [1, "B", 3])], w=W(1, 12, 4), r=W(1, 12, 3))
save("quantize", [n("QuantizeLinear", ["x", "s", "z"], ["q"]), n("DequantizeLinear", ["q", "s", "z"], ["y"])], [("x", NM)], [("y", NM)], s=np.float32(0.05), z=np.uint8(7))
save("dynamic_quantize", [n("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]), n("DequantizeLinear", ["q", "s", "z"], ["y"])], [("x", NM)], [("y", NM)])
save("half", [n("Cast", ["x"], ["h"], to=T.FLOAT16), n("Mul", ["h", "h"], ["a"]), n("ReduceSum", ["a", "last"], ["y"], keepdims=0)], [("x", NM)], [("y", ["N"], T.FLOAT16)], last=I(-1))
body = H.make_graph([n("Add", ["carry", "row"], ["next"]), n("Identity", ["next"], ["out"])], "body", [port("carry", ["M"]), port("row", ["M"])], [port("next", ["M"]), port("out", ["M"])])
save("scan", [n("Scan", ["start", "x"], ["last", "y"], num_scan_inputs=1, body=body)], [("start", ["M"]), ("x", NM)], [("last", ["M"]), ("y", NM)])
loop = H.make_graph([n("Mul", ["v", "two"], ["w"]), n("Identity", ["c"], ["c2"])], "body", [port("i", [], T.INT64), port("c", [], T.BOOL), port("v", ["N"])], [port("c2", [], T.BOOL), port("w", ["N"])])
save("loop", [n("Shape", ["x"], ["s"]), n("Squeeze", ["s"], ["trip"]), n("Loop", ["trip", "go", "x"], ["y"], body=loop)], [("x", ["N"])], [("y", ["N"])], go=np.array(True), two=np.float32(1.25))
save("range", [n("Shape", ["x"], ["s"]), n("Squeeze", ["s"], ["e"]), n("Range", ["zero", "e", "one"], ["r"]), n("Cast", ["r"], ["f"], to=T.FLOAT), n("Add", ["f", "x"], ["y"])], [("x", ["N"])], [("y", ["N"])], zero=np.array(0, np.int64), one=np.array(1, np.int64))
save("gru", [n("GRU", ["x", "w", "r", "b"], ["y", "h"], hidden_size=35, direction="bidirectional")], [("x", ["L", "B", 4])],
     [("y", ["L", 2, "B", 35]), ("h", [2, "B", 35])], w=W(2, 105, 4), r=W(2, 105, 35), b=W(2, 210))
save("gru_linear", [n("GRU", ["x", "w", "r", "b"], ["y", "h"], hidden_size=5, linear_before_reset=1)], [("x", ["L", "B", 4])],
     [("y", ["L", 1, "B", 5]), ("h", [1, "B", 5])], w=W(1, 15, 4), r=W(1, 15, 5), b=W(1, 30))
save("rnn", [n("RNN", ["x", "w", "r"], ["y", "h"], hidden_size=70, direction="reverse")], [("x", ["L", "B", 4])],
     [("y", ["L", 1, "B", 70]), ("h", [1, "B", 70])], w=W(1, 70, 4), r=W(1, 70, 70) / 4)
# Axes shorter than the slice's bounds, empty ones among them: those of inputs, and those that a step finds.
ENDS = [("tail", 1, 1000, 1), ("last", -1, 1000, 1), ("first", 0, 1, 1), ("before", -3, -1, 1), ("odd", 1, 6, 2), ("back", 2, -1000, -1), ("end", -1, -4, -2)]
def ends(x): return [n("Slice", [x, k + "_s", k + "_e", "ax", k + "_t"], [k]) for k, *_ in ENDS]
BOUNDS = {k + "_" + what: I(v) for k, s, e, t in ENDS for what, v in (("s", s), ("e", e), ("t", t))}
save("slice_ends", ends("x") + [n("Concat", ["first", "tail"], ["joined"], axis=0), n("Add", ["joined", "x"], ["y"]), n("ReduceSum", ["last", "ax"], ["z"], keepdims=0)], [("x", NM)],
     [("y", NM), ("z", ["M"])] + [(k, [k, "M"]) for k, *_ in ENDS], ax=I(0), **BOUNDS)
save("slice_found", [n("Greater", ["x", "zero"], ["g"]), n("NonZero", ["g"], ["at"])] + ends("at"), [("x", NM)], [(k, [2, k], T.INT64) for k, *_ in ENDS], ax=I(1), zero=np.float32(0.7), **BOUNDS)
# Parts of concatenations that are computed where they belong: where there is but one row, one of them within the other, in a loop's body and as the result of a branch.
def two(x, name): return [n("MatMul", [x, "w"], [name + "_a"]), n("MatMul", [x, "v"], [name + "_m"]), n("Relu", [name + "_m"], [name + "_b"])]
FACTORS = dict(w=W(4, 6), v=W(4, 3), u=W(9, 4), t=W(13, 2))
save("concat_parts", two("x", "p") + [n("Concat", ["p_a", "p_b"], ["c"], axis=1), n("MatMul", ["c", "u"], ["d"]), n("Concat", ["c", "d"], ["e"], axis=1), n("MatMul", ["e", "t"], ["y"]), n("Tanh", ["c"], ["z"])],
     [("x", ["N", 4])], [("y", ["N", 2]), ("z", ["N", 9])], **FACTORS)
body = H.make_graph(two("h", "p") + [n("Concat", ["p_a", "p_b"], ["c"], axis=1), n("MatMul", ["c", "u"], ["next"]), n("Concat", ["p_b", "next"], ["row"], axis=0 - 1), n("Identity", ["go"], ["on"])],
                    "body", [port("i", [], T.INT64), port("go", [], T.BOOL), port("h", ["N", 4])], [port("on", [], T.BOOL), port("next", ["N", 4]), port("row", ["N", 7])])
save("concat_in_loop", [n("Loop", ["three", "yes", "x"], ["y", "rows"], body=body)], [("x", ["N", 4])], [("y", ["N", 4]), ("rows", [3, "N", 7])], three=np.array(3, np.int64), yes=np.array(True), **FACTORS)
branches = [H.make_graph(two("x", k) + [n("MatMul", [k + "_a", "s"], [k + "_c"]), n("Concat", [k + "_c", k + "_b"], [k], axis=axis)], k, [], [port(k, shape)]) for k, axis, shape in (("left", 1, ["N", 6]), ("right", -1, ["N", 6]))]
save("concat_in_branch", [n("ReduceSum", ["x"], ["sum"], keepdims=0), n("Greater", ["sum", "zero"], ["g"]), n("If", ["g"], ["c"], then_branch=branches[0], else_branch=branches[1]), n("Exp", ["c"], ["y"])],
     [("x", ["N", 4])], [("c", ["N", 6]), ("y", ["N", 6])], zero=np.float32(0), s=W(6, 3), **FACTORS)
