"""romanizer_greedy_loop: the encoder and the decoder step of romanizer_* as one model that decodes greedily in a Loop, with a
growing prefix and the scores of each step as scan output. usage: make_greedy.py ENCODER.onnx DECODER.onnx OUT.onnx"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import compose, helper as H, numpy_helper as N

FIRST, LAST, MOST = 1, 2, 12  # tokens that begin and end a text; the most steps


def constant(name, value, dtype): return N.from_array(np.array(value, dtype), name)


def renamed(graph, names):
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]


encoder, decoder = (onnx.load(path) for path in sys.argv[1:3])
encoder, step = compose.add_prefix(encoder, "e_").graph, compose.add_prefix(decoder, "d_").graph
renamed(step, {"d_prefix": "b_prefix", "d_memory": "e_memory_out", "d_src_mask": "e_src_mask_out", "d_hidden": "b_hidden"})
tail = [H.make_node("ArgMax", ["d_logprobs"], ["b_tok"], axis=1, keepdims=1), H.make_node("Concat", ["b_prefix", "b_tok"], ["b_next"], axis=1), H.make_node("Equal", ["b_tok", "eos"], ["b_iseos"]),
        H.make_node("Cast", ["b_iseos"], ["b_f"], to=T.INT64), H.make_node("ReduceMin", ["b_f"], ["b_all"], keepdims=0), H.make_node("Cast", ["b_all"], ["b_done"], to=T.BOOL),
        H.make_node("Not", ["b_done"], ["b_cond"]), H.make_node("Identity", ["d_logprobs"], ["b_scan"])]


def port(name, dtype, shape=None): return H.make_tensor_value_info(name, dtype, shape)


body = H.make_graph(list(step.node) + tail, "body", [port("b_i", T.INT64, []), port("b_cin", T.BOOL, []), port("b_prefix", T.INT64), port("b_hidden", T.FLOAT)],
                    [port("b_cond", T.BOOL, []), port("b_next", T.INT64), port("d_hidden_out", T.FLOAT), port("b_scan", T.FLOAT)], list(step.initializer) + [constant("eos", [[LAST]], np.int64)])
start = [H.make_node("Shape", ["e_src"], ["sh"], start=0, end=1), H.make_node("Concat", ["sh", "one1"], ["psh"], axis=0),
         H.make_node("ConstantOfShape", ["psh"], ["prefix0"], value=H.make_tensor("value", T.INT64, [1], [FIRST])),
         H.make_node("Loop", ["maxlen", "true", "prefix0", "e_hidden_out"], ["tokens", "hidden_final", "logprobs"], body=body)]
graph = H.make_graph(list(encoder.node) + start, "greedy", list(encoder.input), [port("tokens", T.INT64, ["batch", "n"]), port("logprobs", T.FLOAT, ["steps", "batch", 160])],
                     list(encoder.initializer) + [constant("one1", [1], np.int64), constant("maxlen", MOST, np.int64), constant("true", True, bool)])
os.makedirs(os.path.dirname(sys.argv[3]), exist_ok=True)
onnx.save(H.make_model(graph, opset_imports=[H.make_opsetid("", 17)], ir_version=8), sys.argv[3])
