"""Makes the cases of this folder: operators of ai.onnx.ml in their variants, and strings that are moved, cast and cut.

    python make.py [CASE…]

needs the packages onnx and onnxruntime. A case is a folder with model.onnx and test_data_set_0; ONNX Runtime's results are
what is expected. Numbers come from a fixed seed. Left out is what ONNX Runtime leaves undefined (PROBIT of one score for two
classes) or does unlike ONNX's own text (keys that are NaN, empty strings that are split).
"""
import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
ML = "ai.onnx.ml"
F, D, I, I32, I16, S, B, H = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.INT32, TensorProto.INT16, TensorProto.STRING, TensorProto.BOOL, TensorProto.FLOAT16)
TYPES = {"float32": F, "float64": D, "int64": I, "int32": I32, "int16": I16, "bool": B, "float16": H, "uint8": TensorProto.UINT8}
random = np.random.default_rng(0)


def numbers(*shape):
    return random.standard_normal(shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


def proto(array, name):
    array = np.asarray(array)
    return numpy_helper.from_array(array.astype(object) if array.dtype.kind in "UO" else array, name)


def case(name, op, operands, outputs, domain="", version=3, constants=(), **attributes):
    """operands: arrays; those whose positions are in `constants` are constants of the model. outputs: (type, rank)."""
    inputs, initializers, given = [], [], {}
    for k, operand in enumerate(operands):
        array = np.asarray(operand)
        if k in constants:
            initializers.append(proto(array, f"i{k}"))
            continue
        dtype = S if array.dtype.kind == "U" else TYPES[str(array.dtype)]
        inputs.append(helper.make_tensor_value_info(f"i{k}", dtype, [None] * array.ndim if domain else array.shape))
        given[f"i{k}"] = array.astype(object) if dtype == S else array
    node = helper.make_node(op, [f"i{k}" for k in range(len(operands))], [f"o{k}" for k in range(len(outputs))], domain=domain, name=op.lower(), **attributes)
    results = [helper.make_tensor_value_info(f"o{k}", t, [None] * rank) for k, (t, rank) in enumerate(outputs)]
    graph = helper.make_graph([node], name, inputs, results, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid(ML, version)], ir_version=9)
    if sys.argv[1:] and name not in sys.argv[1:]:
        return
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    found = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, given)
    folder = os.path.join(HERE, name, "test_data_set_0")
    os.makedirs(folder, exist_ok=True)
    onnx.save(model, os.path.join(HERE, name, "model.onnx"))
    for kind, tensors in (("input", list(given.items())), ("output", [(r.name, v) for r, v in zip(results, found)])):
        for k, (tensor_name, value) in enumerate(tensors):
            with open(os.path.join(folder, f"{kind}_{k}.pb"), "wb") as file:
                file.write(proto(value, tensor_name).SerializeToString())


def ml(name, op, operands, outputs, **attributes):
    case(name, op, operands, outputs, domain=ML, **attributes)


X = numbers(5, 4)
WORDS = np.array([["a", "b"], ["c", "zz"], ["", "b"]])
ROW = np.array(["b", "a", "q", "a", ""])
ALL = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")


def scalers():
    for dtype in ("float32", "float64", "int64", "int32"):
        x = (X * (10 if dtype[0] == "i" else 1)).astype(dtype)
        ml(f"scaler_{dtype}", "Scaler", [x], [(F, 2)], offset=[0.5, 1, 2, -1], scale=[2.0, 0.5, 1, 3])
        ml(f"normalizer_{dtype}", "Normalizer", [x], [(F, 2)], norm={"float32": "L2", "float64": "MAX", "int64": "L1", "int32": "L2"}[dtype])
    missing = X.copy()
    missing[0, 1] = missing[2, 2] = np.nan
    ml("imputer_nan", "Imputer", [missing], [(F, 2)], imputed_value_floats=[1.0, 2, 3, 4], replaced_value_float=float("nan"))
    ml("imputer_int", "Imputer", [ints([1, -1], [2, 3])], [(I, 2)], imputed_value_int64s=[5, 6], replaced_value_int64=-1)
    ml("features", "FeatureVectorizer", [(X * 5).astype(np.int64), (X * 5).astype(np.int64)], [(F, 2)], inputdimensions=[3, 4])
    for dtype, x, t in (("string", WORDS, S), ("int64", (X * 9).astype(np.int64), I), ("float64", X.astype(np.float64), D)):
        ml(f"extractor_{dtype}", "ArrayFeatureExtractor", [x, ints([1, 0])], [(t, 2)])


def linear():
    for post in ALL + ("PROBIT",):
        few = numbers(12).tolist()
        ml(f"linear_classifier_{post}", "LinearClassifier", [X], [(S, 1), (F, 2)], coefficients=few, intercepts=[0.1, 0.2, 0.3], classlabels_strings=["x", "yy", "z"], post_transform=post)
        if post == "PROBIT":
            ml("linear_regressor_PROBIT", "LinearRegressor", [np.abs(X) * np.float32(0.1) + np.float32(0.2)], [(F, 2)], coefficients=[0.1] * 12, intercepts=[0.1, 0.2, 0.3], targets=3, post_transform=post)
            continue
        ml(f"linear_regressor_{post}", "LinearRegressor", [X], [(F, 2)], coefficients=few, intercepts=[0.1, 0.2, 0.3], targets=3, post_transform=post)
        ml(f"linear_classifier_one_score_{post}", "LinearClassifier", [X], [(S, 1), (F, 2)], coefficients=numbers(4).tolist(), intercepts=[0.1], classlabels_strings=["no", "yes"], post_transform=post)


def vectors():
    for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        three = dict(kernel_type=kernel, kernel_params=[0.3, 0.1, 2.0], support_vectors=numbers(24).tolist(), vectors_per_class=[2, 1, 3], coefficients=numbers(12).tolist(), rho=[0.1, -0.2, 0.3])
        two = dict(kernel_type=kernel, kernel_params=[0.3, 0.1, 2.0], support_vectors=numbers(20).tolist(), vectors_per_class=[2, 3], coefficients=numbers(5).tolist(), rho=[0.1])
        ml(f"svm_regressor_{kernel}", "SVMRegressor", [X], [(F, 2)], kernel_type=kernel, kernel_params=[0.3, 0.1, 2.0], coefficients=numbers(3).tolist(), support_vectors=numbers(12).tolist(), n_supports=3, rho=[0.2])
        ml(f"svm_three_{kernel}", "SVMClassifier", [X], [(S, 1), (F, 2)], classlabels_strings=["a", "b", "c"], **three)
        ml(f"svm_two_{kernel}", "SVMClassifier", [X], [(I, 1), (F, 2)], classlabels_ints=[3, 5], **two)
        ml(f"svm_three_probabilities_{kernel}", "SVMClassifier", [X], [(I, 1), (F, 2)], classlabels_ints=[3, 5, 8], prob_a=[0.5, -0.4, 0.3], prob_b=[0.1, 0.2, -0.1], **three)
    for post in ALL:
        ml(f"svm_two_{post}", "SVMClassifier", [X], [(S, 1), (F, 2)], classlabels_strings=["a", "b"], post_transform=post, **two)
        ml(f"svm_three_{post}", "SVMClassifier", [X], [(I, 1), (F, 2)], classlabels_ints=[3, 5, 8], post_transform=post, **three)
        ml(f"svm_two_probabilities_{post}", "SVMClassifier", [X], [(I, 1), (F, 2)], classlabels_ints=[3, 5], prob_a=[0.5], prob_b=[0.1], post_transform=post, **two)


def trees(kind, targets, weight=lambda: float(random.standard_normal())):
    """Two small trees with a weight for each target at each leaf."""
    leaves = [(0, 2), (0, 3), (0, 4), (1, 1), (1, 2)]
    weights = [(tree, node, target, weight()) for tree, node in leaves for target in range(targets)]
    nodes = dict(
        nodes_treeids=[0] * 5 + [1] * 3, nodes_nodeids=[0, 1, 2, 3, 4, 0, 1, 2], nodes_featureids=[0, 1, 0, 0, 0, 2, 0, 0], nodes_values=[0.1, -0.2, 0, 0, 0, 0.3, 0, 0],
        nodes_modes=["BRANCH_LEQ", "BRANCH_GT", "LEAF", "LEAF", "LEAF", "BRANCH_LT", "LEAF", "LEAF"], nodes_truenodeids=[1, 3, 0, 0, 0, 1, 0, 0], nodes_falsenodeids=[2, 4, 0, 0, 0, 2, 0, 0],
        nodes_hitrates=[1.0] * 8, nodes_missing_value_tracks_true=[0] * 8)
    for k, column in enumerate(("treeids", "nodeids", "ids", "weights")):
        nodes[f"{kind}_{column}"] = [w[k] for w in weights]
    return nodes


def forests():
    for post in ALL:
        ml(f"trees_three_{post}", "TreeEnsembleClassifier", [X], [(S, 1), (F, 2)], classlabels_strings=["a", "b", "c"], post_transform=post, **trees("class", 3))
        ml(f"trees_two_{post}", "TreeEnsembleClassifier", [X], [(S, 1), (F, 2)], classlabels_strings=["a", "b"], post_transform=post, **trees("class", 1))
        ml(f"trees_two_positive_{post}", "TreeEnsembleClassifier", [X], [(I, 1), (F, 2)], classlabels_int64s=[3, 5], post_transform=post, **trees("class", 1, lambda: float(random.random()) * 0.3))
        ml(f"trees_regressor_{post}", "TreeEnsembleRegressor", [X], [(F, 2)], n_targets=2, post_transform=post, base_values=[0.5, 0.1], **trees("target", 2))
    for aggregate in ("AVERAGE", "MIN", "MAX"):
        ml(f"trees_regressor_{aggregate}", "TreeEnsembleRegressor", [X.astype(np.float64)], [(F, 2)], n_targets=2, aggregate_function=aggregate, **trees("target", 2))


def encoders():
    ml("label_string_int", "LabelEncoder", [WORDS], [(I, 2)], keys_strings=["a", "b", "a"], values_int64s=[1, 2, 3], default_int64=-5)
    ml("label_string_float", "LabelEncoder", [WORDS], [(F, 2)], keys_strings=["a", "b"], values_floats=[1.5, 2.0], default_float=0.25)
    ml("label_string_string", "LabelEncoder", [WORDS], [(S, 2)], keys_strings=["a", "b"], values_strings=["A", "B"])
    ml("label_int_string", "LabelEncoder", [ints(1, 2, 9, 1)], [(S, 1)], keys_int64s=[1, 2], values_strings=["one", "two"], default_string="?")
    ml("label_float_string", "LabelEncoder", [np.array([1.5, -0.0, 9], np.float32)], [(S, 1)], keys_floats=[1.5, 0.0], values_strings=["one", "zero"])
    ml("label_int_float", "LabelEncoder", [ints(1, 2, 9, 1)], [(F, 1)], keys_int64s=[1, 2], values_floats=[0.5, 0.25])
    ml("label_1_string", "LabelEncoder", [WORDS], [(I, 2)], version=1, classes_strings=["a", "b", "zz"], default_int64=77)
    ml("label_1_int", "LabelEncoder", [ints([0, 2, 5])], [(S, 2)], version=1, classes_strings=["a", "b", "zz"], default_string="dd")
    ml("label_4_tensors", "LabelEncoder", [WORDS], [(I16, 2)], version=4, keys_strings=["a", "b"], values_tensor=proto(np.array([1, 2], np.int16), "v"), default_tensor=proto(np.array([9], np.int16), "d"))
    ml("one_hot_strings", "OneHotEncoder", [WORDS], [(F, 3)], cats_strings=["a", "b", "c"], zeros=1)
    ml("mapper_string", "CategoryMapper", [WORDS], [(I, 2)], cats_strings=["a", "zz"], cats_int64s=[10, 20], default_int64=-7)
    ml("mapper_int", "CategoryMapper", [ints([10, 5])], [(S, 2)], cats_strings=["a", "zz"], cats_int64s=[10, 20], default_string="D")


def casts():
    odd = np.array([1.5, -2, 3e10, 1e-7, 0, -0.0, 123456.789, np.inf, -np.inf, np.nan, 1 / 3], np.float32)
    case("cast_float_string", "Cast", [odd], [(S, 1)], to=S)
    case("cast_half_string", "Cast", [np.array([1.5, -2, 1e-7, 1 / 3], np.float16)], [(S, 1)], to=S)
    case("cast_int_string", "Cast", [ints(1, -5, 2**62)], [(S, 1)], to=S)
    case("cast_bool_string", "Cast", [np.array([True, False])], [(S, 1)], to=S)
    case("cast_string_float", "Cast", [np.array(["1.5", "-2", "1e5", "0.25", "NaN", "INF", "-INF", "+INF", " 3"])], [(F, 1)], to=F)
    case("cast_string_double", "Cast", [np.array(["1.5", "-2", "1e300"])], [(D, 1)], to=D)
    case("cast_string_int", "Cast", [np.array(["15", "-2", "900719925474099"])], [(I, 1)], to=I)


def moves():
    case("move_gather", "Gather", [ROW, ints(1, -1, 0)], [(S, 1)], axis=0)
    case("move_gather_elements", "GatherElements", [WORDS, ints([0, 1], [1, 0], [2, 2])], [(S, 2)], axis=0)
    case("move_gather_nd", "GatherND", [WORDS, ints([0, 1], [2, 0])], [(S, 1)])
    case("move_reshape", "Reshape", [WORDS, ints(2, 3)], [(S, 2)], constants={1})
    case("move_transpose", "Transpose", [WORDS], [(S, 2)])
    case("move_concat", "Concat", [WORDS, WORDS], [(S, 2)], axis=1)
    case("move_slice", "Slice", [WORDS, ints(2), ints(0), ints(0), ints(-1)], [(S, 2)], constants={1, 2, 3, 4})
    case("move_where", "Where", [np.array([[True], [False], [True]]), WORDS, WORDS[::-1].copy()], [(S, 2)])
    case("move_expand", "Expand", [ROW, ints(2, 5)], [(S, 2)], constants={1})
    case("move_tile", "Tile", [WORDS, ints(1, 2)], [(S, 2)], constants={1})
    case("move_split", "Split", [WORDS], [(S, 2), (S, 2)], axis=1, num_outputs=2)
    case("move_compress", "Compress", [WORDS, np.array([True, False, True])], [(S, 2)], axis=0)
    case("move_scatter_elements", "ScatterElements", [WORDS, ints([0, 1]), np.array([["N", "M"]])], [(S, 2)], axis=0)
    case("move_scatter_nd", "ScatterND", [WORDS, ints([1]), np.array([["N", "M"]])], [(S, 2)])
    case("move_unique", "Unique", [ROW], [(S, 1), (I, 1), (I, 1), (I, 1)])
    case("move_unique_unsorted", "Unique", [ROW], [(S, 1)], sorted=0)
    case("text_equal", "Equal", [WORDS, np.array("b")], [(B, 2)])
    case("text_concat", "StringConcat", [WORDS, np.array(["1", "2"])], [(S, 2)])
    for name, attributes in (("space", {}), ("comma", dict(delimiter=",")), ("comma_space", dict(delimiter=", ")), ("twice", dict(delimiter=",", maxsplit=2))):
        case(f"text_split_{name}", "StringSplit", [np.array([["a,b, c", "  x  y z "], ["q", ",,"]])], [(S, 3), (I, 2)], **attributes)
    subjects = np.array(["a", "aab", "abcd", "12-ab", "1234-a", "xyz", "foo x", " q ", "HeLLo you", "hello", "aaa", "ééé", ".*[", ""])
    patterns = [r"a+b?", r"(ab|cd)*", r"\d{2,3}-\w+", r"[^abc]+", r".*x$", r"^\s*\S+\s*$", r"(?i)hello\b.*", r"[[:alpha:]]+", r"a{3}", r"é+", r"\.\*\[", r"(?:a|b?)(?P<n>c|d)?.{0,2}"]
    for k, pattern in enumerate(patterns):
        case(f"text_match_{k}", "RegexFullMatch", [subjects], [(B, 1)], pattern=pattern)


for family in (scalers, linear, vectors, forests, encoders, casts, moves):
    family()
