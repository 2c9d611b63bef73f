"""Makes the cases of this folder: operators of ONNX Runtime and of ai.onnx.ml that the node tests of ONNX do not hold.

    python make.py [CASE…]

needs the packages onnx and onnxruntime. A case is a folder with model.onnx and test_data_set_0; ONNX Runtime's results are
what is expected. Inputs that decide shapes are constants of the model. Numbers come from a fixed seed.
"""
import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
MS, ML = "com.microsoft", "ai.onnx.ml"
TYPES = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "int8": TensorProto.INT8, "uint8": TensorProto.UINT8,
         "int32": TensorProto.INT32, "int64": TensorProto.INT64, "bool": TensorProto.BOOL, "float64": TensorProto.DOUBLE}
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


class Const:
    """An operand that is a constant of the model."""

    def __init__(self, value):
        self.value = np.asarray(value)


def save(name, op, domain, operands, outputs, **attributes):
    """operands: arrays (inputs), Const or None; outputs: (type, rank) or None for one that is left out."""
    inputs, constants, names, values = [], [], [], {}
    for k, operand in enumerate(operands):
        names.append("" if operand is None else f"i{k}")
        if isinstance(operand, Const):
            constants.append(numpy_helper.from_array(operand.value, f"i{k}"))
        elif operand is not None:
            inputs.append(helper.make_tensor_value_info(f"i{k}", TYPES[str(operand.dtype)], operand.shape))
            values[f"i{k}"] = operand
    results = [helper.make_tensor_value_info(f"o{k}", t[0], [None] * t[1]) for k, t in enumerate(outputs) if t]
    node = helper.make_node(op, names, ["" if t is None else f"o{k}" for k, t in enumerate(outputs)], domain=domain, name=op.lower(), **attributes)
    graph = helper.make_graph([node], name, inputs, results, constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(domain, 3 if domain == ML else 1)] if domain else [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found = session.run(None, values)
    folder = os.path.join(HERE, name, "test_data_set_0")
    os.makedirs(folder, exist_ok=True)
    onnx.save(model, os.path.join(HERE, name, "model.onnx"))
    for kind, tensors in (("input", [(i.name, values[i.name]) for i in inputs]), ("output", [(r.name, f) for r, f in zip(results, found)])):
        for k, (tensor_name, value) in enumerate(tensors):
            with open(os.path.join(folder, f"{kind}_{k}.pb"), "wb") as file:
                file.write(numpy_helper.from_array(np.asarray(value), tensor_name).SerializeToString())


F, I32, I64, U8, I8 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8, TensorProto.INT8


class Random:
    def __init__(self, seed):
        self.generator = np.random.default_rng(seed)

    def f(self, *shape, scale=1.0):
        return (self.generator.standard_normal(shape) * scale).astype(np.float32)

    def u8(self, *shape, low=0, high=256):
        return self.generator.integers(low, high, shape).astype(np.uint8)

    def i8(self, *shape, low=-128, high=128):
        return self.generator.integers(low, high, shape).astype(np.int8)

    def i(self, high, *shape, dtype=np.int32):
        return self.generator.integers(0, high, shape).astype(dtype)


def f32(value):
    return np.asarray(value, dtype=np.float32)


# ---- products ----

@case
def fused_gemm_relu(name):
    r = Random(1)
    save(name, "FusedGemm", MS, [r.f(3, 5), Const(r.f(4, 5)), r.f(4)], [(F, 2)], transB=1, alpha=0.5, beta=2.0, activation="Relu")


@case
def fused_gemm_leaky(name):
    r = Random(2)
    save(name, "FusedGemm", MS, [r.f(3, 5), r.f(5, 4), r.f(3, 1)], [(F, 2)], activation="LeakyRelu", activation_alpha=0.2)


@case
def transpose_matmul(name):
    r = Random(3)
    save(name, "TransposeMatMul", MS, [r.f(2, 5, 3), r.f(2, 4, 5)], [(F, 3)], transA=1, transB=1, alpha=1.5)


def nbits(name, bits, block, k, n, zero_points, bias=False, seed=4):
    r = Random(seed)
    blocks, size = (k + block - 1) // block, block * bits // 8
    points = None
    if zero_points == "packed":
        points = Const(r.u8(n * ((blocks * bits + 7) // 8)))
    elif zero_points == "float":
        points = Const(r.f(n * blocks, scale=3) + f32(8))
    operands = [r.f(2, 3, k), Const(r.u8(n, blocks, size)), Const(r.f(n * blocks, scale=0.1)), points, None, Const(r.f(n)) if bias else None]
    while operands[-1] is None:
        operands.pop()
    save(name, "MatMulNBits", MS, operands, [(F, 3)], K=k, N=n, bits=bits, block_size=block)


@case
def matmul_4bits(name):
    nbits(name, 4, 16, 40, 7, "packed")


@case
def matmul_4bits_symmetric(name):
    nbits(name, 4, 16, 32, 8, None, True)


@case
def matmul_4bits_float_points(name):
    nbits(name, 4, 16, 32, 8, "float")


@case
def matmul_8bits(name):
    nbits(name, 8, 16, 32, 8, "packed")


@case
def dynamic_quantize_matmul(name):
    r = Random(5)
    save(name, "DynamicQuantizeMatMul", MS, [r.f(3, 6), Const(r.i8(6, 5)), Const(f32(0.02)), Const(np.asarray(3, np.int8)), Const(r.f(5))], [(F, 2)])


@case
def dynamic_quantize_matmul_columns(name):
    r = Random(6)
    save(name, "DynamicQuantizeMatMul", MS, [r.f(2, 3, 6), Const(r.u8(6, 5)), Const(np.abs(r.f(5)) * f32(0.02)), Const(r.u8(5))], [(F, 3)])


@case
def qgemm(name):
    r = Random(7)
    save(name, "QGemm", MS, [r.u8(3, 6), f32(0.02), np.asarray(120, np.uint8), Const(r.i8(5, 6)), Const(f32(0.03)), Const(np.asarray(2, np.int8)), Const(r.i(400, 5)),
                             Const(f32(0.11)), Const(np.asarray(117, np.uint8))], [(U8, 2)], transB=1, alpha=1.25)


@case
def qgemm_float(name):
    r = Random(8)
    save(name, "QGemm", MS, [r.u8(3, 6), f32(0.02), np.asarray(120, np.uint8), Const(r.i8(6, 5)), Const(f32([0.03, 0.01, 0.02, 0.05, 0.04])), Const(np.zeros(5, np.int8)), Const(r.i(400, 5))], [(F, 2)])


# ---- quantised element-wise operators ----

def point(value, dtype=np.uint8):
    return Const(np.asarray(value, dtype))


@case
def qlinear_add(name):
    r = Random(10)
    save(name, "QLinearAdd", MS, [r.u8(3, 4), Const(f32(0.031)), point(120), r.u8(4), Const(f32(0.017)), point(7), Const(f32(0.041)), point(100)], [(U8, 2)])


@case
def qlinear_mul(name):
    r = Random(11)
    save(name, "QLinearMul", MS, [r.i8(3, 4), Const(f32(0.031)), point(-5, np.int8), r.i8(3, 1), Const(f32(0.017)), point(7, np.int8), Const(f32(0.053)), point(3, np.int8)], [(I8, 2)])


@case
def qlinear_concat(name):
    r = Random(12)
    save(name, "QLinearConcat", MS, [Const(f32(0.05)), point(110), r.u8(2, 3), Const(f32(0.03)), point(120), r.u8(2, 2), Const(f32(0.05)), point(110), r.u8(2, 1), Const(f32(0.09)), point(0)],
         [(U8, 2)], axis=1)


@case
def qlinear_leaky_relu(name):
    r = Random(13)
    save(name, "QLinearLeakyRelu", MS, [r.i8(3, 20), Const(f32(0.03)), point(4, np.int8), Const(f32(0.021)), point(-10, np.int8)], [(I8, 2)], alpha=0.1)


@case
def qlinear_sigmoid(name):
    r = Random(14)
    save(name, "QLinearSigmoid", MS, [r.u8(3, 20), Const(f32(0.03)), point(128), Const(f32(1 / 256)), point(0)], [(U8, 2)])


@case
def qlinear_softmax(name):
    r = Random(15)
    save(name, "QLinearSoftmax", MS, [r.u8(3, 20), Const(f32(0.05)), point(128), Const(f32(1 / 256)), point(0)], [(U8, 2)], axis=-1, opset=13)


@case
def qlinear_softmax_flat(name):
    r = Random(16)
    save(name, "QLinearSoftmax", MS, [r.i8(2, 3, 5), Const(f32(0.05)), point(3, np.int8), Const(f32(1 / 256)), point(-128, np.int8)], [(I8, 3)], axis=1, opset=11)


@case
def qlinear_average_pool(name):
    r = Random(17)
    save(name, "QLinearAveragePool", MS, [r.u8(1, 2, 5, 6), Const(f32(0.03)), point(120), Const(f32(0.04)), point(100)], [(U8, 4)], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])


@case
def qlinear_average_pool_with_pad(name):
    r = Random(18)
    save(name, "QLinearAveragePool", MS, [r.i8(1, 2, 5, 6), Const(f32(0.03)), point(-20, np.int8), Const(f32(0.04)), point(10, np.int8)], [(I8, 4)], kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)


@case
def qlinear_average_pool_short(name):
    r = Random(86)
    save(name, "QLinearAveragePool", MS, [r.u8(1, 2, 2, 1), Const(f32(0.03)), point(120), Const(f32(0.04)), point(100)], [(U8, 4)], kernel_shape=[3, 2], strides=[2, 3], ceil_mode=1)


@case
def qlinear_global_average_pool(name):
    r = Random(19)
    save(name, "QLinearGlobalAveragePool", MS, [r.u8(2, 3, 4, 5), Const(f32(0.03)), point(120), Const(f32(0.02)), point(100)], [(U8, 4)])


# ---- attention ----

@case
def embed_layer_norm(name):
    r = Random(20)
    save(name, "EmbedLayerNormalization", MS, [r.i(7, 2, 4), r.i(2, 2, 4), Const(r.f(7, 8)), Const(r.f(5, 8)), Const(r.f(2, 8)), Const(r.f(8)), Const(r.f(8)), np.asarray([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)],
         [(F, 3), (I32, 1), (F, 3)], epsilon=1e-12)


@case
def embed_layer_norm_positions(name):
    r = Random(21)
    save(name, "EmbedLayerNormalization", MS, [r.i(7, 2, 4), None, Const(r.f(7, 8)), Const(r.f(5, 8)), None, Const(r.f(8)), Const(r.f(8)), None, r.i(5, 2, 4)], [(F, 3), (I32, 1)])


def self_attention(name, seed, mask=None, past=None, bias=None, outputs=1, **attributes):
    r = Random(seed)
    hidden, heads, batch, length = 8, 2, 2, 3
    kept = None if past is None else r.f(2, batch, heads, past, hidden // heads)
    sizes = attributes.get("qkv_hidden_sizes", [hidden] * 3)
    operands = [r.f(batch, length, hidden), Const(r.f(hidden, sum(sizes), scale=0.3)), Const(r.f(sum(sizes))), mask, kept, bias]
    while operands[-1] is None:
        operands.pop()
    save(name, "Attention", MS, operands, [(F, 3), (F, 5)][:outputs], num_heads=heads, **attributes)


@case
def ms_attention(name):
    self_attention(name, 30)


@case
def ms_attention_raw_mask(name):
    self_attention(name, 31, np.asarray([[1, 1, 0], [1, 1, 1]], np.int32))


@case
def ms_attention_lengths(name):
    self_attention(name, 32, np.asarray([2, 3], np.int32))


@case
def ms_attention_causal(name):
    self_attention(name, 33, unidirectional=1)


@case
def ms_attention_causal_past(name):
    self_attention(name, 34, past=2, outputs=2, unidirectional=1)


@case
def ms_attention_3d_mask(name):
    self_attention(name, 35, np.asarray([[[1, 1, 0], [1, 1, 1], [0, 1, 1]], [[1, 0, 0], [1, 1, 0], [1, 1, 1]]], np.int32))


@case
def ms_attention_bias_and_sizes(name):
    self_attention(name, 36, bias=Random(37).f(2, 2, 3, 3), qkv_hidden_sizes=[8, 8, 12], scale=0.4)


def multi_head(name, seed, operands, outputs=1, **attributes):
    save(name, "MultiHeadAttention", MS, operands(Random(seed)), [(F, 3), (F, 4), (F, 4)][:outputs], num_heads=2, **attributes)


@case
def mha(name):
    multi_head(name, 40, lambda r: [r.f(2, 3, 8), r.f(2, 4, 8), r.f(2, 4, 8)])


@case
def mha_bias_mask(name):
    multi_head(name, 41, lambda r: [r.f(2, 3, 8), r.f(2, 4, 8), r.f(2, 4, 12), r.f(28), np.asarray([[1, 1, 0, 1], [1, 1, 1, 0]], np.int32)])


@case
def mha_past(name):
    multi_head(name, 44, lambda r: [r.f(2, 1, 8), r.f(2, 1, 8), r.f(2, 1, 8), None, None, r.f(1, 2, 1, 5), r.f(2, 2, 4, 4), r.f(2, 2, 4, 4)], 3, unidirectional=1)


@case
def mha_cross(name):
    multi_head(name, 45, lambda r: [r.f(2, 3, 8), r.f(2, 2, 4, 4), r.f(2, 2, 4, 4)], scale=0.3)


def grouped(name, seed, length, past, total, lengths, batch=2, heads=4, kv=2, size=8, packed=False, rotary=False, bias=False, sink=False, **attributes):
    r = Random(seed)
    q = r.f(batch, length, (heads + 2 * kv) * size) if packed else r.f(batch, length, heads * size)
    k, v = (None, None) if packed else (r.f(batch, length, kv * size), r.f(batch, length, kv * size))
    kept = [r.f(batch, kv, past, size), r.f(batch, kv, past, size)] if past is not None else [None, None]
    caches = [Const(r.f(16, size // 2)), Const(r.f(16, size // 2))] if rotary else [None, None]
    operands = [q, k, v, *kept, np.asarray(lengths, np.int32), Const(np.asarray(total, np.int32)), *caches, None, r.f(batch, 1, length, total) if bias else None, Const(r.f(heads)) if sink else None]
    while operands[-1] is None:
        operands.pop()
    save(name, "GroupQueryAttention", MS, operands, [(F, 3), (F, 4), (F, 4)], num_heads=heads, kv_num_heads=kv, **attributes, **({"do_rotary": 1} if rotary else {}))


@case
def gqa_prompt(name):
    grouped(name, 50, 4, None, 4, [3, 3])


@case
def gqa_decode(name):
    grouped(name, 51, 1, 6, 5, [4, 3])


@case
def gqa_decode_grows(name):
    grouped(name, 52, 1, 4, 5, [4, 4], heads=2, kv=1, size=16, rotary=True, packed=True)


@case
def gqa_rotary_prompt(name):
    grouped(name, 53, 4, None, 4, [3, 3], heads=2, kv=1, size=16, rotary=True, rotary_interleaved=1, softcap=2.0)


@case
def gqa_window(name):
    grouped(name, 54, 6, None, 6, [5, 5], local_window_size=2)


@case
def gqa_smooth_bias(name):
    grouped(name, 55, 4, None, 4, [3, 3], smooth_softmax=1, bias=True)


@case
def gqa_sink(name):
    grouped(name, 56, 4, None, 4, [3, 3], sink=True, scale=0.2)


@case
def ms_rotary_embedding(name):
    r = Random(60)
    save(name, "RotaryEmbedding", MS, [r.f(2, 3, 16), Const(np.asarray([2], np.int64)), Const(r.f(8, 4)), Const(r.f(8, 4))], [(F, 3)])


@case
def ms_rotary_embedding_partial(name):
    r = Random(61)
    save(name, "RotaryEmbedding", MS, [r.f(2, 2, 3, 8), r.i(8, 2, 3, dtype=np.int64), Const(r.f(8, 2)), Const(r.f(8, 2))], [(F, 4)], num_heads=2, rotary_embedding_dim=4, interleaved=1)


@case
def qattention(name):
    r = Random(65)
    save(name, "QAttention", MS, [r.u8(2, 3, 8), Const(r.i8(8, 24)), Const(r.f(24)), Const(f32(0.02)), Const(f32(0.01)), np.asarray([[1, 1, 0], [1, 1, 1]], np.int32), point(120), point(3, np.int8)], [(F, 3)], num_heads=2)


# ---- ai.onnx.ml ----

@case
def ml_scaler(name):
    save(name, "Scaler", ML, [Random(70).f(3, 4)], [(F, 2)], offset=[0.5, 1.0, -1.0, 2.0], scale=[2.0, 0.5, 1.5, 3.0])


@case
def ml_scaler_integers(name):
    save(name, "Scaler", ML, [Random(71).i(9, 3, 4, dtype=np.int64)], [(F, 2)], offset=[0.5], scale=[2.0])


@case
def ml_normalizer_max(name):
    save(name, "Normalizer", ML, [Random(72).f(3, 4)], [(F, 2)], norm="MAX")


@case
def ml_normalizer_l1(name):
    save(name, "Normalizer", ML, [Random(73).f(3, 4)], [(F, 2)], norm="L1")


@case
def ml_normalizer_l2(name):
    save(name, "Normalizer", ML, [Random(74).f(4)], [(F, 1)], norm="L2")


@case
def ml_imputer(name):
    x = Random(75).f(3, 4)
    x[0, 1] = x[2, 2] = np.nan
    save(name, "Imputer", ML, [x], [(F, 2)], imputed_value_floats=[1.0, 2.0, 3.0, 4.0], replaced_value_float=float("nan"))


@case
def ml_imputer_integers(name):
    save(name, "Imputer", ML, [Random(76).i(3, 3, 4, dtype=np.int64)], [(I64, 2)], imputed_value_int64s=[7], replaced_value_int64=1)


@case
def ml_binarizer(name):
    save(name, "Binarizer", ML, [Random(77).f(3, 4)], [(F, 2)], threshold=0.25)


@case
def ml_linear_regressor(name):
    r = Random(78)
    save(name, "LinearRegressor", ML, [r.f(3, 4)], [(F, 2)], coefficients=r.f(8).tolist(), intercepts=r.f(2).tolist(), targets=2)


@case
def ml_linear_classifier(name):
    r = Random(79)
    save(name, "LinearClassifier", ML, [r.f(5, 4)], [(I64, 1), (F, 2)], coefficients=r.f(12).tolist(), intercepts=r.f(3).tolist(), classlabels_ints=[3, 7, 9], post_transform="SOFTMAX", multi_class=1)


@case
def ml_linear_classifier_binary(name):
    r = Random(80)
    save(name, "LinearClassifier", ML, [r.f(5, 4)], [(I64, 1), (F, 2)], coefficients=r.f(4).tolist(), intercepts=r.f(1).tolist(), classlabels_ints=[0, 1], post_transform="LOGISTIC")


@case
def ml_linear_classifier_raw(name):
    r = Random(90)
    save(name, "LinearClassifier", ML, [r.f(5, 4)], [(I64, 1), (F, 2)], coefficients=r.f(4).tolist(), intercepts=r.f(1).tolist(), classlabels_ints=[4, 1])


@case
def ml_linear_classifier_softmax_zero(name):
    r = Random(91)
    save(name, "LinearClassifier", ML, [r.f(5, 4)], [(I64, 1), (F, 2)], coefficients=r.f(12).tolist(), intercepts=r.f(3).tolist(), classlabels_ints=[0, 1, 2], post_transform="SOFTMAX_ZERO")


@case
def ml_label_encoder(name):
    save(name, "LabelEncoder", ML, [Random(81).i(6, 3, 4, dtype=np.int64)], [(F, 2)], keys_int64s=[1, 2, 5], values_floats=[0.5, 2.5, -1.0], default_float=9.0)


@case
def ml_one_hot_encoder(name):
    save(name, "OneHotEncoder", ML, [Random(82).i(5, 3, 2, dtype=np.int64)], [(F, 3)], cats_int64s=[0, 2, 3], zeros=1)


@case
def ml_feature_vectorizer(name):
    r = Random(83)
    save(name, "FeatureVectorizer", ML, [r.f(3, 2), r.f(3, 3)], [(F, 2)], inputdimensions=[2, 3])


@case
def ml_svm_regressor(name):
    r = Random(84)
    save(name, "SVMRegressor", ML, [r.f(3, 4)], [(F, 2)], coefficients=r.f(5).tolist(), support_vectors=r.f(20).tolist(), rho=[0.3], kernel_type="RBF", kernel_params=[0.4, 0.0, 3.0], n_supports=5)


@case
def ml_svm_regressor_linear(name):
    r = Random(85)
    save(name, "SVMRegressor", ML, [r.f(3, 4)], [(F, 2)], coefficients=r.f(4).tolist(), rho=[0.3], kernel_type="LINEAR", kernel_params=[0.0, 0.0, 3.0], n_supports=0)


if __name__ == "__main__":
    for wanted in sys.argv[1:] or CASES:
        try:
            CASES[wanted](wanted)
        except Exception as problem:
            print(f"{wanted}: {str(problem)[:300]}")
