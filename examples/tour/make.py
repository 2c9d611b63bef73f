"""Writes tour.onnx: three nodes, y = relu(x * scale + bias) over x[N, 8]. Needs the onnx package."""
import numpy as np
import onnx
from onnx import TensorProto as T, helper as H, numpy_helper as nh

weights = [nh.from_array(np.linspace(0.5, 1.5, 8, dtype=np.float32), "scale"), nh.from_array(np.linspace(-1, 1, 8, dtype=np.float32), "bias")]
nodes = [H.make_node("Mul", ["x", "scale"], ["scaled"], name="scaling"), H.make_node("Add", ["scaled", "bias"], ["shifted"], name="shift"),
         H.make_node("Relu", ["shifted"], ["y"], name="relu")]
graph = H.make_graph(nodes, "tour", [H.make_tensor_value_info("x", T.FLOAT, ["N", 8])], [H.make_tensor_value_info("y", T.FLOAT, ["N", 8])], weights)
model = H.make_model(graph, opset_imports=[H.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "tour.onnx")
