"""Makes weights.onnx: products with constant weights of float16 and bfloat16, for one row, three and nine, several of one operand, with denormal
numbers, infinities and NaN among the weights. usage: python make.py   (needs onnx, numpy and ml_dtypes)"""
import os

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as H

draw = np.random.default_rng(6)
TYPES = {"half": (T.FLOAT16, np.float16), "brain": (T.BFLOAT16, ml_dtypes.bfloat16)}
nodes, constants, inputs, outputs = [], [], [], []

for word, (code, dtype) in TYPES.items():
    for rows, depth, columns, count in ((1, 65, 150, 1), (3, 40, 33, 1), (9, 24, 40, 1), (1, 32, 48, 2)):
        name = f"{word}_{rows}_{columns}"
        inputs.append(H.make_tensor_value_info(f"x_{name}", code, [rows, depth]))
        for k in range(count):
            weights = (draw.standard_normal((depth, columns)) / 4).astype(dtype)
            weights[1, :4] = np.array([1e-6, 6e-8, 1e-39, 0], np.float32).astype(dtype)
            weights[2, 4:7] = np.array([np.inf, -np.inf, np.nan], np.float32).astype(dtype)
            constants.append(H.make_tensor(f"w_{name}_{k}", code, weights.shape, weights.tobytes(), raw=True))
            nodes.append(H.make_node("MatMul", [f"x_{name}", f"w_{name}_{k}"], [f"y_{name}_{k}"]))
            outputs.append(H.make_tensor_value_info(f"y_{name}_{k}", code, [rows, columns]))

graph = H.make_graph(nodes, "weights", inputs, outputs, constants)
model = H.make_model(graph, opset_imports=[H.make_opsetid("", 13)], ir_version=8)
onnx.checker.check_model(model)
onnx.save(model, os.path.join(os.path.dirname(os.path.abspath(__file__)), "weights.onnx"))
