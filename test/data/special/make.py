"""Element-wise operators over the special values of each type: TYPE.onnx with an output an operator and, beside it, a constant
output "NAME ulps=U abs=A zero=signed|any by=all|code" with what ONNX's text asks for (code: the evaluator,
which computes in double, is not asked, since parts of the formula overflow or vanish in the type itself), and TYPE_K.pb, the values of input K. `x` are single
values, `a` and `b` all pairs of some. What the text leaves open is as docs/numerics.md has it. usage: make.py FOLDER"""
import ctypes
import math
import os
import sys

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as H
from onnx import numpy_helper as N

OUT = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
FLOATS = {"float32": (np.float32, T.FLOAT), "float64": (np.float64, T.DOUBLE), "float16": (np.float16, T.FLOAT16), "bfloat16": (ml_dtypes.bfloat16, T.BFLOAT16)}
SIGNED = {f"int{n}": (getattr(np, f"int{n}"), getattr(T, f"INT{n}")) for n in (8, 16, 32, 64)}
UNSIGNED = {f"uint{n}": (getattr(np, f"uint{n}"), getattr(T, f"UINT{n}")) for n in (8, 16, 32, 64)}
INF, NAN = math.inf, math.nan
np.seterr(all="ignore")
LIBM = ctypes.CDLL("libm.so.6")
LIBM.pow.restype, LIBM.pow.argtypes = ctypes.c_double, [ctypes.c_double] * 2


# ---- values ----

def float_values(dtype):
    info = ml_dtypes.finfo(dtype)
    tiny, least, most = float(info.smallest_subnormal), float(info.tiny), float(info.max)
    special = [NAN, INF, -INF, 0.0, -0.0, tiny, -tiny, least, most, -most]
    single = special + [37 * tiny, least * 0.75, -least, most / 2, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, -3, 0.25, -0.75, 1 / 3, 7.9, -7.9, 10.5, -10.5, 20, -20, 88.5, -88.5, -95, 100, -100, 1000, -1000, 0.1, 1.0001, -0.999]
    pairs = special + [1, -1, 2, 3, 0.5, -2.5, -8, 1 / 3, 1000]
    return single, pairs


def integer_values(dtype):
    info, bits = np.iinfo(dtype), np.dtype(dtype).itemsize * 8
    low, high = int(info.min), int(info.max)
    some = [low, low + 1, -7, -2, -1, 0, 1, 2, 3, 7, bits - 1, bits, bits + 1, high - 1, high] + ([2**53 + 1] if bits == 64 else [])
    some = [v for v in dict.fromkeys(some) if low <= v <= high]
    return some + [v for v in (5, -5, 63, 100, -100) if low <= v <= high], some


# ---- what the operators are, on Python's numbers ----

def erf(x): return x if math.isnan(x) else math.erf(x)


def total(f):
    """The function with C's answers where Python raises."""
    def g(*x):
        if any(isinstance(v, float) and math.isnan(v) for v in x):
            return NAN
        return float(f(*map(np.float64, x)))
    return g


def power(x, e): return LIBM.pow(x, e)  # numpy takes sqrt for e = 0.5, which differs for -0 and -inf
def largest(*v): return NAN if any(x != x for x in v) else max(v)
def smallest(*v): return NAN if any(x != x for x in v) else min(v)
def div(a, b): return float(np.float64(a) / np.float64(b))
def exp(x): return float(np.exp(np.float64(x)))
def expm1(x): return float(np.expm1(np.float64(x)))
def tanh(x): return float(np.tanh(np.float64(x)))
def softplus(x): return NAN if x != x else largest(x, 0) + float(np.log1p(np.exp(-abs(np.float64(x)))))
def sigmoid(x): return div(1, 1 + exp(-x))
def sign(x): return NAN if x != x else (x > 0) - (x < 0)


def truncated(a, b):
    if b == 0: return 0
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def integer_power(a, e):
    if e < 0: return {1: 1, -1: -1 if e % 2 else 1}.get(a, 0)
    return pow(a, e, 2**64)


COMPUTE = np.float64  # the type in which the values of the type at hand are computed


def computed(x): return float(COMPUTE(x))


EXACT, SOME = (0, 0, "signed"), (0, 0, "any")
def near(ulps=4, abs_=0, zero="signed"): return (ulps, abs_, zero)


# name, operator, inputs, attributes, function, tolerance, type of the result (None: T)
GELU = lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2)))
GELU_TANH = lambda x: 0.5 * x * (1 + tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
QUICK = lambda x: x * sigmoid(1.702 * x)
ANY = [("Equal", "Equal", "ab", {}, lambda a, b: a == b, EXACT, T.BOOL), ("Where", "Where", "cab", {}, lambda c, a, b: a if c else b, EXACT, None),
       ("Identity", "Identity", "x", {}, lambda x: x, EXACT, None)]
NUMERIC = [("Add", "Add", "ab", {}, lambda a, b: a + b, EXACT, None), ("Sub", "Sub", "ab", {}, lambda a, b: a - b, EXACT, None),
           ("Mul", "Mul", "ab", {}, lambda a, b: a * b, EXACT, None), ("Abs", "Abs", "x", {}, abs, EXACT, None), ("Sign", "Sign", "x", {}, sign, SOME, None),
           ("Max", "Max", "ab", {}, largest, SOME, None), ("Min", "Min", "ab", {}, smallest, SOME, None), ("Max3", "Max", "aba", {}, lambda a, b, c: largest(a, b), SOME, None),
           ("Less", "Less", "ab", {}, lambda a, b: a < b, EXACT, T.BOOL), ("LessOrEqual", "LessOrEqual", "ab", {}, lambda a, b: a <= b, EXACT, T.BOOL),
           ("Greater", "Greater", "ab", {}, lambda a, b: a > b, EXACT, T.BOOL), ("GreaterOrEqual", "GreaterOrEqual", "ab", {}, lambda a, b: a >= b, EXACT, T.BOOL),
           ("PRelu", "PRelu", "ab", {}, lambda x, s: s * x if x < 0 else x, EXACT, None),
           ("Clip", "Clip", "alh", {}, lambda x, low, high: smallest(largest(x, low), high), SOME, None), ("ClipLow", "Clip", "al", {}, largest, SOME, None),
           ("ClipHigh", "Clip", "a.h", {}, lambda x, high: smallest(x, high), SOME, None), ("ClipCrossed", "Clip", "ahl", {}, lambda x, low, high: high if x == x else x, SOME, None)]
FLOAT = [("Div", "Div", "ab", {}, div, EXACT, None), ("Neg", "Neg", "x", {}, lambda x: -x, EXACT, None), ("Reciprocal", "Reciprocal", "x", {}, lambda x: div(1, x), EXACT, None),
         ("Sum", "Sum", "ab", {}, lambda a, b: a + b, EXACT, None), ("Mean", "Mean", "ab", {}, lambda a, b: computed(a + b) / 2, EXACT, None),
         ("Fmod", "Mod", "ab", {"fmod": 1}, total(np.fmod), EXACT, None), ("Pow", "Pow", "ab", {}, power, near(), None),
         ("PowSquare", "Pow", "x2", {}, lambda x: power(x, 2), near(), None), ("PowCube", "Pow", "x3", {}, lambda x: power(x, 3), near(), None), ("PowRoot", "Pow", "xr", {}, lambda x: power(x, 0.5), near(), None),
         ("Ceil", "Ceil", "x", {}, total(np.ceil), EXACT, None), ("Floor", "Floor", "x", {}, total(np.floor), EXACT, None), ("Round", "Round", "x", {}, total(np.rint), EXACT, None),
         ("Sqrt", "Sqrt", "x", {}, total(np.sqrt), EXACT, None), ("Erf", "Erf", "x", {}, erf, near(), None)]
FLOAT += [(n, n, "x", {}, total(f), near(), None) for n, f in (("Exp", np.exp), ("Log", np.log), ("Sin", np.sin), ("Cos", np.cos), ("Tan", np.tan), ("Asin", np.arcsin), ("Acos", np.arccos), ("Atan", np.arctan), ("Sinh", np.sinh),
          ("Cosh", np.cosh), ("Tanh", np.tanh), ("Asinh", np.arcsinh), ("Acosh", np.arccosh), ("Atanh", np.arctanh))]
# the smallest results of these may vanish where a part of the formula overflows
FADES = near(8, 2e-38, "any")
FLOAT += [("Relu", "Relu", "x", {}, lambda x: largest(x, 0), SOME, None), ("LeakyRelu", "LeakyRelu", "x", {"alpha": 0.125}, lambda x: 0.125 * x if x < 0 else x, EXACT, None),
          ("ThresholdedRelu", "ThresholdedRelu", "x", {"alpha": 0.5}, lambda x: x if x > 0.5 else 0, SOME, None),
          ("Elu", "Elu", "x", {"alpha": 0.5}, lambda x: 0.5 * expm1(x) if x < 0 else x, near(8), None),
          ("Selu", "Selu", "x", {"alpha": 1.5, "gamma": 2.0}, lambda x: 2 * x if x > 0 else 3 * expm1(x), near(8, 0, "any"), None),
          ("Celu", "Celu", "x", {"alpha": 0.5}, lambda x: largest(x, 0) + smallest(0.5 * expm1(x / 0.5), 0), near(8, 0, "any"), None),
          ("Sigmoid", "Sigmoid", "x", {}, sigmoid, FADES, None), ("HardSigmoid", "HardSigmoid", "x", {"alpha": 0.25}, lambda x: largest(0, smallest(1, 0.25 * x + 0.5)), near(1, 0, "any"), None),
          ("HardSwish", "HardSwish", "x", {}, lambda x: x * largest(0, smallest(1, float(np.float32(1 / 6)) * x + 0.5)), near(8, 0, "any"), None), ("Swish", "Swish", "x", {}, lambda x: x * sigmoid(x), FADES, None),
          ("Mish", "Mish", "x", {}, lambda x: x * tanh(softplus(x)), near(16, 1e-35, "any"), None), ("Softplus", "Softplus", "x", {}, softplus, near(8), None),
          ("Softsign", "Softsign", "x", {}, lambda x: div(x, 1 + abs(x)), near(2), None),
          ("Shrink", "Shrink", "x", {"lambd": 0.75, "bias": 0.5}, lambda x: x + 0.5 if x < -0.75 else x - 0.5 if x > 0.75 else 0, SOME, None),
          ("Gelu", "Gelu", "x", {}, GELU, near(8, 1e-6, "any"), None), ("GeluTanh", "Gelu", "x", {"approximate": "tanh"}, GELU_TANH, near(8, 1e-6, "any"), None),
          ("IsNaN", "IsNaN", "x", {}, lambda x: x != x, EXACT, T.BOOL), ("IsInf", "IsInf", "x", {}, lambda x: x in (INF, -INF), EXACT, T.BOOL),
          ("IsInfUp", "IsInf", "x", {"detect_negative": 0}, lambda x: x == INF, EXACT, T.BOOL), ("IsInfDown", "IsInf", "x", {"detect_positive": 0}, lambda x: x == -INF, EXACT, T.BOOL),
          ("SwiGLU", "SwiGLU", "ab", {}, lambda a, b: computed(a * sigmoid(a)) * b, near(16, 1e-37, "any"), None)]
INTEGER = [("Div", "Div", "ab", {}, truncated, EXACT, None), ("Mod", "Mod", "ab", {}, lambda a, b: a % b if b else 0, EXACT, None),
           ("Fmod", "Mod", "ab", {"fmod": 1}, lambda a, b: a - truncated(a, b) * b if b else 0, EXACT, None), ("Pow", "Pow", "ab", {}, integer_power, EXACT, None),
           ("BitwiseAnd", "BitwiseAnd", "ab", {}, lambda a, b: a & b, EXACT, None), ("BitwiseOr", "BitwiseOr", "ab", {}, lambda a, b: a | b, EXACT, None),
           ("BitwiseXor", "BitwiseXor", "ab", {}, lambda a, b: a ^ b, EXACT, None), ("BitwiseNot", "BitwiseNot", "x", {}, lambda x: ~x, EXACT, None)]


def shifts(bits, signed):
    def left(a, b): return 0 if b < 0 or b >= bits else a << b
    def right(a, b): return (-1 if a < 0 else 0) if b < 0 or b >= bits else a >> b
    return [("ShiftLeft", "BitShift", "ab", {"direction": "LEFT"}, left, EXACT, None), ("ShiftRight", "BitShift", "ab", {"direction": "RIGHT"}, right, EXACT, None)]


def shrink_integer(x): return x + 1 if x < -1.5 else x - 1 if x > 1.5 else 0


# ---- casts: toward zero, NaN to 0, saturated to 64 bits, of which narrower types take the low ones ----

TARGETS = {**FLOATS, **SIGNED, **UNSIGNED, "bool": (bool, T.BOOL)}


def whole(x, kind):
    if isinstance(x, int): return x
    if x != x: return 0
    if kind == T.UINT64 and x >= 2.0**63: return 2**64 - 1 if x >= 2.0**64 else int(x)
    return max(-2**63, min(2**63 - 1, 2**63 - 1 if x == INF else -2**63 if x == -INF else int(x)))


def casts():
    def to(kind, dtype):
        if kind == T.BOOL: return lambda x: x != 0
        return (lambda x: whole(x, kind)) if np.dtype(dtype).kind in "iu" else (lambda x: x)
    return [(f"Cast_{name}", "Cast", "x", {"to": kind}, to(kind, dtype), EXACT, kind) for name, (dtype, kind) in TARGETS.items()]


# ---- the models ----

def wrap(values, dtype):
    bits = np.dtype(dtype).itemsize * 8
    return np.array([v & (2**bits - 1) for v in values], np.uint64).astype(f"uint{bits}").view(dtype)


def stored(values, dtype, out):
    dtype = {kind: own for own, kind in TARGETS.values()}.get(out, dtype)
    if out == T.BOOL: return np.array(values, bool)
    if np.dtype(dtype).kind == "f" and all(isinstance(v, int) for v in values):  # not by way of float64
        return np.array(values, np.uint64 if max(values) >= 2**63 else np.int64).astype(dtype)
    if np.dtype(dtype).kind in "iu": return wrap([int(v) for v in values], dtype)
    return np.array([float(v) for v in values], np.float64).astype(dtype)


def make(name, dtype, onnx_type, single, pairs, rows, constants):
    grid = [(a, b) for a in pairs for b in pairs]
    is_float = np.dtype(dtype).kind not in "iub"
    inputs = {"x": stored(single, dtype, None if dtype is not bool else T.BOOL), "a": stored([a for a, _ in grid], dtype, None if dtype is not bool else T.BOOL),
              "b": stored([b for _, b in grid], dtype, None if dtype is not bool else T.BOOL), "c": np.arange(len(grid)) % 3 == 0}
    number = (lambda v: float(v)) if is_float else (lambda v: int(v))
    values = {key: [number(v) for v in array] for key, array in inputs.items()}
    nodes, outputs, initializers = [], [], [N.from_array(np.array(v, dtype), key) for key, v in constants.items()]
    for row, op, args, attributes, f, (ulps, abs_, zero), out in rows:
        names = ["" if key == "." else key for key in args]
        columns = [values[key] if key in values else [number(np.array(constants[key], dtype))] * len(values[args[0]]) for key in args if key != "."]
        if op == "Pow" and args[1] in constants: columns = columns[:1]
        want = stored([f(*v) for v in zip(*columns)], dtype, out)
        nodes.append(H.make_node(op, names, [row], **attributes))
        label = f"{row} ulps={ulps} abs={abs_:g} zero={zero} by={'code' if row in ('Mean', 'SwiGLU') else 'all'}"
        initializers.append(N.from_array(want, label))
        kind = out or onnx_type
        outputs += [H.make_tensor_value_info(row, kind, want.shape), H.make_tensor_value_info(label, kind, want.shape)]
    used = [key for key in inputs if any(key in node.input for node in nodes)]
    graph = H.make_graph(nodes, name, [H.make_tensor_value_info(key, T.BOOL if key == "c" else onnx_type, inputs[key].shape) for key in used], outputs, initializers)
    onnx.save(H.make_model(graph, opset_imports=[H.make_opsetid("", 28)], ir_version=10), os.path.join(OUT, name + ".onnx"))
    for k, key in enumerate(used):
        with open(os.path.join(OUT, f"{name}_{k}.pb"), "wb") as file:
            file.write(N.from_array(inputs[key], key).SerializeToString())


for name, (dtype, kind) in FLOATS.items():
    COMPUTE = np.float64 if dtype is np.float64 else np.float32
    single, pairs = float_values(dtype)
    make(name, dtype, kind, single, pairs, ANY + NUMERIC + FLOAT + casts(), {"l": -1.0, "h": 2.0, "2": 2.0, "3": 3.0, "r": 0.5})
for name, (dtype, kind) in {**SIGNED, **UNSIGNED}.items():
    single, pairs = integer_values(dtype)
    signed, bits = name in SIGNED, np.dtype(dtype).itemsize * 8
    rows = ANY + NUMERIC + INTEGER + shifts(bits, signed) + casts()
    if signed:
        rows = rows + [("Neg", "Neg", "x", {}, lambda x: -x, EXACT, None), ("Relu", "Relu", "x", {}, lambda x: max(x, 0), EXACT, None)]
    if bits < 64:
        rows = rows + [("Shrink", "Shrink", "x", {"lambd": 1.5, "bias": 1.0}, shrink_integer, EXACT, None)]
    make(name, dtype, kind, single, pairs, rows, {"l": -1 if signed else 1, "h": 3})
make("bool", bool, T.BOOL, [False, True], [False, True], ANY + [("And", "And", "ab", {}, lambda a, b: a and b, EXACT, T.BOOL), ("Or", "Or", "ab", {}, lambda a, b: a or b, EXACT, T.BOOL),
     ("Xor", "Xor", "ab", {}, lambda a, b: a != b, EXACT, T.BOOL), ("Not", "Not", "x", {}, lambda x: not x, EXACT, T.BOOL)], {})
