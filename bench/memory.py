"""What memory allows: how fast a copy is here, and how much memory a loaded model may take."""
import ctypes
import os
import subprocess
import sys
import tempfile

import kernels as K
import native

# Two ways to copy: plain vector stores, and stores past the caches.
SOURCE = r"""
#include <stddef.h>
#include <time.h>
typedef float vector __attribute__((vector_size(32)));
static void plain(vector *to, const vector *from, size_t n) { for (size_t i = 0; i < n; i++) { to[i] = from[i]; __asm__ volatile("" ::: "memory"); } }
#if defined(__AVX__)
static void past(vector *to, const vector *from, size_t n) {
    for (size_t i = 0; i < n; i++) __builtin_ia32_movntps256((float *)(to + i), from[i]);
    __builtin_ia32_sfence();
}
#else
#define past plain
#endif
double fastest(void *to, const void *from, size_t bytes, int rounds) {
    double best = 1e9;
    for (int r = 0; r < rounds; r++)
        for (int way = 0; way < 2; way++) {
            struct timespec a, b;
            clock_gettime(CLOCK_MONOTONIC, &a);
            (way ? past : plain)(to, from, bytes / 32);
            clock_gettime(CLOCK_MONOTONIC, &b);
            double s = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
            if (s < best) best = s;
        }
    return best;
}
"""

# (section, least share of the fastest copy of as many bytes, [(name, model, bytes read and written)…]). Copies of 32 to 128 MiB are beyond
# the last cache of common machines, those of some MiB inside it.
MEMORY = [
    ("memory-bound beyond the last cache, share of a copy", 0.80, [
        ("chain of 16 on 32 M floats", lambda: K.unary_chain(1 << 25, ("Neg", "Abs", "Relu", "Neg")), 8 << 25),
        ("layer norm 32768x1024", lambda: K.layer_norm(32768, 1024), 8 << 25),
        ("transpose 4096x8192", lambda: K.transpose((4096, 8192), (1, 0)), 8 << 25),
        ("concat 2048 + 2048, 56²", lambda: K.concat(2048, 56), 16 * 2048 * 56 * 56)]),
    ("memory-bound inside the last cache, share of a copy", 0.50, [
        ("chain of 16 on 512 K floats", lambda: K.unary_chain(1 << 19, ("Neg", "Abs", "Relu", "Neg")), 8 << 19),
        ("layer norm 512x1024", lambda: K.layer_norm(512, 1024), 8 << 19),
        ("transpose 512x1024", lambda: K.transpose((512, 1024), (1, 0)), 8 << 19),
        ("concat 64 + 64, 56²", lambda: K.concat(64, 56), 16 * 64 * 56 * 56)]),
]


def fastest_copy(moved):
    """Seconds of the faster of both ways to read and write so many bytes in all."""
    copy = native.load(SOURCE, "fastest")
    half = moved // 2 // 64 * 64
    blocks = [ctypes.create_string_buffer(half + 64) for _ in range(2)]
    to, source = (ctypes.c_void_p((ctypes.addressof(b) + 63) // 64 * 64) for b in blocks)
    ctypes.memset(source, 1, half)
    return copy(to, source, ctypes.c_size_t(half), 7 if moved > 1 << 26 else 200)


def allowed_mib(opfuse, model):
    """1.15 x (weights in the form that is used + workspace) + 10 MiB, both as `build` tells them."""
    with tempfile.TemporaryDirectory() as folder:
        told = subprocess.run([opfuse, "build", model, "-o", os.path.join(folder, "model.so"), "-q", "--db", "none"], capture_output=True, text=True, check=True).stdout
    size = {words[0]: int(words[1]) for words in (line.split() for line in told.splitlines()) if len(words) > 2 and words[2].startswith("bytes")}
    return 1.15 * (size["constants"] + size["workspace"]) / 2**20 + 10


# In a small process of its own: a child's peak counts its parent's memory at the time of the fork.
PEAK = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"


def peak_mib(opfuse, model):
    """The peak of a warm `run`, in one thread."""
    command = [sys.executable, "-c", PEAK, opfuse, "run", model, "--threads", "1", "-q"]
    return min(int(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(2)) / 1024
