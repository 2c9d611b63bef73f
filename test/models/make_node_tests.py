"""The node tests of the installed onnx package as folders: CASE/model.onnx, CASE/test_data_set_K/{input,output}_J.pb.
usage: make_node_tests.py FOLDER"""
import os
import sys
import warnings

warnings.filterwarnings("ignore")

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests


def proto_of(value, info):
    """The value as the proto that its declared type asks for."""
    kind = info.type
    if kind.HasField("map_type"):
        return numpy_helper.from_dict(value, info.name)
    if kind.HasField("sequence_type"):
        return numpy_helper.from_list(list(value), info.name) if isinstance(value, (list, np.ndarray)) else value
    if kind.HasField("optional_type"):
        return value if isinstance(value, onnx.OptionalProto) else numpy_helper.from_optional(value, info.name)
    return value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(np.asarray(value), info.name)


def write(path, message):
    with open(path, "wb") as file:
        file.write(message.SerializeToString(deterministic=True))


def save(case, folder):
    graph = case.model.graph
    os.makedirs(folder, exist_ok=True)
    write(os.path.join(folder, "model.onnx"), case.model)
    for k, (inputs, outputs) in enumerate(case.data_sets):
        data = os.path.join(folder, f"test_data_set_{k}")
        os.makedirs(data, exist_ok=True)
        for kind, values, infos in (("input", inputs, graph.input), ("output", outputs, graph.output)):
            for j, value in enumerate(values):
                write(os.path.join(data, f"{kind}_{j}.pb"), proto_of(value, infos[j]))


failed = []
cases = load_model_tests(kind="node")
for case in cases:
    try:
        save(case, os.path.join(sys.argv[1], case.name))
    except Exception as problem:  # a case that cannot be written is not there; the suite names how many there are
        failed.append(f"{case.name}: {problem!r}"[:200])
print(len(cases), "cases,", len(failed), "not written")
print("\n".join(failed))
