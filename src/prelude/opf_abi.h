/* What generated code and its caller agree on. Freestanding C11; compiled into opfuse and pasted into generated code. */
#ifndef OPF_ABI_H
#define OPF_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifndef OPF_HEAP_H
#include "opf_heap.h"
#endif
#ifndef OPF_HOOK_H
#include "opf_hook.h"
#endif

enum { OPF_ABI_VERSION = 5 };

/* Waking a thread costs about as much as so many additions, or bytes moved. */
enum { OPF_WORK_OF_PART = 30000 };

/* One run of a program. inputs, outputs: in graph order (graph inputs without initializers); of a sequence or optional an
 * opf_list, of an output whose size has no bound a pointer that the run sets. symbols: by position in the program, solved
 * by the entry's `solve`. */
typedef struct opf_frame {
    const void *const *inputs;
    void *const *outputs;
    const void *const *weights;  /* the program's constants, in the entry's order */
    void *packed;                /* packed_bytes, filled once by the steps of prepare */
    int64_t *symbols;            /* a run sets those that its steps find: sizes that depend on data */
    void *workspace;             /* aligned to 64 */
    const opf_hook *hook;
    opf_heap *heap;              /* NULL where the program takes none */
} opf_frame;

/* What a compiled model exports, under the name opf_entry. */
typedef struct opf_entry_table {
    int abi;                     /* OPF_ABI_VERSION */
    int n_inputs, n_outputs, n_symbols, n_weights, n_prepare, n_steps, n_guards;
    int takes_memory;            /* its runs need a heap */
    size_t packed_bytes;
    /* Symbols from the inputs' dims (dims[i] is the shape of input i; of a sequence its length), sizes that steps find at their largest; 0, or 1 + the
     * number of the guard that fails. */
    int (*solve)(const int64_t *const *dims, int64_t *symbols);
    /* Shape of output k, its rank entries; exact once a run has set the sizes that it finds. */
    void (*output_dims)(const int64_t *symbols, int output, int64_t *dims);
    /* The largest shape that the output can have: what its memory must hold. */
    void (*output_most)(const int64_t *symbols, int output, int64_t *dims);
    size_t (*workspace_bytes)(const int64_t *symbols, int threads); /* 0: sizes overflow */
    void (*prepare)(const opf_frame *frame, int step); /* one of n_prepare steps: fills its part of packed from one weight; needs
                                              that weight, packed and hook only */
    int (*run)(const opf_frame *frame);      /* 0, 1 + the number of a guard that fails on sizes found, or -1 - the number of a
                                              step that could not be done: heap->problem says why */
} opf_entry_table;

#endif
