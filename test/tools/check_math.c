/* Errors of the prelude's float functions in units of the last place, against libm in double.
 *   check_math [-s STRIDE] [-t] [function...]
 * Unary functions: every STRIDE-th of the 2^32 floats, and all special values. Functions of two operands: pairs of special
 * values, and random pairs. -t: time instead, ns an element beside libm's float function. Exit status 1 where an error
 * exceeds the limit that docs/numerics.md states. Needs no library but libm: script/check-math compiles it for each
 * instruction set. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "opf_math.h"
#include "opf_scalar.h"

enum { BLOCK = 2048 };

typedef void map1(const float *restrict, float *restrict);
#define UNARY(name)                                                                                                    \
    static __attribute__((noinline)) void ours_##name(const float *restrict x, float *restrict y) {                    \
        for (int i = 0; i < BLOCK; i++) y[i] = opf_##name##_f32(x[i]);                                                 \
    }                                                                                                                  \
    static __attribute__((noinline)) void libm_##name(const float *restrict x, float *restrict y) {                    \
        for (int i = 0; i < BLOCK; i++) y[i] = name##f(x[i]);                                                          \
    }
#define roundf rintf /* half to even */
UNARY(exp) UNARY(expm1) UNARY(log) UNARY(log1p) UNARY(tanh) UNARY(erf) UNARY(sin) UNARY(cos) UNARY(tan) UNARY(asin) UNARY(acos) UNARY(atan)
UNARY(sinh) UNARY(cosh) UNARY(asinh) UNARY(acosh) UNARY(atanh) UNARY(sqrt) UNARY(floor) UNARY(ceil) UNARY(round) UNARY(trunc)

typedef struct unary { const char *name; map1 *ours, *libm; double (*exact)(double); double limit; float low, high; } unary;
#define ROW(f, limit, low, high) {#f, ours_##f, libm_##f, f, limit, low, high}
static const unary functions[] = {
    ROW(exp, 1.1, -10, 10),    ROW(expm1, 2, -5, 5),      ROW(log, 1.1, .01f, 100), ROW(log1p, 2, -.9f, 100), ROW(tanh, 2, -4, 4),
    ROW(erf, 2, -3, 3),        ROW(sin, 2, -10, 10),      ROW(cos, 2, -10, 10),     ROW(tan, 2, -10, 10),     ROW(asin, 2, -1, 1),
    ROW(acos, 2, -1, 1),       ROW(atan, 2, -10, 10),     ROW(sinh, 2, -10, 10),    ROW(cosh, 2, -10, 10),    ROW(asinh, 2, -10, 10),
    ROW(acosh, 2, 1, 100),     ROW(atanh, 2, -1, 1),      ROW(sqrt, .5, 0, 100),    ROW(floor, 0, -100, 100), ROW(ceil, 0, -100, 100),
    {"round", ours_round, libm_round, rint, 0, -100, 100}, ROW(trunc, 0, -100, 100),
};

/* Spacing of floats at `value`. */
static double spacing(double value) {
    int exponent;
    frexp(value, &exponent);
    return ldexp(1, exponent - 24 < -149 ? -149 : exponent - 24);
}

static double error(float got, double exact) {
    if (exact != exact) return got != got ? 0 : INFINITY;
    float nearest = (float)exact;
    if (got == nearest && !signbit(got) == !signbit(nearest)) return fabs((double)got - exact) < INFINITY ? fabs((double)got - exact) / spacing(exact) : 0;
    if (!(fabsf(got) < INFINITY)) return fabs(exact) >= 0x1.fffffep127 && (got > 0) == (exact > 0) ? 1 : INFINITY;
    if (exact == 0 || (got == 0 && !signbit(got) != !signbit(nearest))) return INFINITY;
    if (!(fabs(exact) < INFINITY)) return INFINITY;
    return fabs((double)got - exact) / spacing(exact);
}

static int check(const unary *f, uint64_t stride) {
    static float x[BLOCK], y[BLOCK];
    double worst = 0;
    float at = 0;
    uint64_t next = 0, inputs = 0;
    while (next < UINT64_C(1) << 32) {
        int n = 0;
        for (; n < BLOCK && next < UINT64_C(1) << 32; n++, next += stride) {
            uint32_t bits = (uint32_t)next;
            memcpy(&x[n], &bits, 4);
        }
        f->ours(x, y);
        for (int i = 0; i < n; i++) {
            double e = error(y[i], f->exact((double)x[i]));
            if (e > worst) worst = e, at = x[i];
        }
        inputs += (uint64_t)n;
    }
    static const float special[] = {0.0f, -0.0f, 1, -1, INFINITY, -INFINITY, NAN, 0x1p-149f, -0x1p-149f, 0x1p-130f, -0x1p-126f, 0x1.fffffep127f, -0x1.fffffep127f,
                                    88.72284f, 88.72283f, -87.3f, -87.4f, -103.9f, -104.5f, 0x1p23f, 0x1.fffffep22f, -0x1.000002p23f, 0.5f, -0.5f, 1.5f, 2.5f, 0x1.fffffep-2f,
                                    0x1.fffffep-1f, 0x1.000002p0f, -0x1.fffffep-1f};
    memset(x, 0, sizeof x);
    memcpy(x, special, sizeof special);
    f->ours(x, y);
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        double e = error(y[i], f->exact((double)x[i]));
        if (e > worst) worst = e, at = x[i];
    }
    int bad = !(worst <= f->limit);
    printf("%-6s %.3f ulp at %.9g (%a), %llu inputs%s\n", f->name, worst, (double)at, (double)at, (unsigned long long)inputs, bad ? "  TOO MUCH" : "");
    fflush(stdout);
    return bad;
}

/* ---- exp_below ---- */

static __attribute__((noinline)) void below(const float *restrict x, float *restrict y) {
    for (int i = 0; i < BLOCK; i++) y[i] = opf_exp_below_f32(-104.6f > x[i] ? -104.6f : x[i]);
}

/* The bits of exp wherever the argument is not above 0. */
static int check_below(uint64_t stride) {
    static float x[BLOCK], y[BLOCK], z[BLOCK];
    uint64_t next = 0, inputs = 0, others = 0;
    while (next < UINT64_C(1) << 32) {
        for (int n = 0; n < BLOCK; next += stride) {
            float value = opf_f32_of_bits((uint32_t)next);
            if (next >> 32) value = -0.0f;
            if (!(value > 0)) x[n++] = value;
        }
        ours_exp(x, y);
        below(x, z);
        for (int i = 0; i < BLOCK; i++) others += y[i] == y[i] ? opf_bits_of_f32(y[i]) != opf_bits_of_f32(z[i]) : z[i] == z[i];
        inputs += BLOCK;
    }
    printf("exp_below %llu of %llu inputs with other bits than exp%s\n", (unsigned long long)others, (unsigned long long)inputs, others ? "  TOO MANY" : "");
    return others != 0;
}

/* ---- exp_raised ---- */

static __attribute__((noinline)) void raised(const float *restrict x, float *restrict y) {
    for (int i = 0; i < BLOCK; i++) y[i] = opf_exp_raised_f32(-104.6f > x[i] ? -104.6f : x[i]);
}

/* 2^24 e^x within 1.1 units wherever the argument is not above 0; from 0 to 2^-126 where e^x is below 2^-150, which counts as 0. */
static int check_raised(uint64_t stride) {
    static float x[BLOCK], y[BLOCK];
    double worst = 0;
    uint64_t next = 0, inputs = 0;
    while (next < UINT64_C(1) << 32) {
        for (int n = 0; n < BLOCK; next += stride) {
            float value = opf_f32_of_bits((uint32_t)next);
            if (next >> 32) value = -0.0f;
            if (!(value > 0)) x[n++] = value;
        }
        raised(x, y);
        for (int i = 0; i < BLOCK; i++) {
            double exact = 0x1p24 * exp((double)x[i]), small = y[i] >= 0 && y[i] <= 0x1p-126f ? 0 : INFINITY;
            double e = exact < 0x1p-126 ? small : error(y[i], exact);
            if (e > worst) worst = e;
        }
        inputs += BLOCK;
    }
    int bad = !(worst <= 1.1);
    printf("exp_raised %.3f ulp, %llu inputs%s\n", worst, (unsigned long long)inputs, bad ? "  TOO MUCH" : "");
    return bad;
}

/* ---- exp_beside ---- */

static __attribute__((noinline)) void beside(const float *restrict x, float *restrict y) {
    for (int i = 0; i < BLOCK; i++) {
        float c = -86.0f > x[i] ? -86.0f : x[i];
        y[i] = 1.0f + opf_exp_beside_f32(89.0f < c ? 89.0f : c);
    }
}

/* The bits of 1 + exp everywhere. */
static int check_beside(uint64_t stride) {
    static float x[BLOCK], y[BLOCK], z[BLOCK];
    uint64_t next = 0, inputs = 0, others = 0;
    while (next < UINT64_C(1) << 32) {
        for (int n = 0; n < BLOCK; n++, next += stride) x[n] = next >> 32 ? 0.0f : opf_f32_of_bits((uint32_t)next);
        ours_exp(x, y);
        beside(x, z);
        for (int i = 0; i < BLOCK; i++) {
            float sum = 1.0f + y[i];
            others += sum == sum ? opf_bits_of_f32(sum) != opf_bits_of_f32(z[i]) : z[i] == z[i];
        }
        inputs += BLOCK;
    }
    printf("exp_beside %llu of %llu inputs with other bits of 1 + exp%s\n", (unsigned long long)others, (unsigned long long)inputs, others ? "  TOO MANY" : "");
    return others != 0;
}

/* ---- pow ---- */

static __attribute__((noinline)) void ours_pow(const float *restrict x, const float *restrict y, float *restrict z) {
    for (int i = 0; i < BLOCK; i++) z[i] = opf_pow_f32(x[i], y[i]);
}
static __attribute__((noinline)) void libm_pow(const float *restrict x, const float *restrict y, float *restrict z) {
    for (int i = 0; i < BLOCK; i++) z[i] = powf(x[i], y[i]);
}

static int check_pow(uint64_t stride) {
    static float x[BLOCK], y[BLOCK], z[BLOCK];
    static const float special[] = {0.0f, -0.0f, 1, -1, 2, -2, 3, -3, .5f, -.5f, 1e10f, -1e10f, 16777215.0f, 16777216.0f, -16777215.0f, INFINITY, -INFINITY, NAN, 0x1p-149f, -0x1p-149f, 2.5f};
    enum { N = sizeof special / sizeof *special };
    double worst = 0, worst_x = 0, worst_y = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double e = error(opf_pow_f32(special[i], special[j]), pow((double)special[i], (double)special[j]));
            if (e > worst) worst = e, worst_x = (double)special[i], worst_y = (double)special[j];
        }
    uint64_t seed = 88172645463325252u, blocks = UINT64_C(1) << 32 >> 4;
    blocks = blocks / stride / BLOCK + 1;
    for (uint64_t b = 0; b < blocks; b++) {
        for (int i = 0; i < BLOCK; i++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            uint32_t bits = (uint32_t)seed;
            memcpy(&x[i], &bits, 4);
            double target = ((double)(seed >> 40) / 0x1p24 * 2 - 1) * 155, exponent = log2(fabs((double)x[i]));
            y[i] = seed >> 33 & 1 ? (float)(target / exponent) : (float)rint(target / exponent);
        }
        ours_pow(x, y, z);
        for (int i = 0; i < BLOCK; i++) {
            double e = error(z[i], pow((double)x[i], (double)y[i]));
            if (e > worst) worst = e, worst_x = (double)x[i], worst_y = (double)y[i];
        }
    }
    int bad = !(worst <= 1);
    printf("%-6s %.3f ulp at (%.9g, %.9g), %llu pairs%s\n", "pow", worst, worst_x, worst_y, (unsigned long long)(blocks * BLOCK), bad ? "  TOO MUCH" : "");
    return bad;
}

/* ---- division ---- */

typedef struct divisor { float y, high, low, reciprocal; } divisor;

static divisor divisor_of(float y) {
    divisor d = {y, (float)(1 / (double)y), 0, (float)(1 / (double)y)};
    if (fabs((double)d.high) > fabs(1 / (double)y)) d.high = nextafterf(d.high, 0.0f);
    d.low = (float)((1 - (double)y * (double)d.high) / (double)y);
    return d;
}

static __attribute__((noinline)) void divided(const float *restrict x, divisor d, float *restrict z) {
    for (int i = 0; i < BLOCK; i++) z[i] = opf_divide_f32(x[i], d.y, d.high, d.low);
}
static __attribute__((noinline)) void quotients(const float *restrict x, divisor d, float *restrict z) {
    for (int i = 0; i < BLOCK; i++) z[i] = opf_quotient_f32(x[i], d.y, d.reciprocal);
}

typedef void division(const float *restrict x, divisor d, float *restrict z);

/* Are these the bits of x / y? Below 2^-100 the error of one, and 2^-150; by remainders two units below 2^-80, and what is two units below the
 * largest float may be infinite. */
static int is_quotient(float x, float y, float z, int by_remainders) {
    float right = x / y;
    if (opf_bits_of_f32(right) == opf_bits_of_f32(z) || (right != right && z != z)) return 1;
    double quotient = (double)x / (double)y;
    if (by_remainders && isinf(z) && fabs(quotient) >= 0x1.fffffap127) return 1;
    double error = fabs((double)z - quotient);
    return by_remainders ? fabs(quotient) < 0x1.01p-80 && error <= 2 * spacing(quotient) : fabs(quotient) < 0x1p-100 && error <= spacing(quotient) / 2 + 0x1.01p-150;
}

/* The floats with one exponent, every stride / 256th, stand for those of all others, whose every stride-th is taken too. */
static int check_division(const char *name, division *divide, const float *divisors, size_t n_divisors, int by_remainders, uint64_t stride) {
    static const float special[] = {INFINITY, -INFINITY, NAN, 0.0f, -0.0f, 0x1.fffffep127f, -0x1.fffffep127f};
    static float x[BLOCK], z[BLOCK];
    uint64_t step = stride < 256 ? 1 : stride / 256, inputs = 0, others = 0;
    for (size_t k = 0; k < n_divisors; k++) {
        divisor d = divisor_of(divisors[k]);
        for (uint64_t next = 0; next < (UINT64_C(1) << 32) + (UINT64_C(1) << 23);) {
            for (int n = 0; n < BLOCK; n++) {
                x[n] = next >> 32 ? opf_f32_of_bits(0x3f800000u | (uint32_t)(next & 0x7fffff)) : opf_f32_of_bits((uint32_t)next);
                next += next >> 32 ? step : stride;
            }
            memcpy(x, special, inputs ? 0 : sizeof special);
            divide(x, d, z);
            for (int i = 0; i < BLOCK; i++) others += !is_quotient(x[i], d.y, z[i], by_remainders);
            inputs += BLOCK;
        }
    }
    printf("%-8s %llu of %llu quotients with other bits than a division%s\n", name, (unsigned long long)others, (unsigned long long)inputs, others ? "  TOO MANY" : "");
    return others != 0;
}

/* By constants of few bits, and by any. */
static int check_divide(uint64_t stride) {
    static const float few[] = {3, 6, 5, 10, 7, 9, -6, 12, 120, 255, 1.5f, 0.75f, 49, 1000, 65535, 32767, 43691, 0x1.8p-19f, -0x1.5556p15f};
    static const float any[] = {0.103726655f, 0.13433625f, 0.023529412f, 0.57977074f, 5.0586023f, 0.09117645f, 0.1f, -0.3f, 0x1.fffffep0f, 0x1.fffffep-20f, 0x1.000002p0f, 0x1.fffffcp19f,
                                0x1.555556p-3f, 0x1.ddddcep2f, 3.1415927f, 0x1.800002p5f, 1.0001f, -127.00001f};
    return check_division("divide", divided, few, sizeof few / sizeof *few, 0, stride) | check_division("quotient", quotients, any, sizeof any / sizeof *any, 1, stride);
}

/* ---- time ---- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static double nanoseconds(map1 *f, const float *x, float *y) {
    double best = 1e9;
    for (int r = 0; r < 300; r++) {
        double t = now();
        for (int i = 0; i < 4; i++) f(x, y);
        t = (now() - t) * 1e9 / (4 * BLOCK);
        if (t < best) best = t;
    }
    return best;
}
static void pow_ours_23(const float *restrict x, float *restrict y) {
    static float e[BLOCK];
    for (int i = 0; i < BLOCK; i++) e[i] = 2.3f;
    ours_pow(x, e, y);
}
static void pow_libm_23(const float *restrict x, float *restrict y) {
    static float e[BLOCK];
    for (int i = 0; i < BLOCK; i++) e[i] = 2.3f;
    libm_pow(x, e, y);
}
static void time_one(const char *name, map1 *ours, map1 *libm, float low, float high) {
    static float x[BLOCK], y[BLOCK];
    for (int i = 0; i < BLOCK; i++) x[i] = low + (high - low) * (float)(i * 7919 % BLOCK) / BLOCK;
    printf("%-6s %.2f ns an element, libm %.2f\n", name, nanoseconds(ours, x, y), nanoseconds(libm, x, y));
}

static int wanted(int argc, char **argv, int first, const char *name) {
    int found = first >= argc;
    for (int i = first; i < argc; i++) found |= strcmp(argv[i], name) == 0;
    return found;
}

int main(int argc, char **argv) {
    uint64_t stride = 1;
    int first = 1, bad = 0, times = 0;
    for (; first < argc && argv[first][0] == '-'; first++) {
        if (strcmp(argv[first], "-t") == 0) times = 1;
        else if (strcmp(argv[first], "-s") == 0 && first + 1 < argc) stride = strtoull(argv[++first], NULL, 10);
        else return fprintf(stderr, "usage: check_math [-s STRIDE] [-t] [function...]\n"), 2;
    }
    if (stride == 0) stride = 1;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const unary *f = &functions[i];
        if (!wanted(argc, argv, first, f->name)) continue;
        if (times) time_one(f->name, f->ours, f->libm, f->low, f->high);
        else bad |= check(f, stride);
    }
    if (wanted(argc, argv, first, "exp_below")) {
        if (times) time_one("exp_below", below, libm_exp, -10, 0);
        else bad |= check_below(stride);
    }
    if (wanted(argc, argv, first, "exp_raised")) {
        if (times) time_one("exp_raised", raised, libm_exp, -10, 0);
        else bad |= check_raised(stride);
    }
    if (wanted(argc, argv, first, "exp_beside")) {
        if (times) time_one("exp_beside", beside, libm_exp, -10, 10);
        else bad |= check_beside(stride);
    }
    if (!times && wanted(argc, argv, first, "divide")) bad |= check_divide(stride);
    if (wanted(argc, argv, first, "pow")) {
        if (times) time_one("pow", pow_ours_23, pow_libm_23, .01f, 100);
        else bad |= check_pow(stride);
    }
    return bad;
}
