/* What a kernel gets, and how the parts of one run at once: the part of the interface that callers of a built model see. */
#ifndef OPF_HOOK_H
#define OPF_HOOK_H

#include <stddef.h>
#include <stdint.h>

/* Arguments of one kernel call: buffers, then the values of the dim symbols that it uses, in the kernel's own order.
 * Part p of a call may use scratch + p * scratch_stride. */
typedef struct opf_args {
    void *const *p;
    const int64_t *d;
    char *scratch;
    size_t scratch_stride;
} opf_args;

/* Computes part `part` of `parts`; the parts of a call together do the whole of it, in any order or at once. The split
 * never changes a bit of the result. */
typedef void (*opf_kernel)(const opf_args *args, int part, int parts);

/* How parts run at once. `parallel` runs kernel(args, 0 … parts-1, parts) and returns when all are done. A NULL hook, or
 * threads 1, runs everything in the caller. */
typedef struct opf_hook {
    void (*parallel)(void *pool, opf_kernel kernel, const opf_args *args, int parts);
    void *pool;
    int threads;
    /* Called around each step when not NULL: `begin` 1 before, 0 after. */
    void (*trace)(void *data, int step, int begin);
    void *trace_data;
    /* Not 0: `trace` may be called from several threads at once. 0: where there is a `trace`, steps run one after another. */
    int trace_at_once;
} opf_hook;

#endif
