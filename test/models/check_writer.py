#!/usr/bin/env python3
"""Reads each model, writes it (as `opfuse graph --before -o FILE.onnx` does), reads that and writes it again: both files must be the
same (where they have no functions), and ONNX Runtime, where it can run the model at all, must give the same numbers for the model and
the file. Models that opfuse does not take are left out.

usage: check_writer.py TOOL MODEL.onnx|FOLDER…   TOOL is tool_api_rewrite (test/tools); of a folder, every model.onnx below it.
Needs onnx, numpy and onnxruntime. A line a model that does not hold, then a count."""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

onnxruntime.set_default_logger_severity(4)
TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16, "tensor(bool)": np.bool_, "tensor(int64)": np.int64, "tensor(int32)": np.int32,
         "tensor(int16)": np.int16, "tensor(int8)": np.int8, "tensor(uint8)": np.uint8, "tensor(uint16)": np.uint16, "tensor(uint32)": np.uint32, "tensor(uint64)": np.uint64, "tensor(string)": np.str_}


def session(path):
    try:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        return str(error)


def stored_input(port, path):
    with open(path, "rb") as file: data = file.read()
    if port.type.startswith("tensor"): return onnx.numpy_helper.to_array(onnx.TensorProto.FromString(data))
    if port.type.startswith("seq"): return onnx.numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    return onnx.numpy_helper.to_optional(onnx.OptionalProto.FromString(data))


def feeds(model, folder):
    """The first data set beside the model, else drawn values; None where neither can be."""
    found, draw = {}, np.random.default_rng(1)
    for k, port in enumerate(model.get_inputs()):
        stored = os.path.join(folder, "test_data_set_0", f"input_{k}.pb")
        if os.path.exists(stored):
            found[port.name] = stored_input(port, stored)
            continue
        if port.type not in TYPES: return None
        shape = [d if isinstance(d, int) and d > 0 else 3 for d in port.shape]
        values = draw.uniform(-1, 1, shape) if "float" in port.type or "double" in port.type else draw.integers(0, 2, shape)
        found[port.name] = values.astype(TYPES[port.type])
    return found


def results(model, inputs):
    try:
        return model.run(None, inputs)
    except Exception as error:
        return re.sub(r"[^ ]*\.onnx", "", str(error))[:40]


def same_value(x, y):
    if isinstance(x, list): return isinstance(y, list) and len(x) == len(y) and all(same_value(u, v) for u, v in zip(x, y))
    if isinstance(x, dict): return isinstance(y, dict) and x.keys() == y.keys() and all(same_value(x[k], y[k]) for k in x)
    if isinstance(x, (np.ndarray, float)) and np.asarray(x).dtype.kind in "fc":
        x, y = np.asarray(x), np.asarray(y)
        return x.dtype == y.dtype and x.shape == y.shape and np.allclose(x, y, rtol=1e-5, atol=1e-6, equal_nan=True)
    return np.array_equal(x, y)


def same(a, b):
    if isinstance(a, str) or isinstance(b, str): return a == b or a[:30] == b[:30]
    return same_value(list(a), list(b))


def check(path, first, second):
    """None, or what is wrong; and whether ONNX Runtime judged."""
    with open(first, "rb") as one, open(second, "rb") as other: equal = one.read() == other.read()
    # nodes of another version than the model's are put into functions, and their names say so, each time
    if not equal and not onnx.load(first).functions: return "is written otherwise the second time", False
    theirs, ours = session(path), session(first)
    if isinstance(theirs, str): return None, False
    if isinstance(ours, str): return "is refused by ONNX Runtime: " + ours[:200], True
    if [p.name for p in theirs.get_outputs()] != [p.name for p in ours.get_outputs()]: return "has other outputs", True
    inputs = feeds(theirs, os.path.dirname(path))
    if inputs is None: return None, False
    wanted, got = results(theirs, inputs), results(ours, inputs)
    return (None if same(wanted, got) else f"gives other numbers: {str(got)[:100]} for {str(wanted)[:100]}"), not isinstance(wanted, str)


def models(arguments):
    for argument in arguments:
        if os.path.isdir(argument): yield from sorted(os.path.join(folder, "model.onnx") for folder, _, files in os.walk(argument) if "model.onnx" in files)
        else: yield argument


def main():
    paths = list(models(sys.argv[2:]))
    bad = judged = left = 0
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run([sys.argv[1], scratch], input="".join(p + "\n" for p in paths), capture_output=True, text=True, errors="replace")
        lines = done.stdout.splitlines()
        if done.returncode or len(lines) != len(paths): sys.exit(f"{sys.argv[1]} ended with {done.returncode} at {paths[min(len(lines), len(paths) - 1)]}: {done.stderr[-300:]}")
        for k, (path, line) in enumerate(zip(paths, lines)):
            word = line.split(" ", 1)[1]
            left += word == "left"
            problem, by_runtime = (None, False) if word == "left" else (word, False)
            if word == "written": problem, by_runtime = check(path, os.path.join(scratch, f"{k}.onnx"), os.path.join(scratch, f"{k}.again.onnx"))
            judged += by_runtime
            if problem:
                bad += 1
                print(f"{path} {problem}")
    print(f"{len(paths) - left} models written and read again ({left} are not taken), {judged} of them run by ONNX Runtime, {bad} do not hold")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
