/* What a generated program's main needs beside its kernels: sizes that cannot overflow unseen, and calls of kernels. */
#ifndef OPF_MAIN_H
#define OPF_MAIN_H

#include <stdint.h>
#include <string.h>

#ifndef OPF_ABI_H
#include "opf_abi.h"
#endif

/* Sizes are computed with arithmetic that saturates; what reaches OPF_SIZE_LIMIT does not fit any machine. */
#define OPF_SIZE_LIMIT ((int64_t)1 << 48)

static inline int64_t opf_times(int64_t a, int64_t b) {
    int64_t r;
    return __builtin_mul_overflow(a, b, &r) ? ((a < 0) == (b < 0) ? INT64_MAX : INT64_MIN) : r;
}
static inline int64_t opf_plus(int64_t a, int64_t b) {
    int64_t r;
    return __builtin_add_overflow(a, b, &r) ? (a > 0 ? INT64_MAX : INT64_MIN) : r;
}
static inline int64_t opf_larger(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int opf_fits(int64_t bytes) { return bytes >= 0 && bytes < OPF_SIZE_LIMIT; }
static inline int64_t opf_pad64(int64_t bytes) { return opf_plus(bytes, 63) & ~(int64_t)63; }

/* Between a whole of [outer, extent, inner bytes] and its slice [outer, inner bytes] at position `at`. */
static inline void opf_slices(void *slice, void *whole, int into_whole, int64_t outer, int64_t extent, int64_t inner, int64_t at) {
    for (int64_t o = 0; o < outer; o++) {
        char *there = (char *)whole + (o * extent + at) * inner, *here = (char *)slice + o * inner;
        if (into_whole) memcpy(there, here, (size_t)inner);
        else memcpy(here, there, (size_t)inner);
    }
}

/* Apart: a function that is not to be printed into each of its many callers. */
#if defined(__GNUC__)
#define OPF_APART __attribute__((noinline, unused)) static
#else
#define OPF_APART static
#endif

static inline int opf_threads_of(const opf_hook *hook) { return hook && hook->parallel && hook->threads > 1 ? hook->threads : 1; }

OPF_APART void opf_step_begins(const opf_hook *hook, int step) {
    if (hook && hook->trace && step >= 0) hook->trace(hook->trace_data, step, 1);
}
OPF_APART void opf_step_ends(const opf_hook *hook, int step) {
    if (hook && hook->trace && step >= 0) hook->trace(hook->trace_data, step, 0);
}

/* Runs a kernel in as many parts as are worth it. `units`: independent pieces; `work`: about the additions and the bytes that
 * it takes. Waking a thread costs about as much as OPF_WORK_OF_PART of them. step -1: no step of the run. */
#define OPF_WORK_OF_PART 30000
OPF_APART void opf_call(const opf_hook *hook, int step, opf_kernel kernel, const opf_args *args, int64_t units, double work) {
    int64_t parts = opf_threads_of(hook);
    double worth = 1 + work / OPF_WORK_OF_PART;
    if (parts > units) parts = units;
    if ((double)parts > worth) parts = (int64_t)worth;
    opf_step_begins(hook, step);
    if (parts > 1) hook->parallel(hook->pool, kernel, args, (int)parts);
    else kernel(args, 0, 1);
    opf_step_ends(hook, step);
}

#endif
