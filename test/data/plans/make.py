"""Models for the dynamic programme beside the greedy plan (test/unit/fuse_programme.c). Writes them beside itself."""
import os

from onnx import TensorProto, helper, save

HERE = os.path.dirname(os.path.abspath(__file__))


def tensor(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def write(name, nodes, inputs, outputs):
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [-1])
    graph = helper.make_graph(nodes, name, inputs, outputs, [axes] if any("axes" in node.input for node in nodes) else [])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    save(model, os.path.join(HERE, name + ".onnx"))


def centred(name, columns):
    """A row's mean taken off in front of a product: with the mean in one nest, or while the product reads its operand."""
    write(name,
          [helper.make_node("ReduceMean", ["x", "axes"], ["m"], name="mean"), helper.make_node("Sub", ["x", "m"], ["y"], name="centre"),
           helper.make_node("MatMul", ["y", "w"], ["z"], name="product")],
          [tensor("x", 512, 512), tensor("w", 512, columns)], [tensor("z", 512, columns)])


centred("centred_small", 64)  # the factor stays in the cache: all three in blocks of rows
centred("centred_large", 512)
# products that have nothing to do with each other: each subset of them is a down-set
write("wide", [helper.make_node("MatMul", [f"x{i}", "w"], [f"y{i}"], name=f"product{i}") for i in range(15)],
      [tensor("w", 8, 8)] + [tensor(f"x{i}", 8, 8) for i in range(15)], [tensor(f"y{i}", 8, 8) for i in range(15)])
