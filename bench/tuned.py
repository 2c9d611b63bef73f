#!/usr/bin/env python3
"""What tuning gains over the heuristic, model by model, kernel by kernel.

    bench/tuned.py OPFUSE MODEL[=DATA]... [--budget 120s] [--rounds 7] [--threads 1] [--folder DIR]

Each model is tuned for the budget with a database of its own (DIR/<model>.db, kept: a further call goes on from it), then benched by the
heuristic (--db none) and with the database in turns: `rounds` processes each, the median of a process's runs, the median over processes.
Printed: both times, their ratio with the least and the largest of a round, how many kernels of how many have a better schedule, and
below each model the kernels that gained more than 5 per cent with what their schedule differs in. The last line is the geometric mean.

--second checks that a second run with the database reaches the result at once: it tells how long `run` takes to be ready, and that the
code is the same from one build to the next."""
import argparse, hashlib, json, math, os, re, statistics, subprocess, sys, tempfile, time

GAINED = 1.05


def call(argv):
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(argv)}: status {done.returncode}\n{done.stderr}")
    return done.stdout


def name_of(model):
    base = os.path.basename(model)
    return os.path.basename(os.path.dirname(os.path.abspath(model))) if base == "model.onnx" else os.path.splitext(base)[0]


def kernels_of(table):
    """The lines of tune's table: (ms a run, calls, default, best or None, kernel, choices)."""
    kernels = []
    for line in table.splitlines():
        row = re.match(r"\s+([\d.]+)\s+(\d+)\s+([\d.]+)\s+(-|[\d.]+)\s+(?:-|[\d.]+)\s+\d+\s+(.*)", line)
        if row:
            kernels.append([float(row[1]), int(row[2]), float(row[3]), None if row[4] == "-" else float(row[4]), row[5], ""])
        elif kernels and "=" in line and line.startswith("           "):
            kernels[-1][5] = line.strip()
    return kernels


def bench(opfuse, model, options, cache, database):
    out = json.loads(call([opfuse, "bench", model, "--json", "-q", "--runs", "30", "--db", database, "--cache", cache] + options))
    return statistics.median(out["ms"])


def second_run(opfuse, model, options, database):
    """Seconds until a result, from an empty cache and from a full one; and whether two builds give the same text."""
    seconds, texts = [], []
    with tempfile.TemporaryDirectory() as cache:
        for _ in range(2):
            begin = time.monotonic()
            call([opfuse, "run", model, "-q", "--db", database, "--cache", cache] + options)
            seconds.append(time.monotonic() - begin)
            text = call([opfuse, "explain", model, "-q", "--dump-after=emit", "--db", database, "--cache", cache] + options)
            texts.append(hashlib.sha256(text.encode()).hexdigest())
    return seconds, texts[0] == texts[1]


def one(given, model, data):
    database = os.path.join(given.folder, name_of(model) + ".db")
    options, cache = ["--threads", str(given.threads)] + (["--data", data] if data else []), os.path.join(given.folder, "cache")
    table = call([given.opfuse, "tune", model, "--budget", given.budget, "--db", database, "-q", "--cache", cache] + options)
    usual, tuned = [], []
    for kind in ("none", database):
        bench(given.opfuse, model, options, cache, kind)  # compiles
    for _ in range(given.rounds):
        usual.append(bench(given.opfuse, model, options, cache, "none"))
        tuned.append(bench(given.opfuse, model, options, cache, database))
    ratios = [b / a for a, b in zip(usual, tuned)]
    ratio, kernels = statistics.median(ratios), kernels_of(table)
    better = [k for k in kernels if k[3]]
    print(f"{name_of(model):26} {statistics.median(usual):10.3f} {statistics.median(tuned):10.3f}   {ratio:5.3f} ({min(ratios):.3f} to {max(ratios):.3f})   {len(better)} of {len(kernels)}")
    for ms, calls, default, best, kernel, choices in better:
        if default / best > GAINED:
            print(f"    {default / best:5.2f}  {default:8.4f} -> {best:8.4f} ms, {calls} a run  {kernel[:110]}\n           {choices}")
    if given.second:
        seconds, same = second_run(given.opfuse, model, options, database)
        print(f"    ready in {seconds[0]:.2f} s with an empty cache, {seconds[1]:.2f} s with a full one; the same code twice: {'yes' if same else 'NO'}")
    sys.stdout.flush()
    return ratio


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("opfuse")
    arguments.add_argument("models", nargs="+", metavar="MODEL[=DATA]")
    arguments.add_argument("--budget", default="120s")
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--threads", type=int, default=1)
    arguments.add_argument("--folder")
    arguments.add_argument("--second", action="store_true")
    given = arguments.parse_args()
    given.opfuse = os.path.abspath(given.opfuse)
    made = None if given.folder else tempfile.TemporaryDirectory()
    given.folder = os.path.abspath(given.folder or made.name)
    os.makedirs(given.folder, exist_ok=True)
    print(f"{'model':26} {'heuristic':>10} {'tuned':>10} ms  ratio (least to largest)    better kernels")
    ratios = [one(given, *(model.split("=", 1) + [""])[:2]) for model in given.models]
    print(f"geometric mean of the ratios: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}")


if __name__ == "__main__":
    main()
