"""opfuse against ONNX Runtime, in turns in one process.

usage: compare.py LIBRARY MODEL.onnx… [--threads N] [--seconds S] [--json FILE]

For each model four engines run in turns on the same inputs: opfuse's default policy, opfuse without fusion, ONNX Runtime's
default and ONNX Runtime with optimisation off. Printed are minima in milliseconds and ratios of minima; `a/b` below 1 means
a is faster. Outputs of all engines are compared first: an engine that disagrees is marked, its time means nothing."""
import argparse
import ctypes as C
import json
import os
import time

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))

DTYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16, 11: np.float64}
NUMBERS = {np.dtype(v): k for k, v in DTYPES.items()}


class Array(C.Structure):
    _fields_ = [("name", C.c_char_p), ("dtype", C.c_int), ("rank", C.c_int), ("dims", C.POINTER(C.c_int64)), ("data", C.c_void_p)]


class Message(C.Structure):
    _fields_ = [("severity", C.c_int), ("code", C.c_char_p), ("text", C.c_char_p), ("file", C.c_char_p), ("node", C.c_char_p),
                ("op", C.c_char_p), ("message", C.c_char_p), ("hint", C.c_char_p), ("node_index", C.c_int)]


class Opfuse:
    """A session of the C API under one policy."""

    def __init__(self, library, path, policy, threads, shapes):
        self.lib = C.CDLL(library)
        for name in ("opf_context_new",):
            getattr(self.lib, name).restype = C.c_void_p
        self.lib.opf_context_message.restype = Message
        self.lib.opf_context_messages.restype = C.c_size_t
        self.context = C.c_void_p(self.lib.opf_context_new())
        for option, value in [("fuse", policy), ("threads", str(threads))] + [("shape", s) for s in shapes]:
            self.check(self.lib.opf_context_set(self.context, option.encode(), value.encode()))
        self.model, self.session = C.c_void_p(), C.c_void_p()
        begun = time.perf_counter()
        self.check(self.lib.opf_model_load(C.byref(self.model), self.context, path.encode()))
        self.check(self.lib.opf_session_new(C.byref(self.session), self.model))
        self.load_seconds = time.perf_counter() - begun
        self.outputs = (Array * 64)()

    def check(self, status):
        if status:
            n = self.lib.opf_context_messages(self.context)
            raise RuntimeError("\n".join(self.lib.opf_context_message(self.context, C.c_size_t(i)).text.decode() for i in range(n)))

    def bind(self, feeds):
        self.keep = [np.ascontiguousarray(a) for a in feeds]
        self.inputs = (Array * max(1, len(feeds)))()
        for slot, a in zip(self.inputs, self.keep):
            slot.dtype, slot.rank = NUMBERS[a.dtype], a.ndim
            slot.dims = (C.c_int64 * max(1, a.ndim))(*a.shape)
            slot.data = a.ctypes.data

    def run(self):
        self.check(self.lib.opf_session_run(self.session, self.inputs, self.outputs))

    def results(self, count):
        out = []
        for slot in self.outputs[:count]:
            shape = tuple(slot.dims[i] for i in range(slot.rank))
            dtype = np.dtype(DTYPES[slot.dtype])
            n = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
            out.append(np.frombuffer(C.string_at(slot.data, n), dtype).reshape(shape).copy())
        return out


def runtime(path, threads, level):
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
    options.graph_optimization_level = level
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def stored_feeds(session, path):
    """The first data set that belongs to a model: beside it, in a folder of its name, or in test/models."""
    folder, stem = os.path.dirname(path), os.path.splitext(os.path.basename(path))[0]
    places = [folder, os.path.join(folder, stem), os.path.join(HERE, "..", "test", "models", os.path.basename(folder))]
    for place in places:
        data = os.path.join(place, "test_data_set_0")
        if os.path.isdir(data) and (stem == "model") == (place != places[1]):
            feeds = {}
            for k, port in enumerate(session.get_inputs()):
                tensor = onnx.TensorProto()
                with open(os.path.join(data, f"input_{k}.pb"), "rb") as f:
                    tensor.ParseFromString(f.read())
                feeds[port.name] = numpy_helper.to_array(tensor)
            return feeds
    return None


def feeds_for(session, path, seed=0):
    stored = stored_feeds(session, path)
    if stored:
        return stored
    rng, feeds = np.random.default_rng(seed), {}
    for port in session.get_inputs():
        shape = [d if isinstance(d, int) and d > 0 else (1 if i == 0 else {2: 48, 3: 192}.get(i, 64)) for i, d in enumerate(port.shape)]
        if "int" in port.type:
            feeds[port.name] = rng.integers(0, 16, shape).astype(np.int64 if "64" in port.type else np.int32)
        elif "bool" in port.type:
            feeds[port.name] = rng.integers(0, 2, shape).astype(bool)
        else:
            feeds[port.name] = rng.normal(0, 1, shape).astype(np.float32)
    return feeds


def agree(a, b):
    return all(np.allclose(x, y, rtol=1e-3, atol=1e-4 * max(1e-6, float(np.abs(y[np.isfinite(y)]).max(initial=0))), equal_nan=True) for x, y in zip(a, b))


def measure(library, path, threads, seconds):
    off = runtime(path, threads, ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
    best = runtime(path, threads, ort.GraphOptimizationLevel.ORT_ENABLE_ALL)
    feeds = feeds_for(off, path)
    ordered = [feeds[p.name] for p in off.get_inputs()]
    shapes = [f"{n}={','.join(map(str, a.shape))}" for n, a in feeds.items()] if os.environ.get("OPFUSE_BENCH_PIN") else []
    fused, unfused = (Opfuse(library, path, policy, threads, shapes) for policy in ("best", "none"))
    for engine in (fused, unfused):
        engine.bind(ordered)
    runs = {"opfuse": fused.run, "unfused": unfused.run, "ort": lambda: best.run(None, feeds), "ort_off": lambda: off.run(None, feeds)}
    for run in runs.values():
        run()
    expected = off.run(None, feeds)
    right = {"opfuse": agree(fused.results(len(expected)), expected), "unfused": agree(unfused.results(len(expected)), expected)}
    times = {k: [] for k in runs}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times["opfuse"]) < 5:
        for name, run in runs.items():
            begun = time.perf_counter()
            run()
            times[name].append((time.perf_counter() - begun) * 1e3)
    row = {"model": os.path.basename(path)[:-5] if os.path.basename(path) != "model.onnx" else os.path.basename(os.path.dirname(path)),
           "threads": threads, "runs": len(times["opfuse"]), "right": right, "load_seconds": fused.load_seconds}
    for name, list_ in times.items():
        row[name + "_ms"], row[name + "_median_ms"] = min(list_), float(np.median(list_))
    row["ratio"] = row["opfuse_ms"] / row["ort_ms"]
    row["unfused_ratio"] = row["unfused_ms"] / row["ort_off_ms"]
    row["gain"] = row["unfused_ms"] / row["opfuse_ms"]
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--json")
    args = parser.parse_args()
    rows = []
    print(f"{'model':34s} {'opfuse':>9s} {'unfused':>9s} {'ort':>9s} {'ort off':>9s} {'opfuse/ort':>10s} {'unfused/off':>11s} {'gain':>6s}  ms, minima")
    for path in args.models:
        try:
            row = measure(args.library, path, args.threads, args.seconds)
        except Exception as error:  # one model must not hide the others
            print(f"{path}: {error}")
            continue
        rows.append(row)
        wrong = " ".join(k + " WRONG" for k, v in row["right"].items() if not v)
        print(f"{row['model']:34s} {row['opfuse_ms']:9.3f} {row['unfused_ms']:9.3f} {row['ort_ms']:9.3f} {row['ort_off_ms']:9.3f} "
              f"{row['ratio']:10.2f} {row['unfused_ratio']:11.2f} {row['gain']:6.2f}  {wrong}", flush=True)
    if rows:
        print(f"geometric means: opfuse/ort {np.exp(np.mean([np.log(r['ratio']) for r in rows])):.2f}, "
              f"unfused/ort off {np.exp(np.mean([np.log(r['unfused_ratio']) for r in rows])):.2f}")
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"schema": 1, "rows": rows}, f, indent=1)


if __name__ == "__main__":
    main()
