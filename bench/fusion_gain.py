"""What fusing brings on the classic claims, over a range of shapes, beside the ceiling that bytes and FLOPs allow.

usage: fusion_gain.py LIBRARY [--threads N] [--seconds S] [--json FILE]

Fused over unfused (minima of runs in turns); the unfused build's ratio to ONNX Runtime without optimisation, for a gain over a slow
baseline says nothing; and the ceiling: the time that the machine table allows the unfused steps over what it allows the fused ones
(opfuse profile). A claim counts as reached where the gain is inside or above its range, or at least 80 % of the ceiling."""
import argparse
import json
import os
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import compare
import engines as E

RNG = np.random.default_rng(7)


def constant(name, *shape, scale=0.1):
    return numpy_helper.from_array((RNG.normal(0, scale, shape) if shape else np.array(scale)).astype(np.float32), name)


def model(nodes, inputs, outputs, initializers):
    ports = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in side.items()] for side in (inputs, outputs)]
    return helper.make_model(helper.make_graph(nodes, "claim", *ports, initializers), opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def conv_bn_relu(c, m, h, k, s):
    o = (h + 2 * (k // 2) - k) // s + 1
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], kernel_shape=[k, k], strides=[s, s], pads=[k // 2] * 4),
             helper.make_node("BatchNormalization", ["a", "g", "b", "mean", "var"], ["n"]), helper.make_node("Relu", ["n"], ["y"])]
    var = numpy_helper.from_array(np.abs(RNG.normal(1, 0.1, m)).astype(np.float32), "var")
    return model(nodes, {"x": [1, c, h, h]}, {"y": [1, m, o, o]}, [constant("w", m, c, k, k), constant("g", m), constant("b", m), constant("mean", m), var])


def matmul_add_gelu(rows, k, n):
    half, one, root = constant("half", scale=0.5), constant("one", scale=1.0), constant("root", scale=2 ** 0.5)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Add", ["a", "b"], ["s"]), helper.make_node("Div", ["s", "root"], ["d"]),
             helper.make_node("Erf", ["d"], ["e"]), helper.make_node("Add", ["e", "one"], ["p"]), helper.make_node("Mul", ["s", "p"], ["q"]), helper.make_node("Mul", ["q", "half"], ["y"])]
    return model(nodes, {"x": [rows, k]}, {"y": [rows, n]}, [constant("w", k, n), constant("b", n), half, one, root])


def slice_transpose_reshape(b, s, h, d):
    ints = lambda name, *v: numpy_helper.from_array(np.array(v, np.int64), name)
    nodes = [helper.make_node("Slice", ["x", "from", "to", "axis"], ["a"]), helper.make_node("Reshape", ["a", "heads"], ["r"]),
             helper.make_node("Transpose", ["r"], ["t"], perm=[0, 2, 1, 3]), helper.make_node("Reshape", ["t", "flat"], ["y"])]
    return model(nodes, {"x": [b, s, 3 * h * d]}, {"y": [b * h, s, d]},
                 [ints("from", h * d), ints("to", 2 * h * d), ints("axis", 2), ints("heads", b, s, h, d), ints("flat", b * h, s, d)])


CLAIMS = [
    ("Conv-BN-ReLU", (1.8, 2.5), conv_bn_relu, [(64, 64, 56, 3, 1), (128, 128, 28, 3, 1), (64, 64, 56, 1, 1), (16, 16, 224, 1, 1), (8, 8, 256, 3, 1), (3, 64, 224, 7, 2)]),
    ("MatMul-Add-Gelu", (3.0, 4.0), matmul_add_gelu, [(128, 768, 3072), (512, 768, 3072), (1, 768, 3072), (1024, 16, 4096), (4096, 8, 1024), (2048, 32, 2048)]),
    ("Slice-Transpose-Reshape", (5.0, 8.0), slice_transpose_reshape, [(1, 128, 12, 64), (1, 512, 12, 64), (8, 128, 12, 64), (1, 1024, 16, 64)]),
]


def limit(path, policy, threads):
    tool = os.path.join(os.path.dirname(os.environ["OPFUSE_LIBRARY"]), "opfuse")
    done = subprocess.run([tool, "profile", path, "--json", "-q", "--runs", "1", "--threads", str(threads), "--fuse", policy], capture_output=True, text=True, check=True)
    return sum(s["limit_ms"] for s in json.loads(done.stdout)["steps"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--json")
    args = parser.parse_args()
    os.environ["OPFUSE_LIBRARY"] = os.path.abspath(args.library)
    rows = []
    print(f"{'shape':28s}{'fused ms':>10s}{'unfused':>10s}{'gain':>7s}{'ceiling':>9s}{'unfused/ort off':>17s}{'fused/ort':>11s}")
    with tempfile.TemporaryDirectory() as folder:
        for claim, (low, high), build, shapes in CLAIMS:
            print(f"{claim}: claimed {low}–{high}")
            for shape in shapes:
                path = os.path.join(folder, "claim.onnx")
                onnx.save(build(*shape), path)
                feeds = E.feeds_for(path)
                made, _ = compare.make(("opfuse", "unfused", "ort", "ort_off"), path, feeds, args.threads)
                ms = {k: min(v) for k, v in compare.race(made, args.seconds).items()}
                ceiling = limit(path, "none", args.threads) / limit(path, "best", args.threads)
                gain = ms["unfused"] / ms["opfuse"]
                reached = gain >= low or gain >= 0.8 * ceiling
                rows.append({"claim": claim, "shape": shape, "ms": ms, "gain": gain, "ceiling": ceiling, "reached": reached})
                print(f"  {str(shape):26s}{ms['opfuse']:10.3f}{ms['unfused']:10.3f}{gain:7.2f}{ceiling:9.2f}{ms['unfused'] / ms['ort_off']:17.2f}{ms['opfuse'] / ms['ort']:11.2f}"
                      f"{'' if reached else '   below the claim and 80 % of the ceiling'}", flush=True)
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"schema": 1, "rows": rows}, f, indent=1)


if __name__ == "__main__":
    main()
