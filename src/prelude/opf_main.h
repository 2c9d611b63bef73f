/* What a generated program's main needs beside its kernels: sizes that cannot overflow unseen, and calls of kernels. */
#ifndef OPF_MAIN_H
#define OPF_MAIN_H

#include <stdint.h>
#include <string.h>

#ifndef OPF_ABI_H
#include "opf_abi.h"
#endif
#ifndef OPF_KERNEL_H
#include "opf_kernel.h"
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
static inline int64_t opf_smaller(int64_t a, int64_t b) { return a < b ? a : b; }
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

OPF_APART void opf_step_begins(const opf_hook *hook, int step) {
    if (hook && hook->trace && step >= 0) hook->trace(hook->trace_data, step, 1);
}
OPF_APART void opf_step_ends(const opf_hook *hook, int step) {
    if (hook && hook->trace && step >= 0) hook->trace(hook->trace_data, step, 0);
}

/* Runs a kernel in as many parts as are worth it. `units`: independent pieces; `work`: about the additions and the bytes that
 * it takes. step -1: no step of the run. */
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

/* Kernels that do not depend on each other, one of the steps that run side by side. */
typedef struct opf_beside { int step; opf_kernel kernel; opf_args args; int64_t units; double work; int lane; } opf_beside;
typedef struct opf_lanes { const opf_hook *hook; opf_beside *list; int n; } opf_lanes;

/* One thread's share: whole kernels, with the scratch that is this lane's. */
OPF_APART void opf_run_lane(const opf_args *args, int lane, int lanes) {
    const opf_lanes *all = (const opf_lanes *)args->p[0];
    (void)lanes;
    for (int i = 0; i < all->n; i++) {
        opf_args own = all->list[i].args;
        if (all->list[i].lane != lane) continue;
        if (own.scratch) own.scratch += (size_t)lane * own.scratch_stride;
        opf_step_begins(all->hook, all->list[i].step);
        all->list[i].kernel(&own, 0, 1);
        opf_step_ends(all->hook, all->list[i].step);
    }
}

/* Of kernels on no lane yet the one with most work; -1: none. */
OPF_APART int opf_heaviest(const opf_beside *list, int n) {
    int most = -1;
    for (int i = 0; i < n; i++)
        if (list[i].lane < 0 && (most < 0 || list[i].work > list[most].work)) most = i;
    return most;
}

enum { OPF_MOST_LANES = 8 };

/* Runs kernels that do not depend on each other. Those that are worth several threads get them, one kernel after another; the others
 * share the threads, each whole on one of them, the heaviest first and each to the lane that has least to do. Who computes what changes
 * no bit. */
OPF_APART void opf_call_beside(const opf_hook *hook, opf_beside *list, int n) {
    double total = 0, load[OPF_MOST_LANES] = {0};
    int threads = hook && hook->trace && !hook->trace_at_once ? 1 : opf_threads_of(hook), lanes = threads < OPF_MOST_LANES ? threads : OPF_MOST_LANES, small = 0;
    for (int i = 0; i < n; i++) {
        int whole = list[i].units < 2 || list[i].work < OPF_WORK_OF_PART;
        list[i].lane = whole && lanes > 1 ? -1 : OPF_MOST_LANES;
        if (list[i].lane < 0) total += list[i].work, small++;
        else opf_call(hook, list[i].step, list[i].kernel, &list[i].args, list[i].units, list[i].work);
    }
    if (lanes > small) lanes = small;
    if (lanes > 1 + total / OPF_WORK_OF_PART) lanes = (int)(1 + total / OPF_WORK_OF_PART);
    for (int i = opf_heaviest(list, n); i >= 0; i = opf_heaviest(list, n)) {
        int least = 0;
        for (int k = 1; k < lanes; k++)
            if (load[k] < load[least]) least = k;
        list[i].lane = least;
        load[least] += list[i].work;
    }
    opf_lanes all = {hook, list, n};
    void *const p[] = {&all};
    const opf_args args = {p, 0, 0, 0};
    if (lanes > 1) hook->parallel(hook->pool, opf_run_lane, &args, lanes);
    else if (lanes == 1) opf_run_lane(&args, 0, 1);
}

#endif
