"""Models for docs/adding-an-operator.md and docs/adding-a-pass.md. Needs the onnx package."""
import onnx
from onnx import TensorProto as T, helper as H


def save(name, nodes, opsets):
    graph = H.make_graph(nodes, name, [H.make_tensor_value_info("x", T.FLOAT, ["N", 3])], [H.make_tensor_value_info("y", T.FLOAT, ["N", 3])])
    onnx.save(H.make_model(graph, opset_imports=[H.make_opsetid(d, v) for d, v in opsets], ir_version=8), name + ".onnx")


save("swoosh", [H.make_node("Swoosh", ["x"], ["y"], name="swoosh", domain="org.example")], [("", 17), ("org.example", 1)])
save("negations", [H.make_node("Neg", ["x"], ["a"], name="first"), H.make_node("Neg", ["a"], ["b"], name="second"), H.make_node("Exp", ["b"], ["y"], name="exp")], [("", 17)])
