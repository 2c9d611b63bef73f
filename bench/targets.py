"""The targets of single kernels: each beside its best peer, in turns in one process.

usage: targets.py LIBRARY [--only WORD] [--seconds S] [--threads N] [--engines a,b,…] [--json FILE]

A row: milliseconds of opfuse and of the best peer whose numbers are right, their ratio, the share of opfuse's time that a direct
count of operations and bytes explains by the machine table (above 100 % with Winograd's products), the target, and whether it is
met. `--only WORD`: the rows whose section or name has the word. Exit status 3 where a target is missed."""
import argparse
import json
import os
import sys
import tempfile

import onnx

import compare
import kernels as K

# (section, largest ratio to the best peer, [(name, model)…]); a model is made when its turn comes.
CONVOLUTIONS = [
    ("3x3, Winograd", 0.45, [
        ("64, 56²", lambda: K.conv_relu(64, 64, 56, 3)),
        ("128, 28²", lambda: K.conv_relu(128, 128, 28, 3)),
        ("256, 14²", lambda: K.conv_relu(256, 256, 14, 3))]),
    ("bottleneck", 0.65, [
        ("256-64-256, 56²", lambda: K.bottleneck(256, 64, 56))]),
    ("depth-wise + point-wise", 0.65, [
        ("144 → 24, 56²", lambda: K.depthwise_pointwise(144, 24, 56))]),
    ("squeeze-excite", 0.50, [
        ("96-24, 28²", lambda: K.squeeze_excite(96, 24, 28)),
        ("240-64, 14²", lambda: K.squeeze_excite(240, 64, 14))]),
    ("other convolutions", 1.00, [
        ("1x1 64 → 256, 56²", lambda: K.conv_relu(64, 256, 56, 1)),
        ("1x1 256 → 64, 56²", lambda: K.conv_relu(256, 64, 56, 1)),
        ("1x1 1024 → 256, 14²", lambda: K.conv_relu(1024, 256, 14, 1)),
        ("1x1 512 → 2048, 7²", lambda: K.conv_relu(512, 2048, 7, 1)),
        ("1x1 256 → 512, 56² / 2", lambda: K.conv_relu(256, 512, 56, 1, stride=2)),
        ("3x3 512, 7²", lambda: K.conv_relu(512, 512, 7, 3)),
        ("3x3 128 → 128, 56² / 2", lambda: K.conv_relu(128, 128, 56, 3, stride=2)),
        ("3x3 3 → 32, 224² / 2", lambda: K.conv_relu(3, 32, 224, 3, stride=2)),
        ("3x3 3 → 64, 224²", lambda: K.conv_relu(3, 64, 224, 3)),
        ("stem 7x7 3 → 64, 224² / 2", lambda: K.conv_relu(3, 64, 224, 7, stride=2)),
        ("11x11 3 → 96, 224² / 4", lambda: K.conv_relu(3, 96, 224, 11, stride=4, pads=2)),
        ("7x7 3 → 96, 224² / 2", lambda: K.conv_relu(3, 96, 224, 7, stride=2, pads=1)),
        ("5x5 96 → 256, 26², 2 groups", lambda: K.conv_relu(96, 256, 26, 5, groups=2)),
        ("5x5 32 → 64, 28²", lambda: K.conv_relu(32, 64, 28, 5)),
        ("3x3 64, 28², dilated by 2", lambda: K.conv_relu(64, 64, 28, 3, dilation=2)),
        ("3x3 128, 28², 32 groups", lambda: K.conv_relu(128, 128, 28, 3, groups=32)),
        ("1x1 112, 28², 4 groups", lambda: K.conv_relu(112, 112, 28, 1, groups=4)),
        ("1-D 9 of 64, 1024", lambda: K.conv_relu(64, 64, 1024, 9, dims=1)),
        ("1-D depth-wise 7 of 256, 512", lambda: K.conv_relu(256, 256, 512, 7, groups=256, dims=1)),
        ("1x1 256 → 64, 7², batch 8", lambda: K.conv_relu(256, 64, 7, 1, batch=8))]),
    ("depth-wise", 1.00, [
        ("3x3 96, 112² / 2", lambda: K.depthwise_clip(96, 112, 3, 2)),
        ("3x3 144, 56²", lambda: K.depthwise_clip(144, 56, 3)),
        ("3x3 192, 28²", lambda: K.depthwise_clip(192, 28, 3)),
        ("3x3 384, 14²", lambda: K.depthwise_clip(384, 14, 3)),
        ("3x3 576, 14² / 2", lambda: K.depthwise_clip(576, 14, 3, 2)),
        ("3x3 960, 7²", lambda: K.depthwise_clip(960, 7, 3)),
        ("5x5 120, 28²", lambda: K.depthwise_clip(120, 28, 5)),
        ("5x5 240, 28² / 2", lambda: K.depthwise_clip(240, 28, 5, 2)),
        ("5x5 672, 14²", lambda: K.depthwise_clip(672, 14, 5)),
        ("5x5 960, 7²", lambda: K.depthwise_clip(960, 7, 5))]),
    ("inverted bottleneck", 0.95, [
        ("24-144-24, 56²", lambda: K.inverted_bottleneck(24, 144, 56)),
        ("64-384-64, 14²", lambda: K.inverted_bottleneck(64, 384, 14))]),
    ("transposed convolution", 1.00, [
        ("2x2 64 → 64, 28² * 2", lambda: K.transposed(64, 64, 28, 2, 2)),
        ("4x4 128 → 64, 14² * 2", lambda: K.transposed(128, 64, 14, 4, 2, 1)),
        ("3x3 64 → 64, 28² * 1", lambda: K.transposed(64, 64, 28, 3, 1, 1))]),
]

SECTIONS = CONVOLUTIONS


def measure(name, model, target, threads, seconds, engines, folder):
    path = os.path.join(folder, "kernel.onnx")
    onnx.save(model, path)
    row = compare.measure(path, threads, seconds, engines, False)
    limit = row["limit_ms"] / row["ms"]["opfuse"] if row["limit_ms"] else None
    met = row["ratio"] is None or row["ratio"] <= target
    return {"kernel": name, "ms": row["ms"], "right": row["right"], "peer": row["peer"], "ratio": row["ratio"], "of_limit": limit, "target": target, "met": met}


def show(row):
    wrong = " ".join(f"{k} WRONG" for k, v in row["right"].items() if not v)
    share = f"{100 * row['of_limit']:4.0f} %" if row["of_limit"] else "     -"
    peer = row["ms"][row["peer"]] if row["peer"] else float("nan")
    print(f"  {row['kernel']:32s}{row['ms']['opfuse']:9.4f}{peer:9.4f} {row['peer'] or '-':9s}{row['ratio'] or float('nan'):6.2f}{share}{row['target']:8.2f}  "
          f"{'met' if row['met'] else 'MISSED'}  {wrong}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--engines", default="opfuse,ort")
    parser.add_argument("--json")
    args = parser.parse_args()
    os.environ["OPFUSE_LIBRARY"] = os.path.abspath(args.library)
    rows = []
    print(f"{'kernel':34s}{'ms':>9s}{'peer':>9s}{'':10s}{'ratio':>6s}{'limit':>6s}{'target':>8s}")
    with tempfile.TemporaryDirectory() as folder:
        for section, target, kernels in SECTIONS:
            chosen = [k for k in kernels if args.only in section or args.only in k[0]]
            if chosen:
                print(section)
            for name, build in chosen:
                rows.append(measure(name, build(), target, args.threads, args.seconds, args.engines.split(","), folder))
                rows[-1]["section"] = section
                show(rows[-1])
    missed = sum(not row["met"] for row in rows)
    print(f"{len(rows) - missed} of {len(rows)} targets met")
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"schema": 1, "threads": args.threads, "rows": rows}, f, indent=1)
    return 3 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
