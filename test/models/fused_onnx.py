#!/usr/bin/env python3
"""Is the fused model still an ONNX model, and the same one?

    fused_onnx.py OPFUSE MODEL… [--data DIR]

For each model and policy: `graph -o fused.onnx`, onnx.checker, as many calls of functions as `explain` counts groups of several
nodes (less those that a note says cannot be functions), one verdict in `explain --json` for every use of a value in it, and, where onnxruntime is there, the same outputs as the model's own file gives: on the data sets below DIR, else on
seeded inputs of the sizes that opfuse assumes. A line a model; status 1 where one does not hold."""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

try:
    import onnxruntime
except ImportError:
    onnxruntime = None


def session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def tensor(path):
    proto = onnx.TensorProto()
    proto.ParseFromString(open(path, "rb").read())
    return numpy_helper.to_array(proto)


TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16, "tensor(int64)": np.int64,
         "tensor(int32)": np.int32, "tensor(bool)": np.bool_, "tensor(uint8)": np.uint8, "tensor(int8)": np.int8}


def made_up(opfuse, model, folder):
    """Inputs as `opfuse run` makes them up: it writes none, so they are seeded here, in the shapes that `check` tells."""
    report = json.loads(subprocess.run([opfuse, "check", model, "--json"], capture_output=True, text=True).stdout)
    nominal = {s["name"]: s["nominal"] for s in report["symbols"]}
    random = np.random.default_rng(0)
    feeds = {}
    for port in session(model).get_inputs():
        described = next(i for i in report["inputs"] if i["name"] == port.name)
        shape = [int(d) if str(d).isdigit() else nominal.get(d, 8) for d in described["dims"]]
        kind = TYPES.get(port.type)
        if kind is None:
            return None
        values = random.uniform(-1, 1, shape) if np.issubdtype(kind, np.floating) else random.integers(0, 2, shape)
        feeds[port.name] = values.astype(kind)
    return [feeds]


def data_sets(model, data):
    folders = sorted(glob.glob(os.path.join(data, "test_data_set_*"))) or [data]
    names = [port.name for port in session(model).get_inputs()]
    return [{name: tensor(os.path.join(folder, f"input_{k}.pb")) for k, name in enumerate(names)} for folder in folders]


def differ(model, fused, feeds):
    before, after = session(model), session(fused)
    for feed in feeds:
        for a, b in zip(before.run(None, feed), after.run(None, feed)):
            if isinstance(a, np.ndarray) and np.issubdtype(a.dtype, np.floating):
                scale = float(np.max(np.abs(a), initial=0)) or 1.0
                if a.shape != b.shape or not np.allclose(a, b, rtol=1e-3, atol=1e-4 * scale, equal_nan=True):
                    return f"outputs differ by {np.max(np.abs(a - b)) if a.shape == b.shape else 'shape'}"
            elif not np.array_equal(np.asarray(a), np.asarray(b)):
                return "outputs differ"
    return None


def reads(node):
    """Names of values that the node, or one in its sub-graphs, reads of the graph that it stands in."""
    names = {name for name in node.input if name}
    for attribute in node.attribute:
        for graph in [*attribute.graphs, *([attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else [])]:
            own = {o for inner in graph.node for o in inner.output} | {i.name for i in graph.input} | {i.name for i in graph.initializer}
            names |= {name for inner in graph.node for name in reads(inner)} - own | ({o.name for o in graph.output} - own)
    return names


def verdicts(proto, explained):
    """Has every use of a node's result by a node exactly one verdict? What is wrong, or None."""
    bodies = {(f.domain, f.name): f for f in proto.functions}
    nodes = [n for call in proto.graph.node for n in (bodies[call.domain, call.op_type].node if (call.domain, call.op_type) in bodies else [call])]
    maker = {value: node.name for node in nodes for value in node.output if value}
    wanted = sorted((maker[value], node.name, value) for node in nodes if node.name for value in reads(node) if value in maker)
    # (nodes without a name were added by the writer, to give an output the name that the file promises)
    got = sorted((e["from"], e["to"], e["value"]) for e in explained["edges"] if not e["graph"])
    if wanted != got:
        return f"{len(wanted)} uses, {len(got)} verdicts; without one: {sorted(set(wanted) - set(got))[:3]}, more than there are: {sorted(set(got) - set(wanted))[:3]}"
    if any(e["verdict"] == "refused" and not e["remedy"] for e in explained["edges"]):
        return "a refused use comes without a remedy"
    held = [(g["graph"], n) for g in explained["groups"] for n in g["nodes"]]
    copied = explained["policy"] == "best" # cheap nodes may have been copied for their readers
    return "a node is in two groups" if len(held) != len(set(held)) and not copied else None


def check(opfuse, model, data, policy, folder):
    fused = os.path.join(folder, "fused.onnx")
    made = subprocess.run([opfuse, "graph", model, "-o", fused, f"--fuse={policy}"], capture_output=True, text=True)
    if made.returncode:
        return "cannot be written: " + made.stderr.strip()
    onnx.checker.check_model(fused)
    explained = json.loads(subprocess.run([opfuse, "explain", model, "--json", f"--fuse={policy}", "-q"], capture_output=True, text=True).stdout)
    proto = onnx.load(fused)
    groups = [f for f in proto.functions if f.domain == "opfuse.groups"]
    calls = [n for n in proto.graph.node if n.domain == "opfuse.groups"]
    wanted = [g for g in explained["groups"] if not g["graph"] and len(g["ops"]) > 1]
    left = made.stderr.count("is written as single nodes")
    if not len(groups) == len(calls) == len(wanted) - left:
        return f"{len(groups)} functions, {len(calls)} calls, {len(wanted)} groups of several nodes"
    wrong = verdicts(proto, explained)
    if wrong or onnxruntime is None:
        return wrong
    feeds = data_sets(model, data) if data else made_up(opfuse, model, folder)
    return differ(model, fused, feeds) if feeds else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("opfuse")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--data")
    parser.add_argument("--policies", default="tvm,best")
    args = parser.parse_args()
    bad = 0
    for model in args.models:
        for policy in args.policies.split(","):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    wrong = check(args.opfuse, model, args.data, policy, folder)
                except Exception as error:  # the checker's, the runtime's: any of them is the verdict
                    wrong = f"{type(error).__name__}: {error}"
            bad += wrong is not None
            print(f"{'FAILED' if wrong else 'ok'} {model} {policy}{': ' + wrong if wrong else ''}", flush=True)
    if onnxruntime is None:
        print("onnxruntime is not installed: nothing was run")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
