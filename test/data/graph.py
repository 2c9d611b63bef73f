"""What the generators of this folder's models share: nodes in a row, named after their operators, and a checked model in opset 17 or another."""
import os

import onnx
from onnx import TensorProto as T
from onnx import helper as H


class Graph:
    def __init__(self, name, opset=17):
        self.name, self.opset, self.nodes, self.weights, self.inputs, self.count = name, opset, [], [], [], 0

    def input(self, name, *dims, dtype=T.FLOAT):
        self.inputs.append(H.make_tensor_value_info(name, dtype, dims))
        return name

    def op(self, kind, *inputs, **attributes):
        self.count += 1
        name = f"{kind}_{self.count}"
        self.nodes.append(H.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def write(self, folder, outputs, dtypes=()):
        """dtypes: name of an output → its element type, where that is not float32"""
        results = [H.make_tensor_value_info(o, dict(dtypes).get(o, T.FLOAT), None) for o in outputs]
        graph = H.make_graph(self.nodes, self.name, self.inputs, results, self.weights)
        model = H.make_model(graph, opset_imports=[H.make_opsetid("", self.opset)], ir_version=8, producer_name="")
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
        onnx.checker.check_model(model)
        onnx.save(model, os.path.join(folder, self.name + ".onnx"))
