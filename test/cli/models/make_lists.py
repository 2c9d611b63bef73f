"""Makes the models of strings, sequences and optionals beside this file. Needs the package onnx."""
import os

import onnx
from onnx import TensorProto as T, helper as h

HERE = os.path.dirname(os.path.abspath(__file__))


def info(name, dtype, shape=None):
    return h.make_tensor_value_info(name, dtype, shape)


def sequence(name, dtype, shape=None):
    return h.make_value_info(name, h.make_sequence_type_proto(h.make_tensor_type_proto(dtype, shape)))


def optional(name, inner):
    return h.make_value_info(name, h.make_optional_type_proto(inner))


def save(name, nodes, inputs, outputs, constants=()):
    graph = h.make_graph(nodes, name, inputs, outputs, constants)
    opsets = [h.make_opsetid("", 20), h.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(h.make_model(graph, opset_imports=opsets, ir_version=9, producer_name=""), os.path.join(HERE, name + ".onnx"))


def strings(name, values):
    return h.make_tensor(name, T.STRING, [len(values)], values)


def node(op, inputs, outputs, **attributes):
    return h.make_node(op, inputs, outputs, name=outputs[0], **attributes)


def texts():
    nodes = [
        node("StringSplit", ["x"], ["parts", "counts"]),
        node("StringConcat", ["x", "mark"], ["marked"]),
        node("Gather", ["parts", "first"], ["head"], axis=1),
        node("RegexFullMatch", ["head"], ["capital"], pattern="[A-Z]\\w*"),
        node("LabelEncoder", ["head"], ["number"], domain="ai.onnx.ml", keys_strings=["a", "The"], values_int64s=[1, 2], default_int64=9),
    ]
    outputs = [info("parts", T.STRING, [None, None]), info("counts", T.INT64, [None]), info("marked", T.STRING, [None]), info("capital", T.BOOL, [None]), info("number", T.INT64, [None])]
    save("texts", nodes, [info("x", T.STRING, ["N"])], outputs, [strings("mark", ["!"]), h.make_tensor("first", T.INT64, [], [0])])


def lists():
    nodes = [
        node("SequenceInsert", ["s", "x"], ["longer"]),
        node("SequenceAt", ["longer", "k"], ["element"]),
        node("ConcatFromSequence", ["longer"], ["joined"], axis=0),
        node("ReduceSum", ["joined", "rows"], ["total"], keepdims=0),
        node("SequenceLength", ["longer"], ["length"]),
        node("OptionalHasElement", ["o"], ["there"]),
        node("Identity", ["o"], ["o_again"]),
    ]
    maybe = h.make_tensor_type_proto(T.FLOAT, [2])
    inputs = [sequence("s", T.FLOAT, [None, 3]), info("x", T.FLOAT, ["N", 3]), info("k", T.INT64, []), optional("o", maybe)]
    outputs = [sequence("longer", T.FLOAT), info("element", T.FLOAT, [None, 3]), info("total", T.FLOAT, [3]), info("length", T.INT64, []), info("there", T.BOOL, []), optional("o_again", maybe)]
    save("lists", nodes, inputs, outputs, [h.make_tensor("rows", T.INT64, [1], [0])])


def split():
    """Makes what other models take: a sequence, an optional that is there, one that is not."""
    two = h.make_tensor_type_proto(T.FLOAT, [2])
    nodes = [node("SplitToSequence", ["x", "sizes"], ["s"]), node("Optional", ["pair"], ["there"]), node("Optional", [], ["absent"], type=two)]
    save("split", nodes, [info("x", T.FLOAT, [3, 3])], [sequence("s", T.FLOAT, [None, 3]), optional("there", two), optional("absent", two)],
         [h.make_tensor("sizes", T.INT64, [2], [1, 2]), h.make_tensor("pair", T.FLOAT, [2], [5, 6])])


def until():
    """Doubles a vector until its sum is above a limit: nobody knows how long it gets."""
    body = h.make_graph(
        [
            node("Concat", ["v", "v"], ["twice"], axis=0),
            node("ReduceSum", ["twice"], ["sum"], keepdims=0),
            node("Less", ["sum", "limit"], ["on"]),
            node("SequenceInsert", ["steps", "sum"], ["more_steps"]),
        ],
        "body",
        [info("i", T.INT64, []), info("go", T.BOOL, []), info("v", T.FLOAT, [None]), sequence("steps", T.FLOAT)],
        [info("on", T.BOOL, []), info("twice", T.FLOAT, [None]), sequence("more_steps", T.FLOAT)],
    )
    nodes = [
        node("SequenceEmpty", [], ["none"]),
        node("Loop", ["", "yes", "x", "none"], ["grown", "sums"], body=body),
        node("Softmax", ["grown"], ["y"], axis=0),
    ]
    save("until", nodes, [info("x", T.FLOAT, ["N"]), info("limit", T.FLOAT, [])], [info("y", T.FLOAT, [None]), sequence("sums", T.FLOAT)], [h.make_tensor("yes", T.BOOL, [], [True])])


def unsupported():
    save("strings_added", [node("Add", ["x", "y"], ["z"])], [info("x", T.STRING, ["N"]), info("y", T.STRING, ["N"])], [info("z", T.STRING, ["N"])])
    save("ranks_mixed", [node("SequenceConstruct", ["x", "y"], ["s"]), node("SequenceAt", ["s", "k"], ["z"])], [info("x", T.FLOAT, [2]), info("y", T.FLOAT, [2, 2]), info("k", T.INT64, [])],
         [info("z", T.FLOAT)])


texts()
lists()
split()
until()
unsupported()
