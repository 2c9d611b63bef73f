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

static inline int opf_threads_of(const opf_hook *hook) { return hook && hook->parallel && hook->threads > 1 ? hook->threads : 1; }

/* How many parts are worth it: waking a thread costs about as much as OPF_WORK_OF_PART additions. */
#define OPF_WORK_OF_PART 30000
static inline int opf_parts(const opf_hook *hook, int64_t units, int64_t work) {
    int64_t parts = opf_threads_of(hook), worth = 1 + work / OPF_WORK_OF_PART;
    if (parts > units) parts = units;
    if (parts > worth) parts = worth;
    return parts > 1 ? (int)parts : 1;
}

static inline void opf_call(const opf_hook *hook, opf_kernel kernel, const opf_args *args, int parts) {
    if (parts > 1) hook->parallel(hook->pool, kernel, args, parts);
    else kernel(args, 0, 1);
}

static inline void opf_step_begins(const opf_hook *hook, int step) {
    if (hook && hook->trace) hook->trace(hook->trace_data, step, 1);
}
static inline void opf_step_ends(const opf_hook *hook, int step) {
    if (hook && hook->trace) hook->trace(hook->trace_data, step, 0);
}

#endif
