"""Makes words.onnx: integer products whose columns end a few behind a whole vector, and windows with a stride and a dilation on a
padded axis. usage: python make_words.py FOLDER   (needs onnx and numpy)"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as H
from onnx import numpy_helper as N

draw = np.random.default_rng(7)
nodes, constants, inputs, outputs = [], [], [], []


def given(shape, kind=T.UINT8):
    inputs.append(H.make_tensor_value_info(f"x{len(inputs)}", kind, shape))
    return inputs[-1].name


def weights(shape):
    constants.append(N.from_array(draw.integers(-128, 128, shape).astype(np.int8), f"w{len(constants)}"))
    return constants[-1].name


def result(op, operands, **attributes):
    outputs.append(H.make_tensor_value_info(f"y{len(outputs)}", T.INT32, None))
    nodes.append(H.make_node(op, operands, [outputs[-1].name], name=f"{op}_{len(nodes)}", **attributes))


for columns in (9, 17, 18, 20, 33):
    result("MatMulInteger", [given([5, 7]), given([7, columns], T.INT8)])
for size in (7, 10):
    result("ConvInteger", [given([1, 4, size, size]), weights((16, 4, 1, 1))])
result("ConvInteger", [given([1, 4, 17]), weights((8, 4, 3))], strides=[2], dilations=[2], pads=[1, 1])
result("ConvInteger", [given([1, 5, 12, 13]), weights((8, 5, 3, 2))], strides=[3, 2], dilations=[2, 3], pads=[2, 1, 1, 2])
graph = H.make_graph(nodes, "words", inputs, outputs, constants)
onnx.save(H.make_model(graph, opset_imports=[H.make_opsetid("", 17)], ir_version=8), os.path.join(sys.argv[1], "words.onnx"))
