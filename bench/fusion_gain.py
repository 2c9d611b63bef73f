"""What fusing brings on the classic claims, over a range of shapes, beside the ceiling that bytes and FLOPs allow.

usage: fusion_gain.py LIBRARY [--threads N] [--seconds S] [--json FILE]

Fused over unfused (minima of runs in turns); the unfused build's ratio to ONNX Runtime without optimisation, for a gain over a slow
baseline says nothing; and the ceiling: the time that the machine table allows the unfused steps over what it allows the fused ones
(opfuse profile). A claim counts as reached where the gain is inside or above its range, or at least 80 % of the ceiling."""
import argparse
import json
import os
import tempfile

import numpy as np
import onnx

import compare
import engines as E
import kernels as K

def conv_bn_relu(c, m, h, k, s):
    net = K.Net(1, c, h, h)
    x = net.conv("x", m, k, s)
    scale, bias, mean = (net.constant(m) for _ in range(3))
    net.op("Relu", net.op("BatchNormalization", x, scale, bias, mean, net.stored(np.abs(net.rng.normal(1, 0.1, m)).astype(np.float32))))
    return net.model()


def matmul_add_gelu(rows, k, n):
    net = K.Net(rows, k)
    s = net.op("Add", net.op("MatMul", "x", net.constant(k, n)), net.constant(n))
    e = net.op("Erf", net.op("Div", s, net.constant(scale=2 ** 0.5)))
    net.op("Mul", net.op("Mul", s, net.op("Add", e, net.constant(scale=1.0))), net.constant(scale=0.5))
    return net.model(rows, n)


def slice_transpose_reshape(b, s, h, d):
    net = K.Net(b, s, 3 * h * d)
    part = net.op("Slice", "x", net.integers(h * d), net.integers(2 * h * d), net.integers(2))
    heads = net.op("Transpose", net.op("Reshape", part, net.integers(b, s, h, d)), perm=[0, 2, 1, 3])
    net.op("Reshape", heads, net.integers(b * h, s, d))
    return net.model(b * h, s, d)


CLAIMS = [
    ("Conv-BN-ReLU", (1.8, 2.5), conv_bn_relu, [(64, 64, 56, 3, 1), (128, 128, 28, 3, 1), (64, 64, 56, 1, 1), (16, 16, 224, 1, 1), (8, 8, 256, 3, 1), (3, 64, 224, 7, 2)]),
    ("MatMul-Add-Gelu", (3.0, 4.0), matmul_add_gelu, [(128, 768, 3072), (512, 768, 3072), (1, 768, 3072), (1024, 16, 4096), (4096, 8, 1024), (2048, 32, 2048)]),
    ("Slice-Transpose-Reshape", (5.0, 8.0), slice_transpose_reshape, [(1, 128, 12, 64), (1, 512, 12, 64), (8, 128, 12, 64), (1, 1024, 16, 64)]),
]


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
                # the two builds of opfuse share their packed weights: neither may find those in the caches that the other has just filled
                made, _ = compare.make(("opfuse", "ort", "unfused", "ort_off"), path, feeds, args.threads)
                ms = {k: min(v) for k, v in compare.race(made, args.seconds).items()}
                ceiling = compare.counted(path, feeds, args.threads, "none")[0] / compare.counted(path, feeds, args.threads)[0]
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
