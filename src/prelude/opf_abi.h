/* What generated code and its caller agree on. Freestanding C11; compiled into opfuse and pasted into generated code. */
#ifndef OPF_ABI_H
#define OPF_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { OPF_ABI_VERSION = 2 };

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
} opf_hook;

/* One run of a program. inputs, outputs: in graph order (graph inputs without initializers). symbols: by position in the
 * program, solved by the entry's `solve`. */
typedef struct opf_frame {
    const void *const *inputs;
    void *const *outputs;
    const void *const *weights;  /* the program's constants, in the entry's order */
    void *packed;                /* packed_bytes, filled once by prepare */
    int64_t *symbols;            /* a run sets those that its steps find: sizes that depend on data */
    void *workspace;             /* aligned to 64 */
    const opf_hook *hook;
} opf_frame;

/* What a compiled model exports, under the name opf_entry. */
typedef struct opf_entry_table {
    int abi;                     /* OPF_ABI_VERSION */
    int n_inputs, n_outputs, n_symbols, n_weights, n_steps, n_guards;
    size_t packed_bytes;
    /* Symbols from the inputs' dims (dims[i] is the shape of input i), sizes that steps find at their largest; 0, or 1 + the
     * number of the guard that fails. */
    int (*solve)(const int64_t *const *dims, int64_t *symbols);
    /* Shape of output k, its rank entries; exact once a run has set the sizes that it finds. */
    void (*output_dims)(const int64_t *symbols, int output, int64_t *dims);
    /* The largest shape that the output can have: what its memory must hold. */
    void (*output_most)(const int64_t *symbols, int output, int64_t *dims);
    size_t (*workspace_bytes)(const int64_t *symbols, int threads); /* 0: sizes overflow */
    void (*prepare)(const opf_frame *frame); /* fills packed from weights; needs weights, packed and hook only */
    int (*run)(const opf_frame *frame);      /* 0, or 1 + the number of a guard that fails on sizes found */
} opf_entry_table;

#endif
