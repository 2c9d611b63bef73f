"""Small models with control flow and sizes that depend on data. usage: make_control.py FOLDER (needs the onnx package)"""
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


def graph(name, nodes, inputs, outputs, constants=()):
    return h.make_graph(nodes, name, inputs, outputs, list(constants))


def save(name, nodes, inputs, outputs, constants=()):
    model = h.make_model(graph(name, nodes, inputs, outputs, constants), opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, os.path.join(OUT, name + ".onnx"))


# Sizes that are found: the elements above a limit, and work on them; their number is an output too.
save("found", [N("Greater", ["x", "limit"], ["above"]), N("Compress", ["x", "above"], ["kept"], axis=0), N("Mul", ["kept", "kept"], ["square"]),
               N("NonZero", ["above"], ["where"]), N("Shape", ["kept"], ["count"]), N("ReduceSum", ["square"], ["sum"], keepdims=0)],
     [port("x", ["n"])], [port("square", ["m"]), port("where", [1, "m"], T.INT64), port("count", [1], T.INT64), port("sum", [])],
     [constant("limit", np.float32(0.5))])

# Two sizes that are found and must be equal.
save("found_twice", [N("Greater", ["x", "limit"], ["a"]), N("Less", ["y", "limit"], ["b"]), N("Compress", ["x", "a"], ["left"], axis=0),
                     N("Compress", ["y", "b"], ["right"], axis=0), N("Add", ["left", "right"], ["z"])],
     [port("x", ["n"]), port("y", ["n"])], [port("z", ["m"])], [constant("limit", np.float32(0.5))])

# Branches of different sizes; what both read is known and made in front.
then = graph("then", [N("Concat", ["x", "x", "three"], ["a"], axis=0)], [], [port("a", ["p"])])
otherwise = graph("otherwise", [N("Mul", ["x", "two"], ["m"]), N("Add", ["m", "size"], ["b"])], [], [port("b", ["q"])])
save("branches", [N("ReduceSum", ["x"], ["s"], keepdims=0), N("Greater", ["s", "zero"], ["positive"]), N("Shape", ["x"], ["i"]), N("Cast", ["i"], ["size"], to=T.FLOAT),
                  N("If", ["positive"], ["y"], then_branch=then, else_branch=otherwise), N("Neg", ["y"], ["z"]), N("Shape", ["y"], ["n"])],
     [port("x", ["n"])], [port("y", ["r"]), port("z", ["r"]), port("n", [1], T.INT64)],
     [constant("zero", np.float32(0)), constant("two", np.float32(2)), constant("three", np.float32([3]))])

# A loop that swaps two values, grows a third, stacks up a fourth and ends by its own condition; an If in its body.
inner_then = graph("inner_then", [N("Add", ["a", "one"], ["up"])], [], [port("up", ["n"])])
inner_else = graph("inner_else", [N("Identity", ["a"], ["same"])], [], [port("same", ["n"])])
body = graph("body", [N("Cast", ["i"], ["f"], to=T.FLOAT), N("Greater", ["f", "one"], ["late"]),
                      N("If", ["late"], ["next_b"], then_branch=inner_then, else_branch=inner_else),
                      N("Identity", ["b"], ["next_a"]), N("Concat", ["g", "a"], ["next_g"], axis=0),
                      N("ReduceSum", ["next_b"], ["sum"], keepdims=0), N("Less", ["sum", "limit"], ["on"]), N("Mul", ["a", "b"], ["product"])],
             [port("i", [], T.INT64), port("go", [], T.BOOL), port("a", ["n"]), port("b", ["n"]), port("g", ["k"])],
             [port("on", [], T.BOOL), port("next_a", ["n"]), port("next_b", ["n"]), port("next_g", ["k2"]), port("product", ["n"])])
save("loop", [N("Add", ["x", "one"], ["y"]), N("Loop", ["trips", "yes", "x", "y", "x"], ["a_end", "b_end", "g_end", "stack"], body=body)],
     [port("x", ["n"])], [port("a_end", ["n"]), port("b_end", ["n"]), port("g_end", ["k"]), port("stack", ["t", "n"])],
     [constant("trips", np.int64(7)), constant("yes", np.bool_(True)), constant("one", np.float32(1)), constant("limit", np.float32(40))])

# No iteration at all, and a loop without a trip count.
short = graph("short", [N("Add", ["v", "one"], ["w"]), N("Identity", ["c"], ["d"]), N("Mul", ["w", "w"], ["p"])],
              [port("i", [], T.INT64), port("c", [], T.BOOL), port("v", ["n"])], [port("d", [], T.BOOL), port("w", ["n"]), port("p", ["n"])])
endless = graph("endless", [N("Mul", ["v2", "two"], ["w2"]), N("ReduceMax", ["w2"], ["m2"], keepdims=0), N("Less", ["m2", "hundred"], ["d2"])],
                [port("i2", [], T.INT64), port("c2", [], T.BOOL), port("v2", ["n"])], [port("d2", [], T.BOOL), port("w2", ["n"])])
save("trips", [N("Loop", ["none", "", "x"], ["still", "nothing"], body=short), N("Loop", ["", "yes", "x"], ["grown"], body=endless)],
     [port("x", ["n"])], [port("still", ["n"]), port("nothing", ["z", "n"]), port("grown", ["n"])],
     [constant("none", np.int64(0)), constant("one", np.float32(1)), constant("two", np.float32(2)), constant("hundred", np.float32(100)), constant("yes", np.bool_(True))])

# A scan along axis 1, one input from its end, stacked up along axis 1.
step = graph("step", [N("Add", ["s", "u"], ["s2"]), N("Mul", ["s2", "v"], ["o"])], [port("s", ["b"]), port("u", ["b"]), port("v", ["b"])], [port("s2", ["b"]), port("o", ["b"])])
save("scan", [N("Scan", ["s0", "x", "y"], ["end", "out"], body=step, num_scan_inputs=2, scan_input_axes=[1, 1], scan_input_directions=[0, 1], scan_output_axes=[1])],
     [port("s0", ["b"]), port("x", ["b", "t"]), port("y", ["b", "t"])], [port("end", ["b"]), port("out", ["b", "t"])])
