"""Operators at versions whose meaning was another one: CASE/model.onnx with test_data_set_0, a folder a case, which
`opfuse verify --suite` takes. Expected values are numpy's where a case gives them; ONNX Runtime must then agree where it runs the
model at all, and gives them where the case does not. Needs onnx, numpy and onnxruntime. usage: make.py FOLDER"""
import os
import shutil
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper as H
from onnx import numpy_helper as N

OUT = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
draw = np.random.default_rng(11)
f32, i64 = np.float32, np.int64
onnxruntime.set_default_logger_severity(4)
by_both = by_ort = by_numpy = 0


def F(*shape): return draw.standard_normal(shape).astype(f32)
def I(*values): return np.array(values, i64)
def up(array): return np.asarray(array)


def ort(model, inputs):
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return session.run(None, inputs)
    except Exception as error:  # a version that it does not have
        return str(error)


def judge(name, model, inputs, expected):
    global by_both, by_ort, by_numpy
    theirs = ort(model, inputs)
    if expected is None:
        if isinstance(theirs, str): sys.exit(f"{name}: {theirs}")
        by_ort += 1
        return theirs
    expected = [np.asarray(e) for e in expected]
    if isinstance(theirs, str):
        by_numpy += 1
        return expected
    by_both += 1
    for mine, other in zip(expected, theirs):
        if mine.dtype != other.dtype or mine.shape != other.shape or not np.allclose(mine.astype(np.float64), other.astype(np.float64), rtol=1e-4, atol=1e-5, equal_nan=True):
            sys.exit(f"{name}: numpy and ONNX Runtime differ\n{mine}\n{other}")
    return expected


def case(name, opset, op, inputs, expected=None, constants=None, outputs=1, domain="", **attributes):
    """inputs: arrays in the order of the node's inputs, None for one left out; those in `constants` (positions) are initializers."""
    names = ["" if v is None else f"x{k}" for k, v in enumerate(inputs)]
    constants = constants or ()
    arrays = {n: v for n, v in zip(names, inputs) if n}
    free = {n: v for k, (n, v) in enumerate(zip(names, inputs)) if n and k not in constants}
    results = [f"y{k}" for k in range(outputs)]
    node = H.make_node(op, names, results, name=op.lower(), domain=domain, **attributes)
    fixed = [N.from_array(v, n) for n, v in arrays.items() if n not in free]
    opsets = [H.make_opsetid("", opset)]
    ports = [H.make_tensor_value_info(n, H.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in free.items()]
    # before IR version 4 an initializer is a graph input, too
    ports += [H.make_tensor_value_info(n, H.np_dtype_to_tensor_dtype(arrays[n].dtype), arrays[n].shape) for n in arrays if n not in free] if opset < 9 else []
    graph = H.make_graph([node], name, ports, [H.make_empty_tensor_value_info(r) for r in results], fixed)
    model = H.make_model(graph, opset_imports=opsets, ir_version=3 if opset < 9 else 8 if opset < 21 else 10)
    try:
        inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    except Exception:
        inferred = model
    expected = judge(name, onnx_typed(inferred, expected), free, expected)
    model = typed(model, expected)
    if op != "GroupNormalization": onnx.checker.check_model(model)  # version 18 is deprecated, and there are models with it
    folder = os.path.join(OUT, name)
    data = os.path.join(folder, "test_data_set_0")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(data)
    onnx.save(model, os.path.join(folder, "model.onnx"))
    for k, (n, v) in enumerate(free.items()): write(os.path.join(data, f"input_{k}.pb"), v, n)
    for k, v in enumerate(expected): write(os.path.join(data, f"output_{k}.pb"), v, f"y{k}")


def typed(model, arrays):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.output[:]
    copy.graph.output.extend(H.make_tensor_value_info(f"y{k}", H.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in enumerate(arrays))
    return copy


def onnx_typed(model, expected): return typed(model, [np.asarray(e) for e in expected]) if expected is not None else model


def write(path, array, name):
    with open(path, "wb") as file: file.write(N.from_array(np.asarray(array), name).SerializeToString())


# ---- opset 6: operands placed by `broadcast` and `axis` ----
a, b, c = F(2, 3, 4, 5), F(3, 4), F(5)
placed = b.reshape(1, 3, 4, 1)
for op, f in (("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide)):
    case(f"{op}-6-axis", 6, op, [a, b], [f(a, placed)], broadcast=1, axis=1)
    case(f"{op}-6-suffix", 6, op, [a, c], [f(a, c)], broadcast=1)
case("Add-6-plain", 6, "Add", [a, a], [a + a])
case("Pow-6-axis", 6, "Pow", [np.abs(a), b], [np.abs(a) ** placed], broadcast=1, axis=1)
case("PRelu-6", 6, "PRelu", [a, b[:, 0].copy()], [np.where(a < 0, a * b[:, 0].reshape(1, 3, 1, 1), a)])
for op, f in (("And", np.logical_and), ("Or", np.logical_or), ("Xor", np.logical_xor)):
    case(f"{op}-6-axis", 6, op, [a > 0, b > 0], [f(a > 0, placed > 0)], broadcast=1, axis=1)
for op, f in (("Less", np.less), ("Greater", np.greater)):
    case(f"{op}-6-axis", 6, op, [a, b], [f(a, placed)], broadcast=1, axis=1)
e, g = draw.integers(0, 3, (2, 3, 4)).astype(np.int32), draw.integers(0, 3, (2, 3)).astype(np.int32)
case("Equal-6-axis", 6, "Equal", [e, g], [e == g[:, :, None]], broadcast=1, axis=0)
case("Equal-7", 7, "Equal", [e, e[:1, :, :1].copy()], [e == e[:1, :, :1]])
for op, f in (("Sum", np.add), ("Max", np.maximum), ("Min", np.minimum)):
    case(f"{op}-6", 6, op, [a, -a], [f(a, -a)])
    case(f"{op}-8", 8, op, [a, c], [f(a, c)])
case("Mean-6", 6, "Mean", [a, a * 2], [a * f32(1.5)])

# ---- axes as attributes, later as inputs ----
x = F(1, 3, 1, 4)
case("Squeeze-6", 6, "Squeeze", [x], [x[0]], axes=[0])
case("Squeeze-6-all", 6, "Squeeze", [x], [x[0, :, 0]])
case("Squeeze-11-negative", 11, "Squeeze", [x], [x[:, :, 0]], axes=[-2])
case("Squeeze-13", 13, "Squeeze", [x, I(0, 2)], [x[0, :, 0]], [1])
case("Unsqueeze-6", 6, "Unsqueeze", [x], [x.reshape(1, 1, 3, 1, 1, 4)], axes=[0, 4])
case("Unsqueeze-11-negative", 11, "Unsqueeze", [x], [x.reshape(1, 3, 1, 4, 1)], axes=[-1])
case("Unsqueeze-13", 13, "Unsqueeze", [x, I(-1, 0)], [x[None, ..., None]], [1])
for op, f in (("ReduceSum", np.sum), ("ReduceMax", np.max), ("ReduceMin", np.min), ("ReduceMean", np.mean), ("ReduceProd", np.prod)):
    case(f"{op}-6", 6, op, [a], [f(a, axis=(1, 3), keepdims=True)], axes=[1, 3])
    case(f"{op}-11-negative", 11, op, [a], [f(a, axis=-1)], axes=[-1], keepdims=0)
    case(f"{op}-11-all", 11, op, [a], [f(a).reshape(1, 1, 1, 1)])
case("ReduceSum-13", 13, "ReduceSum", [a, I(1, -1)], [a.sum(axis=(1, 3))], [1], keepdims=0)
case("ReduceSum-13-noop", 13, "ReduceSum", [a], [a], noop_with_empty_axes=1)
case("ReduceMax-18", 18, "ReduceMax", [a, I(2)], [a.max(axis=2, keepdims=True)], [1])
case("ReduceMean-18-all", 18, "ReduceMean", [a], [a.mean(keepdims=True)])
for op, f in (("ReduceL1", lambda v, **k: np.abs(v).sum(**k)), ("ReduceL2", lambda v, **k: np.sqrt((v * v).sum(**k))), ("ReduceLogSum", lambda v, **k: np.log(np.abs(v).sum(**k))),
              ("ReduceLogSumExp", lambda v, **k: np.log(np.exp(v).sum(**k))), ("ReduceSumSquare", lambda v, **k: (v * v).sum(**k))):
    v = np.abs(a) if op == "ReduceLogSum" else a
    case(f"{op}-6", 6, op, [v], [f(v, axis=2, keepdims=True)], axes=[2])
    case(f"{op}-18", 18, op, [v, I(0, -1)], [f(v, axis=(0, 3))], [1], keepdims=0)

# ---- softmax over everything behind the axis ----
for op in ("Softmax", "LogSoftmax", "Hardmax"):
    def rows(v, axis):
        flat = v.reshape(int(np.prod(v.shape[:axis])), -1).astype(np.float64)
        shifted = flat - flat.max(axis=1, keepdims=True)
        soft = np.exp(shifted) / np.exp(shifted).sum(axis=1, keepdims=True)
        hard = np.eye(flat.shape[1])[flat.argmax(axis=1)]
        return {"Softmax": soft, "LogSoftmax": np.log(soft), "Hardmax": hard}[op].reshape(v.shape).astype(f32)
    case(f"{op}-6", 6, op, [a], [rows(a, 1)])
    case(f"{op}-6-axis2", 6, op, [a], [rows(a, 2)], axis=2)
    case(f"{op}-11-negative", 11, op, [a], [rows(a, 2)], axis=-2)
    case(f"{op}-11-axis0", 11, op, [a], [rows(a, 0)], axis=0)
    case(f"{op}-13-axis1", 13, op, [a], None, axis=1)
    case(f"{op}-13", 13, op, [a], [rows(a, 3)])

# ---- padding, slicing, clipping ----
p = F(2, 3, 4)
for mode in ("constant", "edge", "reflect"):
    pads = [0, 1, 2, 0, 1, 1] if mode != "reflect" else [0, 1, 2, 0, 2, 1]
    want = np.pad(p, [(pads[k], pads[k + 3]) for k in range(3)], mode, **({"constant_values": 1.5} if mode == "constant" else {}))
    case(f"Pad-6-{mode}", 6, "Pad", [p], [want], pads=pads, mode=mode, value=1.5)
    case(f"Pad-11-{mode}", 11, "Pad", [p, I(*pads), np.array(1.5, f32)], [want], [1, 2], mode=mode)
case("Pad-6-negative", 6, "Pad", [p], [p[:, 1:, :3]], pads=[0, -1, 0, 0, 0, -1])
case("Pad-18-axes", 18, "Pad", [p, I(1, 2), None, I(-1)], [np.pad(p, [(0, 0), (0, 0), (1, 2)])], [1, 3])
case("Pad-19-wrap", 19, "Pad", [p, I(0, 0, 2, 0, 0, 3)], [np.pad(p, [(0, 0), (0, 0), (2, 3)], "wrap")], [1], mode="wrap")
case("Slice-6", 6, "Slice", [a], [a[:, 1:3, :, -2:]], axes=[1, 3], starts=[1, -2], ends=[1000, 9223372036854775807])
case("Slice-9-no-axes", 9, "Slice", [a], [a[:1, 1:2]], starts=[0, 1], ends=[-1, 2])
case("Slice-10-steps", 10, "Slice", [a, I(3, -1), I(0, -1000), I(2, 3), I(-2, -1)], [a[:, :, 3:0:-2, ::-1]], [1, 2, 3, 4])
case("Slice-11-negative-axis", 11, "Slice", [a, I(1), I(4), I(-1)], [a[..., 1:4]], [1, 2, 3])
case("Clip-6", 6, "Clip", [a], [np.clip(a, -0.5, 0.75)], min=-0.5, max=0.75)
case("Clip-6-open", 6, "Clip", [a], [np.maximum(a, 0)], min=0.0)
case("Clip-11", 11, "Clip", [a, np.array(-0.5, f32)], [np.maximum(a, f32(-0.5))], [1])
case("Clip-12-integers", 12, "Clip", [e, None, np.array(1, np.int32)], [np.minimum(e, 1)], [2])

# ---- splitting, joining, reshaping ----
case("Split-6", 6, "Split", [a], np.split(a, [1], axis=1), outputs=2, axis=1, split=[1, 2])
case("Split-11-equal", 11, "Split", [a], np.split(a, 2, axis=-2), outputs=2, axis=-2)
case("Split-13", 13, "Split", [a, I(2, 3)], np.split(a, [2], axis=3), [1], outputs=2, axis=3)
case("Split-18-uneven", 18, "Split", [a], np.split(a, [3], axis=3), outputs=2, axis=3, num_outputs=2)
case("Concat-6", 6, "Concat", [a, a], [np.concatenate([a, a], 2)], axis=2)
case("Concat-11-negative", 11, "Concat", [a, a], [np.concatenate([a, a], -1)], axis=-1)
case("Reshape-6", 6, "Reshape", [a, I(0, -1, 10)], [a.reshape(2, 6, 10)], [1])
case("Reshape-14-allowzero", 14, "Reshape", [np.zeros((0, 3), f32), I(3, 0)], [np.zeros((3, 0), f32)], [1], allowzero=1)
case("Flatten-6", 6, "Flatten", [a], [a.reshape(6, 20)], axis=2)
case("Flatten-11-negative", 11, "Flatten", [a], [a.reshape(24, 5)], axis=-1)
case("Tile-6", 6, "Tile", [p, I(1, 2, 3)], [np.tile(p, (1, 2, 3))], [1])
d = F(1, 8, 2, 3)
dcr = d.reshape(1, 2, 2, 2, 2, 3).transpose(0, 3, 4, 1, 5, 2).reshape(1, 2, 4, 6)
crd = d.reshape(1, 2, 2, 2, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(1, 2, 4, 6)
case("DepthToSpace-6", 6, "DepthToSpace", [d], [dcr], blocksize=2)
case("DepthToSpace-11", 11, "DepthToSpace", [d], [crd], blocksize=2, mode="CRD")
case("Gather-6", 6, "Gather", [a, I(2, 0)], [a[:, [2, 0]]], axis=1)
case("Gather-11-negative", 11, "Gather", [a, I(-1, 0)], [a[:, [-1, 0]]], axis=1)
case("OneHot-9", 9, "OneHot", [I(0, 2, 7), np.array([4], i64), np.array([-1, 3], f32)], [np.array([[3, -1, -1, -1], [-1, -1, 3, -1], [-1, -1, -1, -1]], f32)], [1])
case("OneHot-11-negative", 11, "OneHot", [I(0, -1), np.array(3, i64), np.array([0, 1], f32)], [np.array([[1, 0], [0, 0], [0, 1]], f32)], [1], axis=0)
case("Shape-6", 6, "Shape", [a], [I(2, 3, 4, 5)])
case("Shape-15", 15, "Shape", [a], [I(3, 4)], start=1, end=-1)
case("Expand-8", 8, "Expand", [x, I(2, 1, 5, 1)], [np.broadcast_to(x, (2, 3, 5, 4)).copy()], [1])
t = np.array([[1, 5, 5, 2], [9, 9, 0, 3]], f32)
case("ArgMax-6", 6, "ArgMax", [t], [I([1], [0])], axis=1)
case("ArgMax-12-last", 12, "ArgMax", [t], [I(2, 1)], axis=-1, keepdims=0, select_last_index=1)
case("ArgMin-11-negative", 11, "ArgMin", [t], [I([0], [2])], axis=-1)
case("TopK-6", 6, "TopK", [t], [np.array([[5, 5], [9, 9]], f32), I([1, 2], [0, 1])], outputs=2, k=2)
case("TopK-10", 10, "TopK", [t, I(2)], [np.array([[5, 5], [9, 9]], f32), I([1, 2], [0, 1])], [1], outputs=2)
case("TopK-11-smallest", 11, "TopK", [t, I(1)], [np.array([[1], [0]], f32), I([0], [2])], [1], outputs=2, largest=0)
scattered = t.copy(); scattered[0, 1], scattered[1, 3] = 7, 8
case("Scatter-9", 9, "Scatter", [t, I([1], [3]), np.array([[7], [8]], f32)], [scattered], axis=1)
case("ScatterElements-11-negative", 11, "ScatterElements", [t, I([1], [-1]), np.array([[7], [8]], f32)], [scattered], axis=-1)
added = t.copy(); added[0, 1] += 7; added[1, 3] += 8
case("ScatterElements-16-add", 16, "ScatterElements", [t, I([1], [3]), np.array([[7], [8]], f32)], [added], axis=1, reduction="add")
case("ScatterND-11", 11, "ScatterND", [t, I([0, 1], [1, 3]), np.array([7, 8], f32)], [scattered])
case("ScatterND-18-max", 18, "ScatterND", [t, I([0, 1], [1, 3]), np.array([4, 8], f32)], None, reduction="max")
case("NonZero-9", 9, "NonZero", [t], [np.array(np.nonzero(t), i64)])
case("CumSum-11", 11, "CumSum", [t, np.array(-1, np.int32)], [np.array([[0, 1, 6, 11], [0, 9, 18, 18]], f32)], [1], exclusive=1)

# ---- casts and training flags ----
case("Cast-6", 6, "Cast", [a * 3], [(a * 3).astype(np.int32)], to=T.INT32)
case("Cast-9-bool", 9, "Cast", [e], [e != 0], to=T.BOOL)
case("Cast-13-double", 13, "Cast", [a], [a.astype(np.float64)], to=T.DOUBLE)
case("Dropout-6", 6, "Dropout", [a], [a], is_test=1, ratio=0.3)
case("Dropout-7", 7, "Dropout", [a], [a], ratio=0.3)
case("Dropout-12", 12, "Dropout", [a, np.array(0.3, f32), np.array(False)], [a], [1, 2])
case("Dropout-12-mask", 12, "Dropout", [a], [a, np.ones(a.shape, bool)], outputs=2)
s, bias, mean, var = np.abs(F(3)) + 1, F(3), F(3), np.abs(F(3)) + 0.5
shape = (1, 3, 1, 1)
normal = ((a - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + 1e-3) * s.reshape(shape) + bias.reshape(shape)).astype(f32)
case("BatchNormalization-6", 6, "BatchNormalization", [a, s, bias, mean, var], [normal], is_test=1, epsilon=1e-3)
case("BatchNormalization-7", 7, "BatchNormalization", [a, s, bias, mean, var], [normal], epsilon=1e-3)
case("BatchNormalization-9", 9, "BatchNormalization", [a, s, bias, mean, var], [normal], epsilon=1e-3)
case("BatchNormalization-14", 14, "BatchNormalization", [a, s, bias, mean, var], [normal], epsilon=1e-3)
each = [np.abs(F(3, 4, 5)) + 1, F(3, 4, 5), F(3, 4, 5), np.abs(F(3, 4, 5)) + 0.5]
normal = ((a - each[2]) / np.sqrt(each[3] + 1e-3) * each[0] + each[1]).astype(f32)
case("BatchNormalization-6-each", 6, "BatchNormalization", [a, *each], [normal], is_test=1, spatial=0, epsilon=1e-3)
case("BatchNormalization-7-each", 7, "BatchNormalization", [a, *each], [normal], spatial=0, epsilon=1e-3)

# ---- products ----
m, n, k3 = F(3, 4), F(4, 5), F(5)
case("Gemm-6-broadcast", 6, "Gemm", [m, n, k3], [(2 * m @ n + 0.5 * k3).astype(f32)], broadcast=1, alpha=2.0, beta=0.5)
case("Gemm-6", 6, "Gemm", [m, n.T.copy(), F(3, 5)], [m @ n], transB=1, beta=0.0)
case("Gemm-7", 7, "Gemm", [m.T.copy(), n, F(3, 1)], None, transA=1)
case("Gemm-11-no-bias", 11, "Gemm", [m, n], [m @ n])
case("MatMul-9", 9, "MatMul", [F(2, 3, 4), n], None)

# ---- windows ----
w = F(1, 2, 7, 6)
for opset in (7, 8, 10, 11, 12):
    case(f"MaxPool-{opset}", opset, "MaxPool", [w], None, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1])
    case(f"MaxPool-{opset}-same-lower", opset, "MaxPool", [w], None, kernel_shape=[3, 2], strides=[2, 1], auto_pad="SAME_LOWER")
case("MaxPool-8-indices", 8, "MaxPool", [w], None, outputs=2, kernel_shape=[2, 2], strides=[2, 2])
case("MaxPool-8-columns", 8, "MaxPool", [w], None, outputs=2, kernel_shape=[2, 2], strides=[2, 2], storage_order=1)
case("MaxPool-10-ceil", 10, "MaxPool", [w], None, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
case("MaxPool-10-dilated", 10, "MaxPool", [w], None, kernel_shape=[2, 2], dilations=[2, 3])
for opset in (7, 10, 11):
    case(f"AveragePool-{opset}", opset, "AveragePool", [w], None, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1])
    case(f"AveragePool-{opset}-include", opset, "AveragePool", [w], None, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1], count_include_pad=1)
    case(f"AveragePool-{opset}-same", opset, "AveragePool", [w], None, kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER")
case("AveragePool-10-ceil", 10, "AveragePool", [w], None, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
case("AveragePool-19-dilated", 19, "AveragePool", [w], None, kernel_shape=[2, 2], dilations=[2, 2], ceil_mode=1)
case("LpPool-7", 7, "LpPool", [w], None, kernel_shape=[2, 2], p=2)
case("LpPool-18-ceil", 18, "LpPool", [w], None, kernel_shape=[2, 2], strides=[2, 2], p=3, ceil_mode=1)
case("Conv-7-same", 7, "Conv", [w, F(3, 2, 3, 3), F(3)], None, strides=[2, 2], auto_pad="SAME_LOWER")
case("ConvTranspose-7", 7, "ConvTranspose", [w, F(2, 3, 3, 3)], None, strides=[2, 2], output_padding=[1, 0])
case("ConvTranspose-11-shape", 11, "ConvTranspose", [w, F(2, 3, 3, 3)], None, strides=[2, 2], output_shape=[15, 13])

# ---- resampling ----
small = F(1, 2, 3, 4)
case("Upsample-7", 7, "Upsample", [small], [small.repeat(2, 2).repeat(3, 3)], scales=[1.0, 1.0, 2.0, 3.0], mode="nearest")
case("Upsample-7-linear", 7, "Upsample", [small], None, scales=[1.0, 1.0, 2.0, 2.0], mode="linear")
case("Upsample-9", 9, "Upsample", [small, np.array([1, 1, 2, 2.5], f32)], None, [1])
case("Upsample-9-linear", 9, "Upsample", [small, np.array([1, 1, 2, 2.5], f32)], None, [1], mode="linear")
case("Resize-10", 10, "Resize", [small, np.array([1, 1, 2, 1.5], f32)], None, [1])
case("Resize-10-down", 10, "Resize", [small, np.array([1, 1, 0.6, 0.5], f32)], None, [1])
case("Resize-10-linear", 10, "Resize", [small, np.array([1, 1, 0.6, 2.5], f32)], None, [1], mode="linear")
for opset in (11, 13):
    for kind in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"):
        case(f"Resize-{opset}-{kind}", opset, "Resize", [small, np.zeros(0, f32), np.array([1, 1, 2 if kind == "align_corners" else 1.7, 2.5], f32)], None, [1, 2], mode="linear", coordinate_transformation_mode=kind)
    for kind in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        case(f"Resize-{opset}-{kind}", opset, "Resize", [small, np.zeros(0, f32), np.zeros(0, f32), I(1, 2, 5, 3)], None, [1, 2, 3], mode="nearest", nearest_mode=kind)
    case(f"Resize-{opset}-cubic", opset, "Resize", [small, np.zeros(0, f32), np.array([1, 1, 1.5, 2], f32)], None, [1, 2], mode="cubic", cubic_coeff_a=-0.5)
    case(f"Resize-{opset}-crop", opset, "Resize", [small, np.array([0, 0, 0.2, 0.1, 1, 1, 0.9, 1.3], f32), np.zeros(0, f32), I(1, 2, 4, 5)], None, [1, 2, 3], mode="linear", coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=2.0)
case("Resize-18-antialias", 18, "Resize", [small, None, np.array([0.6, 0.5], f32)], None, [2], mode="linear", antialias=1, axes=[2, 3])
case("Resize-18-keep", 18, "Resize", [small, None, None, I(6, 6)], None, [3], mode="linear", axes=[2, 3], keep_aspect_ratio_policy="not_larger")
boxes, which = np.array([[0, 0, 3, 2], [1, 0.5, 2.5, 2]], f32), I(0, 0)
case("RoiAlign-10", 10, "RoiAlign", [small, boxes, which], None, output_height=2, output_width=2, sampling_ratio=2)
case("RoiAlign-16", 16, "RoiAlign", [small, boxes, which], None, output_height=2, output_width=2, sampling_ratio=2)
grid = draw.uniform(-1.1, 1.1, (1, 2, 3, 2)).astype(f32)
case("GridSample-16-bilinear", 16, "GridSample", [small, grid], None, mode="bilinear", padding_mode="border")
case("GridSample-16-bicubic", 16, "GridSample", [small, grid], None, mode="bicubic")
case("GridSample-20-linear", 20, "GridSample", [small, grid], None, mode="linear")

# ---- norms, spectra, quantisation, boxes ----
case("InstanceNormalization-6", 6, "InstanceNormalization", [a, s, bias], [((a - a.mean((2, 3), keepdims=True)) / np.sqrt(a.var((2, 3), keepdims=True) + 1e-5) * s.reshape(shape) + bias.reshape(shape)).astype(f32)])
h = F(2, 4, 3)
parts = h.reshape(2, 2, -1)
unit = ((parts - parts.mean(-1, keepdims=True)) / np.sqrt(parts.var(-1, keepdims=True) + 1e-5))
g2, b2, g4, b4 = F(2), F(2), F(4), F(4)
case("GroupNormalization-18", 18, "GroupNormalization", [h, g2, b2], [(unit * g2.reshape(1, 2, 1) + b2.reshape(1, 2, 1)).reshape(h.shape).astype(f32)], num_groups=2)
case("GroupNormalization-21", 21, "GroupNormalization", [h, g4, b4], [(unit.reshape(h.shape) * g4.reshape(1, 4, 1) + b4.reshape(1, 4, 1)).astype(f32)], num_groups=2)
case("MeanVarianceNormalization-9", 9, "MeanVarianceNormalization", [a], None)
case("LRN-6", 6, "LRN", [F(1, 5, 2, 2)], None, size=3)
signal = F(1, 6, 1)
spectrum = np.fft.fft(signal[..., 0], axis=1)
case("DFT-17", 17, "DFT", [signal], [np.stack([spectrum.real, spectrum.imag], -1).astype(f32)], axis=1)
case("DFT-20", 20, "DFT", [signal, None, np.array(1, i64)], [np.stack([spectrum.real, spectrum.imag], -1).astype(f32)], [2])
scale, zero = np.array(0.25, f32), np.array(3, np.uint8)
q = np.clip(np.rint(a / 0.25) + 3, 0, 255).astype(np.uint8)
case("QuantizeLinear-10", 10, "QuantizeLinear", [a, scale, zero], [q], [1, 2])
case("DequantizeLinear-10", 10, "DequantizeLinear", [q, scale, zero], [((q.astype(f32) - 3) * f32(0.25))], [1, 2])
case("QuantizeLinear-13-axis", 13, "QuantizeLinear", [a, np.array([0.25, 0.5, 0.125], f32), np.array([0, 3, 7], np.uint8)], None, [1, 2], axis=1)
corners = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 5, 1, 6]]], f32)
score = np.array([[[0.9, 0.75, 0.6]]], f32)
case("NonMaxSuppression-10", 10, "NonMaxSuppression", [corners, score, I(3), np.array([0.5], f32), np.array([0], f32)], [I([0, 0, 0], [0, 0, 2])], [2, 3, 4])
case("NonMaxSuppression-11", 11, "NonMaxSuppression", [corners, score, I(2), np.array([0.5], f32)], [I([0, 0, 0], [0, 0, 2])], [2, 3])
case("Mod-10", 10, "Mod", [I(-7, 7, -7), I(3, -3, -3)], [I(2, -2, -1)])
case("BitShift-11", 11, "BitShift", [np.array([1, 200], np.uint8), np.array([3, 1], np.uint8)], [np.array([8, 144], np.uint8)], direction="LEFT")
case("Pow-12-mixed", 12, "Pow", [np.array([2, 3], np.int32), np.array([3, 2], f32)], [np.array([8, 9], np.int32)])
sequence, weights, recurrent = F(3, 1, 2), F(1, 8, 2), F(1, 8, 2)
case("LSTM-7", 7, "LSTM", [sequence, weights, recurrent], None, outputs=3, hidden_size=2)
case("GRU-7", 7, "GRU", [sequence, weights[:, :6].copy(), recurrent[:, :6].copy()], None, outputs=2, hidden_size=2, linear_before_reset=1)
case("RNN-7", 7, "RNN", [sequence, weights[:, :2].copy(), recurrent[:, :2].copy()], None, outputs=2, hidden_size=2)
# ---- ceil_mode with an input that is shorter than the kernel, by less than a stride: one window ----
short = F(1, 2, 2, 1)
for opset in (10, 11, 12):
    case(f"MaxPool-{opset}-short", opset, "MaxPool", [short], None, kernel_shape=[3, 2], strides=[2, 2], ceil_mode=1)
    case(f"MaxPool-{opset}-short-pads", opset, "MaxPool", [short], None, outputs=2, kernel_shape=[5, 2], strides=[3, 2], pads=[1, 0, 0, 0], ceil_mode=1)
case("MaxPool-12-short-dilated", 12, "MaxPool", [short], None, kernel_shape=[2, 2], strides=[3, 2], dilations=[3, 1], ceil_mode=1)
for opset in (10, 11, 19, 22):
    for include in (0, 1):
        case(f"AveragePool-{opset}-short-{include}", opset, "AveragePool", [short], None, kernel_shape=[5, 3], strides=[3, 3], pads=[1, 0, 0, 1], ceil_mode=1, count_include_pad=include)
case("LpPool-18-short", 18, "LpPool", [short], None, kernel_shape=[3, 2], strides=[2, 3], p=3, ceil_mode=1)
case("LpPool-22-short", 22, "LpPool", [short], None, kernel_shape=[5, 2], strides=[3, 2], pads=[1, 0, 0, 0], ceil_mode=1)
# ---- Upsample before opset 7: a number an axis ----
x = F(1, 2, 3, 4)
case("Upsample-6", 6, "Upsample", [x], [x.repeat(2, 2).repeat(3, 3)], height_scale=2.0, width_scale=3.0)
case("Upsample-6-floor", 6, "Upsample", [x], [x[:, :, np.floor(np.arange(4) / f32(1.5)).astype(int)][:, :, :, np.floor(np.arange(7) / f32(1.75)).astype(int)]], height_scale=1.5, width_scale=1.75)
at = np.minimum(np.arange(6) / 2, 2)
low, part = np.floor(at).astype(int), (at - np.floor(at)).astype(f32).reshape(1, 1, 6, 1)
case("Upsample-6-bilinear", 6, "Upsample", [x], [x[:, :, low] * (1 - part) + x[:, :, np.minimum(low + 1, 2)] * part], height_scale=2.0, width_scale=1.0, mode="bilinear")
print(f"by numpy and ONNX Runtime {by_both}, by ONNX Runtime {by_ort}, by numpy alone {by_numpy}")
