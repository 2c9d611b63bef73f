"""What arithmetic allows: fused multiply-adds of float32 a second, in one thread on the machine at hand.

The machine table describes a class of machines; a share of the peak is judged by what the core reaches in the same run."""
import native

# As many sums as hide the latency of a multiply-add with two a cycle, each waiting for nothing but itself; no operand comes from memory.
SOURCE = r"""
#include <time.h>
#if defined(__AVX512F__)
enum { lanes = 16 };
#elif defined(__AVX__)
enum { lanes = 8 };
#else
enum { lanes = 4 };
#endif
typedef float vector __attribute__((vector_size(4 * lanes)));
#define EACH(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9)
double peak(int rounds) {
    enum { steps = 100000 };
    double best = 0;
    for (int r = 0; r < rounds; r++) {
        vector x, y;
        for (int i = 0; i < lanes; i++) x[i] = 0.5f, y[i] = 1.0f;
#define BEGIN(i) vector s##i = y;
        EACH(BEGIN)
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        for (int k = 0; k < steps; k++) {
#define STEP(i) s##i = s##i * x + y;
            EACH(STEP)
#define KEEP(i) __asm__ volatile("" : "+x"(s##i));
            EACH(KEEP)
        }
        clock_gettime(CLOCK_MONOTONIC, &b);
        double seconds = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec), rate = 2.0 * 10 * lanes * steps / seconds;
        if (rate > best) best = rate;
    }
    return best;
}
"""


_peak = None


def flops_per_second():
    """The most of some tens of runs of half a millisecond each."""
    global _peak
    _peak = _peak or native.load(SOURCE, "peak")
    return _peak(60)
