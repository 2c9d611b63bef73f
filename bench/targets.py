"""The targets of single kernels: each beside its best peer, in turns in one process.

usage: targets.py LIBRARY [--only WORD] [--seconds S] [--threads N] [--engines a,b,…] [--json FILE]

A row: milliseconds of opfuse and of the best peer whose numbers are right, their ratio, the share of opfuse's time that a direct
count of operations and bytes explains by the machine table (above 100 % with Winograd's products), the target, and whether it is
met. A row without a right peer has no ratio, and its target is neither met nor missed: it is counted apart. The times of
peers that are wrong stand behind (compare.py says who is right).
The target is the largest ratio, or, of contractions by their share of the peak (of multiply-adds, as a loop of nothing else reaches it beside them) and of
memory-bound kernels by their share of a copy (plain or past the caches, whichever is faster), the least share. Starts, and the peak of memory of a run (at most 1.15 x (weights as they are used + workspace) + 10 MiB), are measured on models below
build/models. `--only WORD`: the rows whose section or name has the word. Exit status 3 where a target is missed."""
import argparse
import json
import os
import sys
import tempfile

import onnx

import compare
import kernels as K
import memory
import peak

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

OTHERS = [
    ("matmul + Gelu", 0.93, [
        ("128x768x3072", lambda: K.matmul_gelu(128, 768, 3072))]),
    ("matrix x vector, in cache", 0.80, [
        ("512x512", lambda: K.matvec(512, 512))]),
    ("matrix x vector, from memory", 0.95, [
        ("4096x4096", lambda: K.matvec(4096, 4096))]),
    ("attention", 0.97, [
        ("12x128x64", lambda: K.attention(12, 128, 64)),
        ("12x512x64", lambda: K.attention(12, 512, 64))]),
    ("long attention", 0.90, [
        ("12x1024x64", lambda: K.attention(12, 1024, 64))]),
    ("layer norm, RMS norm", 0.45, [
        ("layer norm 128x768", lambda: K.layer_norm(128, 768)),
        ("RMS norm 128x768", lambda: K.rms_norm(128, 768))]),
    ("softmax, short rows", 0.80, [
        ("1536x64", lambda: K.softmax(1536, 64)),
        ("1536x128", lambda: K.softmax(1536, 128)),
        ("2364x197", lambda: K.softmax(2364, 197))]),
    ("softmax, long rows", 1.00, [
        ("128x1000", lambda: K.softmax(128, 1000)),
        ("16x30522", lambda: K.softmax(16, 30522))]),
    ("movement", 0.45, [
        ("transpose 768x1024", lambda: K.transpose((768, 1024), (1, 0))),
        ("transpose 56x56x64 → 64x56x56", lambda: K.transpose((56, 56, 64), (2, 0, 1))),
        ("qkv split 128, 12x64", lambda: K.qkv_split(128, 12, 64)),
        ("focus 3, 224²", lambda: K.focus(3, 224)),
        ("shuffle 232 by 2, 28²", lambda: K.shuffle(232, 2, 28)),
        ("concat 64 + 64, 28²", lambda: K.concat(64, 28))]),
    ("element-wise chain", 0.85, [
        ("16 of 1 M", lambda: K.chain(1 << 20))]),
    ("chain with functions", 0.68, [
        ("16 with sigmoid, tanh, erf", lambda: K.chain(1 << 20, ("Sigmoid", "Tanh", "Erf")))]),
    ("other reductions and resampling", 1.00, [
        ("CumSum 512x512 along rows", lambda: K.running_sum(512, 512, 1)),
        ("CumSum 512x512 along columns", lambda: K.running_sum(512, 512, 0)),
        ("Resize linear 64, 56² * 2", lambda: K.resize(64, 56, 2))]),
    ("small contractions", 0.95, [
        ("64 of 32x32x32", lambda: K.matmul(32, 32, 32, (64,))),
        ("4x1024x1024", lambda: K.matmul(4, 1024, 1024)),
        ("16x256x256", lambda: K.matmul(16, 256, 256))]),
    ("recurrent", 1.00, [
        ("LSTM 50 steps, 128", lambda: K.recurrent("LSTM", 50, 128, 128)),
        ("LSTM 50 steps, 256, batch 8", lambda: K.recurrent("LSTM", 50, 256, 256, 8)),
        ("GRU 50 steps, 128", lambda: K.recurrent("GRU", 50, 128, 128))]),
    ("float16", 1.00, [
        ("MatMul 128x768x768", lambda: K.matmul_half(128, 768, 768)),
        ("MatMul 1x768x768", lambda: K.matmul_half(1, 768, 768)),
        ("MatMul 1x4096x4096", lambda: K.matmul_half(1, 4096, 4096))]),
    ("8-bit integers", 1.00, [
        ("MatMulInteger 128x768x768", lambda: K.matmul_integer(128, 768, 768)),
        ("MatMulInteger 1x768x768", lambda: K.matmul_integer(1, 768, 768)),
        ("QLinearConv 3x3 64, 56²", lambda: K.qlinear_conv(64, 64, 56, 3)),
        ("QLinearConv 1x1 64 → 256, 56²", lambda: K.qlinear_conv(64, 256, 56, 1)),
        ("QLinearConv 3x3 3 → 32, 224² / 2", lambda: K.qlinear_conv(3, 32, 224, 3, 2))]),
]

# (section, least share of this core's peak of multiply-adds by a direct count, kernels): at least 20 FLOPs a byte, all extents at least 64.
SHARES = [
    ("contractions, share of the peak", 0.88, [
        ("matmul 512x512x512", lambda: K.matmul(512, 512, 512)),
        ("matmul 128x768x3072", lambda: K.matmul(128, 768, 3072)),
        ("matmul 1024x256x1024", lambda: K.matmul(1024, 256, 1024)),
        ("1x1 256 → 256, 28²", lambda: K.conv_relu(256, 256, 28, 1)),
        ("3x3 128 → 128, 56² / 2", lambda: K.conv_relu(128, 128, 56, 3, stride=2)),
        ("5x5 64 → 128, 28²", lambda: K.conv_relu(64, 128, 28, 5))]),
]

# (model below build/models, seconds to start with an empty cache, and with a filled one: until the first result, less what a later run takes. None: no target)
STARTS = [
    ("light_resnet50_rand/model.onnx", 8, 0.05),
    ("perf/bert4.onnx", 10, None),
]

SECTIONS = CONVOLUTIONS + OTHERS


def measure(name, model, target, threads, seconds, engines, folder, share=False):
    path = os.path.join(folder, "kernel.onnx")
    onnx.save(model, path)
    before = peak.flops_per_second() if share else 0
    row = compare.measure(path, threads, seconds, engines, False)
    limit = row["limit_ms"] / row["ms"]["opfuse"] if row["limit_ms"] else None
    if share:  # of what the core reaches now, for clocks differ and the machine table describes a class
        limit = row["flops"] and row["flops"] / (row["ms"]["opfuse"] / 1000 * threads * max(before, peak.flops_per_second()))
        met = limit is not None and limit >= target
    else:
        met = None if row["ratio"] is None else row["ratio"] <= target
    return {"kernel": name, "ms": row["ms"], "right": row["right"], "peer": row["peer"], "ratio": row["ratio"], "of_limit": limit, "target": target, "met": met}


def verdict(met):
    return "no right peer" if met is None else "met" if met else "MISSED"


def show(row):
    wrong = " ".join(f"{k} WRONG" + (f" ({row['ms'][k]:.4f})" if k != "opfuse" else "") for k, v in row["right"].items() if not v)
    share = f"{100 * row['of_limit']:4.0f} %" if row["of_limit"] else "     -"
    peer = row["ms"][row["peer"]] if row["peer"] else float("nan")
    print(f"  {row['kernel']:32s}{row['ms']['opfuse']:9.4f}{peer:9.4f} {row['peer'] or '-':9s}{row['ratio'] or float('nan'):6.2f}{share}{row['target']:8.2f}  "
          f"{verdict(row['met'])}  {wrong}", flush=True)


def measure_starts(models):
    """Each model's cold and warm start in a process of its own, with a cache of its own."""
    rows = []
    for name, cold, warm in STARTS:
        path = os.path.join(models, name)
        if not os.path.exists(path):
            print(f"  {name}: not there; script/bench without arguments fetches it")
            continue
        with tempfile.TemporaryDirectory() as cache:
            os.environ["OPFUSE_CACHE"] = cache
            for what, target in (("cold", cold), ("warm", warm)):
                made = [compare.alone("opfuse", path, 1) for _ in range(1 if what == "cold" else 5)]
                best = min((m for m in made if m), key=lambda m: m["start_seconds"])
                met = target is None or best["start_seconds"] <= target
                rows.append({"section": "start", "kernel": f"{name} {what}", "seconds": best["start_seconds"], "first_result": best["ready_seconds"], "peak_mib": best["peak_mib"], "target": target, "met": met})
                print(f"  {name + ', ' + what:40s}{best['start_seconds']:9.3f} s (first result after {best['ready_seconds']:.3f}), peak {best['peak_mib']:.0f} MiB ({best['before_mib']:.0f} before), "
                      f"target {f'{target} s' if target else '-'}  {verdict(met)}", flush=True)
            most, allowed = memory.peak_mib(os.environ["OPFUSE_TOOL"], path), memory.allowed_mib(os.environ["OPFUSE_TOOL"], path)
            rows.append({"section": "memory", "kernel": f"{name} warm", "peak_mib": most, "target": allowed, "met": most <= allowed})
            print(f"  {name + ', peak of a warm run':40s}{most:9.1f} MiB, target {allowed:.1f} MiB  {verdict(most <= allowed)}", flush=True)
            del os.environ["OPFUSE_CACHE"]
    return rows


def measure_memory_bound(only, threads, seconds, folder):
    """A kernel's bytes a second beside those of the fastest copy of as many."""
    rows, path = [], os.path.join(folder, "kernel.onnx")
    for section, target, kernels in memory.MEMORY:
        chosen = [k for k in kernels if only in section or only in k[0]]
        print(section if chosen else "", end="\n" if chosen else "")
        for name, build, moved in chosen:
            onnx.save(build(), path)
            copy = 1000 * memory.fastest_copy(moved)
            row = compare.measure(path, threads, seconds, ["opfuse"], False)
            share = copy / row["ms"]["opfuse"]
            rows.append({"section": section, "kernel": name, "ms": row["ms"], "copy_ms": copy, "of_copy": share, "right": row["right"], "target": target, "met": share >= target})
            print(f"  {name:32s}{row['ms']['opfuse']:9.4f}{copy:9.4f} copy           {100 * share:4.0f} %{target:8.2f}  {verdict(share >= target)}"
                  f"{'' if row['right']['opfuse'] else '  WRONG'}", flush=True)
    return rows


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
    os.environ["OPFUSE_TOOL"] = os.path.join(os.path.dirname(os.environ["OPFUSE_LIBRARY"]), "opfuse")
    rows = []
    print(f"{'kernel':34s}{'ms':>9s}{'peer':>9s}{'':10s}{'ratio':>6s}{'limit':>6s}{'target':>8s}")
    with tempfile.TemporaryDirectory() as folder:
        for section, target, kernels in SECTIONS + SHARES:
            chosen = [k for k in kernels if args.only in section or args.only in k[0]]
            if chosen:
                print(section)
            for name, build in chosen:
                share = any(section == s[0] for s in SHARES)
                rows.append(measure(name, build(), target, args.threads, args.seconds, args.engines.split(","), folder, share))
                rows[-1]["section"] = section
                show(rows[-1])
        rows += measure_memory_bound(args.only, args.threads, args.seconds, folder)
    if args.only in "start, cold and warm":
        print("start, cold and warm")
        rows += measure_starts(os.path.join(os.path.dirname(os.path.dirname(os.environ["OPFUSE_LIBRARY"])), "models"))
    met, missed, apart = (sum(row["met"] is value for row in rows) for value in (True, False, None))
    print(f"{met} of {met + missed} targets met" + (f", {apart} without a right peer" if apart else ""))
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"schema": 2, "threads": args.threads, "met": met, "missed": missed, "without_right_peer": apart, "rows": rows}, f, indent=1)
    return 3 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
