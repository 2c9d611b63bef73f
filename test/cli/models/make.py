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
