"""Is any group slower fused than its nodes are alone?

usage: groups.py OPFUSE MODEL.onnx… [--fuse best] [--runs N] [--json FILE]

Each group of two or more nodes of each model (static shapes) is cut out as a model of its own; equal ones are measured once.
The cut-out is timed fused and unfused in turns: the paired 95 % interval of fused/unfused must not lie wholly above 1.02.
Below 0.3 ms noise hides such differences, so there the instructions of one run are counted instead (callgrind, AVX2 code)."""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper


def named_nodes(graph):
    """name → node, with the names that opfuse gives to nodes without one."""
    out = {}
    for k, node in enumerate(graph.node):
        name = node.name or f"{node.op_type}_{k}"
        out[name if name not in out else f"{name}#{k}"] = node
    return out


class Model:
    def __init__(self, path):
        self.model = onnx.shape_inference.infer_shapes(onnx.load(path), data_prop=True)
        graph = self.model.graph
        self.nodes = named_nodes(graph)
        self.initializers = {t.name: t for t in graph.initializer}
        self.constants = {n.output[0]: n for n in graph.node if n.op_type == "Constant"}
        self.types = {v.name: v for v in list(graph.value_info) + list(graph.input) + list(graph.output)}
        self.readers = {}
        for node in graph.node:
            for name in node.input:
                self.readers.setdefault(name, []).append(id(node))
        self.outputs = {v.name for v in graph.output}

    def cut(self, names, stored):
        """The nodes as a model that gives the values that opfuse stores; None where a shape is unknown."""
        nodes = [self.nodes[n] for n in names if n in self.nodes and self.nodes[n].op_type != "Constant"]
        if len(nodes) < 2:
            return None
        inside, made = {id(n) for n in nodes}, {o for n in nodes for o in n.output if o}
        inputs, weights, constants, outputs = [], {}, {}, []
        for node in nodes:
            for name in node.input:
                if name in self.initializers:
                    weights[name] = self.initializers[name]
                elif name in self.constants:
                    constants[name] = self.constants[name]
                elif name and name not in made and name not in inputs:
                    inputs.append(name)
            outputs += [o for o in node.output if o in self.outputs or any(r not in inside for r in self.readers.get(o, []))]
        outputs = [o for o in outputs if o in stored] or outputs
        for name in inputs + outputs:
            shape = self.types[name].type.tensor_type.shape if name in self.types else None
            if shape is None or any(not d.HasField("dim_value") for d in shape.dim):
                return None
        graph = helper.make_graph(list(constants.values()) + nodes, "group", [self.types[n] for n in inputs],
                                  [self.types[n] for n in outputs], list(weights.values()))
        return helper.make_model(graph, opset_imports=self.model.opset_import, ir_version=max(4, self.model.ir_version))


def signature(model):
    shapes = {v.name: str(v.type) for v in list(model.graph.input)}
    shapes.update({t.name: str(list(t.dims)) for t in model.graph.initializer})
    return str([(n.op_type, [shapes.get(i, "") for i in n.input], [str(a) for a in n.attribute if a.type != onnx.AttributeProto.TENSOR]) for n in model.graph.node])


def instructions(opfuse, path, policy, scratch):
    out = os.path.join(scratch, "callgrind")
    subprocess.run([opfuse, "run", path, "-q", "--threads", "1", "--machine=x86-64-v3", f"--fuse={policy}"], check=True, capture_output=True)
    subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--collect-atstart=no", "--toggle-collect=opf_runner_run", opfuse,
                    "run", path, "-q", "--threads", "1", "--machine=x86-64-v3", f"--fuse={policy}"], check=True, capture_output=True)
    for line in open(out):
        if line.startswith(("summary:", "totals:")):
            return int(line.split()[1])
    raise RuntimeError("callgrind counted nothing")


def measure(opfuse, path, policy, runs, scratch):
    report = json.loads(subprocess.run([opfuse, "bench", path, "-q", "--json", "--threads", "1", f"--fuse={policy}", "--runs", str(runs)],
                                       check=True, capture_output=True, text=True).stdout)
    fused, unfused = np.array(report["ms"]), np.array(report["baseline"]["ms"])
    if np.median(unfused) < 0.3:
        a, b = instructions(opfuse, path, policy, scratch), instructions(opfuse, path, "none", scratch)
        return {"by": "instructions", "fused": a, "unfused": b, "ratio": a / max(1, b), "low": a / max(1, b)}
    logs = np.log(fused / unfused)
    keep = np.abs(logs - np.median(logs)) < 1.0  # a run that the machine took away says nothing of the code
    mean, error = logs[keep].mean(), logs[keep].std(ddof=1) / math.sqrt(keep.sum())
    return {"by": "time", "fused": float(np.median(fused)), "unfused": float(np.median(unfused)), "ratio": math.exp(mean), "low": math.exp(mean - 1.96 * error)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("opfuse")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--fuse", default="best")
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--json")
    args = parser.parse_args()
    seen, rows = set(), []
    with tempfile.TemporaryDirectory() as scratch:
        for path in args.models:
            model = Model(path)
            report = json.loads(subprocess.run([args.opfuse, "explain", path, "--json", f"--fuse={args.fuse}"], check=True, capture_output=True, text=True).stdout)
            for group in report["groups"]:
                part = model.cut(group["nodes"], group["outputs"]) if group["step"] == "kernel" else None
                if part is None or signature(part) in seen:
                    continue
                seen.add(signature(part))
                file = os.path.join(scratch, "group.onnx")
                onnx.save(part, file)
                try:
                    row = measure(args.opfuse, file, args.fuse, args.runs, scratch)
                except subprocess.CalledProcessError as error:
                    print(f"{path}: {group['nodes']}: {error.stderr}", file=sys.stderr)
                    continue
                row.update(model=os.path.basename(path), nodes=group["nodes"], slower=row["low"] > 1.02)
                rows.append(row)
                print(f"{'SLOWER ' if row['slower'] else '       '}{row['ratio']:6.3f} (low {row['low']:.3f}) {row['by']:12s} {row['unfused']:14.4f} -> {row['fused']:14.4f}  "
                      f"{row['model']}: {' + '.join(group['nodes'][:6])}{' …' if len(group['nodes']) > 6 else ''}", flush=True)
    slower = sum(r["slower"] for r in rows)
    print(f"{len(rows)} different groups, {slower} slower fused than unfused")
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"schema": 1, "policy": args.fuse, "rows": rows}, f, indent=1)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
