"""opfuse beside the engines that a user would pick instead, in turns in one process.

usage: compare.py LIBRARY MODEL.onnx… [--threads N[,N]] [--seconds S] [--engines a,b,…] [--memory] [--json FILE] [--plot FILE.svg]

For each model all engines run in turns on the same inputs. Printed are minima in milliseconds and ratios of minima; `a/b` below 1
means a is faster. "best peer" is the fastest engine whose outputs agree with ONNX Runtime's without optimisation, of models that
multiply bytes with weights made uint8, which is exact on every processor (engines.py, Exact); an engine that disagrees is marked WRONG and is no
peer. "limit" is the share of the time that bytes and FLOPs explain by the machine table
(opfuse profile). --memory: time until ready and peak memory of each engine, in processes of their own."""
import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np

import engines as E


def agree(a, b):
    """Within a thousandth, or a few of the last places of float16."""
    return len(a) == len(b) and all(
        x.shape == y.shape and np.allclose(x, y, rtol=4e-3 if y.dtype == np.float16 else 1e-3, atol=1e-4 * max(1e-6, float(np.abs(y[np.isfinite(y)]).max(initial=0))), equal_nan=True)
        for x, y in zip(a, b))


def make(names, path, feeds, threads):
    """name → engine, and name → why there is none."""
    made, missing = {}, {}
    for name in names:
        try:
            made[name] = E.ENGINES[name](path, feeds, threads)
            made[name].run()
        except Exception as error:  # one engine must not hide the others
            made.pop(name, None)
            missing[name] = (str(error).strip().splitlines() or ["failed"])[0][:120]
    return made, missing


def race(made, seconds):
    """Milliseconds of each engine's runs, in turns. Each turn first runs once untimed: the engine before has filled the caches, and an
    engine that is used finds its own data there."""
    times = {name: [] for name in made}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(next(iter(times.values()))) < 5:
        for name, engine in made.items():
            engine.run()
            begun = time.perf_counter()
            engine.run()
            times[name].append((time.perf_counter() - begun) * 1e3)
    return times


def counted(path, feeds, threads, policy="best"):
    """Milliseconds that the machine table allows for all steps, and their operations by a direct count; None where they cannot be told."""
    tool = os.path.join(os.path.dirname(os.environ["OPFUSE_LIBRARY"]), "opfuse")
    shapes = [x for n, a in feeds.items() if a.ndim for x in ("--shape", f"{n}={','.join(map(str, a.shape))}")]
    done = subprocess.run([tool, "profile", path, "--json", "-q", "--runs", "1", "--threads", str(threads), "--fuse", policy, *shapes], capture_output=True, text=True)
    if done.returncode:
        return None, None
    steps = json.loads(done.stdout)["steps"]
    return sum(s["limit_ms"] for s in steps), sum(s["flops"] for s in steps)


def name_of(path):
    stem = os.path.basename(path)[:-5]
    return stem if stem != "model" else os.path.basename(os.path.dirname(path))


def measure(path, threads, seconds, names, memory):
    feeds = E.feeds_for(path)
    made, missing = make(names, path, feeds, threads)
    if "opfuse" not in made:
        raise RuntimeError(missing["opfuse"])
    judge = E.Exact(path, feeds, threads) if E.multiplies_bytes(path) else made.get("ort_off") or E.OrtOff(path, feeds, threads)
    judge.run()
    expected = judge.results(64)
    right = {name: agree(engine.results(len(expected)), expected) for name, engine in made.items()}
    times = race(made, seconds)
    row = {"model": name_of(path), "threads": threads, "runs": len(times["opfuse"]), "right": right, "missing": missing,
           "ms": {k: min(v) for k, v in times.items()}, "median_ms": {k: float(np.median(v)) for k, v in times.items()}}
    peers = {k: row["ms"][k] for k in E.PEERS if k in times and right[k]}
    row["peer"] = min(peers, key=peers.get) if peers else None
    row["ratio"] = row["ms"]["opfuse"] / peers[row["peer"]] if peers else None
    row["limit_ms"], row["flops"] = counted(path, feeds, threads)
    if memory:
        row["memory"] = {name: alone(name, path, threads) for name in made}
    return row


def alone(name, path, threads):
    done = subprocess.run([sys.executable, os.path.join(E.HERE, "engines.py"), name, path, str(threads)], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


# ---- print ----

def number(value, form):
    return format(value, form) if value is not None else "-".rjust(int(form.split(".")[0] or 1))


def show(row, names):
    ms = row["ms"]
    marks = " ".join(f"{k} WRONG" for k, v in row["right"].items() if not v)
    cells = "".join(number(ms.get(n), "10.3f") for n in names)
    unfused = ms["unfused"] / ms["ort_off"] if "unfused" in ms and "ort_off" in ms else None
    gain = ms["unfused"] / ms["opfuse"] if "unfused" in ms else None
    limit = 100 * row["limit_ms"] / ms["opfuse"] if row["limit_ms"] else None
    print(f"{row['model']:32s}{cells} {number(row['ratio'], '7.2f')} {row['peer'] or '-':9s}{number(unfused, '9.2f')}{number(gain, '7.2f')}{number(limit, '7.0f')} %  {marks}", flush=True)
    for name, memory in (row.get("memory") or {}).items():
        if memory:
            print(f"    {name:10s} ready in {memory['ready_seconds']:7.3f} s, peak {memory['peak_mib']:8.1f} MiB ({memory['before_mib']:.1f} before)")


def mean(values):
    values = [v for v in values if v]
    return float(np.exp(np.mean(np.log(values)))) if values else None


def show_means(rows):
    ratios = [r["ratio"] for r in rows]
    print(f"geometric means: opfuse/best peer {number(mean(ratios), '.2f')}", end="")
    for peer in E.PEERS:
        each = [r["ms"]["opfuse"] / r["ms"][peer] for r in rows if peer in r["ms"] and r["right"][peer]]
        if each:
            print(f", opfuse/{peer} {mean(each):.2f} ({len(each)} models)", end="")
    unfused = [r["ms"]["unfused"] / r["ms"]["ort_off"] for r in rows if "unfused" in r["ms"] and "ort_off" in r["ms"]]
    print(f", unfused/ort off {mean(unfused):.2f}" if unfused else "")


def plot(rows, path):
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    shown = [e for e in ("opfuse", *E.PEERS) if any(e in r["ms"] for r in rows)]
    figure, axes = plt.subplots(figsize=(9, 0.9 + 0.42 * len(rows)))
    height = 0.8 / len(shown)
    for k, engine in enumerate(shown):
        values = [r["ms"][engine] / r["ms"]["opfuse"] if engine in r["ms"] and r["right"][engine] else np.nan for r in rows]
        axes.barh(np.arange(len(rows)) + (k - len(shown) / 2 + 0.5) * height, values, height, label=engine)
    axes.set_yticks(range(len(rows)), [f"{r['model']} ({r['threads']})" for r in rows], fontsize=7)
    axes.axvline(1, color="black", linewidth=0.6)
    axes.invert_yaxis()
    axes.set_xlabel("time relative to opfuse (longer is slower), threads in brackets")
    axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--engines", default="opfuse,unfused,ort,ort_off")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--plot")
    args = parser.parse_args()
    os.environ["OPFUSE_LIBRARY"] = os.path.abspath(args.library)
    names, rows = args.engines.split(","), []
    for threads in map(int, args.threads.split(",")):
        print(f"{'model, %d thread%s' % (threads, 's' if threads > 1 else ''):32s}" + "".join(f"{n:>10s}" for n in names) + "   ratio best peer unf/off   gain  limit    ms, minima")
        for path in args.models:
            try:
                rows.append(measure(path, threads, args.seconds, names, args.memory))
            except Exception as error:  # one model must not hide the others
                print(f"{path}: {error}", flush=True)
                continue
            show(rows[-1], names)
        show_means([r for r in rows if r["threads"] == threads])
    missing = {(n, w) for r in rows for n, w in r["missing"].items()}
    for name, why in sorted(missing):
        print(f"without {name}: {why}")
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"schema": 1, "rows": rows}, f, indent=1)
    if args.plot:
        plot(rows, args.plot)


if __name__ == "__main__":
    main()
