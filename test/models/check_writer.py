#!/usr/bin/env python3
"""Reads each model, writes it (`opfuse graph --before -o FILE.onnx`), reads that and writes it again: both files must be the same
(where they have no functions),
and ONNX Runtime, where it can run the model at all, must give the same numbers for the model and the file. Models that opfuse
does not take are left out.

usage: check_writer.py OPFUSE MODEL.onnx…   Needs onnx, numpy and onnxruntime. A line a model that does not hold, then a count."""
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


def opfuse(*arguments):
    done = subprocess.run([OPFUSE, *arguments, "-q"], capture_output=True, text=True, errors="replace")
    return done.returncode, done.stdout, done.stderr


def session(path):
    try:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        return str(error)


def feeds(model, folder):
    """The first data set beside the model, else drawn values; None where neither can be."""
    found, draw = {}, np.random.default_rng(1)
    for k, port in enumerate(model.get_inputs()):
        stored = os.path.join(folder, "test_data_set_0", f"input_{k}.pb")
        if os.path.exists(stored):
            found[port.name] = onnx.numpy_helper.to_array(onnx.load_tensor(stored))
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


def same(a, b):
    if isinstance(a, str) or isinstance(b, str): return a == b or a[:30] == b[:30]
    for x, y in zip(a, b):
        if isinstance(x, list): return all(np.array_equal(u, v, equal_nan=False) for u, v in zip(x, y))
        if isinstance(x, np.ndarray) and x.dtype.kind in "fc":
            if not np.allclose(x, y, rtol=1e-5, atol=1e-6, equal_nan=True): return False
        elif not np.array_equal(x, y): return False
    return len(a) == len(b)


def check(path, again):
    """None, or what is wrong; and whether ONNX Runtime judged (None: opfuse does not take the model)."""
    if opfuse("check", path)[0]: return None, None
    code, _, error = opfuse("graph", path, "--before", "-o", again)
    if code: return f"is not written: {error.strip()[:300]}", False
    code, _, error = opfuse("graph", again, "--before", "-o", again + ".onnx")
    if code: return f"cannot be read again: {error.strip()[:300]}", False
    # nodes of another version than the model's are put into functions, and their names say so, each time
    if not onnx.load(again).functions and open(again, "rb").read() != open(again + ".onnx", "rb").read(): return "is written otherwise the second time", False
    theirs, ours = session(path), session(again)
    if isinstance(theirs, str): return None, False
    if isinstance(ours, str): return "is refused by ONNX Runtime: " + ours[:200], True
    if [p.name for p in theirs.get_outputs()] != [p.name for p in ours.get_outputs()]: return "has other outputs", True
    inputs = feeds(theirs, os.path.dirname(path))
    if inputs is None: return None, False
    wanted, got = results(theirs, inputs), results(ours, inputs)
    return (None if same(wanted, got) else f"gives other numbers: {str(got)[:100]} for {str(wanted)[:100]}"), True


def main():
    bad = judged = skipped = 0
    with tempfile.TemporaryDirectory() as scratch:
        for path in sys.argv[2:]:
            problem, by_runtime = check(path, os.path.join(scratch, "again.onnx"))
            judged += by_runtime is True
            skipped += by_runtime is None
            if problem:
                bad += 1
                print(f"{path} {problem}")
    print(f"{len(sys.argv) - 2 - skipped} models written and read again, {judged} of them run by ONNX Runtime, {bad} do not hold")
    return 1 if bad else 0


OPFUSE = sys.argv[1]
if __name__ == "__main__":
    sys.exit(main())
