/* Operators as library kernels: for what stages cannot say. A build function that names a kernel appends no stages; the
 * kernel reads the node's inputs in order (then constants that the build function adds) and fills its outputs.
 *
 * A result's size may depend on data. The build function then makes a *count*: a dim symbol whose value the kernel finds,
 * with an upper bound. Buffers are allocated at the bound; whoever runs later reads the symbol like any other. */
#ifndef OPF_OPS_LIBRARY_H
#define OPF_OPS_LIBRARY_H

#include "ops/build.h"

struct opf_lib_args;

/* The kernels: function opf_lib_<name> of the prelude's opf_lib_<file>.h, and why it is no list of stages. */
#define OPF_LIBRARY_KERNELS(X)                                                                                         \
    X(topk, topk, "selection orders the elements of a line by their values")                                           \
    X(scatter_elements, scatter, "where an update goes is data; updates of one place follow each other")               \
    X(scatter_nd, scatter, "where an update goes is data; updates of one place follow each other")                     \
    X(unpool, scatter, "where an element goes is data")                                                                \
    X(nonzero, select, "the size of the result is data")                                                               \
    X(compress, select, "the size of the result is data")                                                              \
    X(unique, unique, "sorts; the size of the result is data")                                                         \
    X(nms, nms, "each choice depends on the earlier ones; the size of the result is data")                             \
    X(det, det, "elimination chooses pivots by data")                                                                  \
    X(bits, bits, "expressions compute with values, not with their bits")                                              \
    X(running, running, "each element needs the sum before it; said as a reduction it costs the square of the axis")     \
    X(rnn, recurrent, "each step needs the state of the one before")                                                   \
    X(gru, recurrent, "each step needs the state of the one before")                                                   \
    X(lstm, recurrent, "each step needs the state of the one before")                                                  \
    X(lstm_quantized, recurrent, "each step needs the state of the one before")                                        \
    X(trees, trees, "where a row goes next is data")                                                                   \
    X(svm, svm, "each pair of classes votes")                                                                          \
    X(text_equal, text, "expressions compute with numbers, not with text")                                             \
    X(text_concat, text, "expressions compute with numbers, not with text")                                            \
    X(text_split, text, "expressions compute with numbers, not with text")                                             \
    X(text_normalize, text, "expressions compute with numbers, not with text")                                         \
    X(text_table, text, "expressions compute with numbers, not with text")                                             \
    X(text_one_hot, text, "expressions compute with numbers, not with text")                                           \
    X(text_from, text, "expressions compute with numbers, not with text")                                              \
    X(text_to, text, "expressions compute with numbers, not with text")                                                \
    X(text_match, match, "expressions compute with numbers, not with text")                                            \
    X(list_construct, list, "a sequence is no tensor")                                                                 \
    X(list_empty, list, "a sequence is no tensor")                                                                     \
    X(list_copy, list, "a sequence is no tensor")                                                                      \
    X(list_has, list, "an optional is no tensor")                                                                      \
    X(list_get, list, "an optional is no tensor")                                                                      \
    X(list_insert, list, "a sequence is no tensor")                                                                    \
    X(list_erase, list, "a sequence is no tensor")                                                                     \
    X(list_at, list, "a sequence is no tensor")                                                                        \
    X(list_concat, list, "a sequence is no tensor")                                                                    \
    X(list_split, list, "a sequence is no tensor")

/* The prelude's headers in the order in which they are pasted, each with the one that it needs. */
#define OPF_LIBRARY_FILES(X)                                                                                           \
    X(topk, "")                                                                                                        \
    X(scatter, "")                                                                                                     \
    X(select, "")                                                                                                      \
    X(unique, "")                                                                                                      \
    X(nms, "topk")                                                                                                     \
    X(det, "")                                                                                                         \
    X(bits, "")                                                                                                        \
    X(running, "")                                                                                                     \
    X(panels, "")                                                                                                      \
    X(recurrent, "panels")                                                                                             \
    X(trees, "")                                                                                                       \
    X(svm, "")                                                                                                         \
    X(text, "")                                                                                                        \
    X(match, "text")                                                                                                   \
    X(list, "")

/* A user's own kernel: C text that is compiled beside the program (docs/patterns.md). */
typedef struct opf_own_kernel {
    const char *text, *path;                /* path: of the file that it comes from, for messages */
    bool parallel;                          /* it is called once a part of the work, for all threads */
} opf_own_kernel;

typedef struct opf_library_kernel {
    const char *name;                       /* "topk"; of a user's own kernel its C function */
    const char *file;                       /* stem of the prelude's header behind "opf_lib_" */
    const char *why;
    void (*run)(const struct opf_lib_args *args); /* the same code, compiled into opfuse; NULL of a user's own */
    opf_own_kernel *own;                    /* NULL: one of the prelude */
} opf_library_kernel;

size_t opf_library_count(void);
const opf_library_kernel *opf_library_at(size_t index);

typedef struct opf_library_output {
    opf_dtype dtype;                        /* OPF_NO_DTYPE: the kernel does not fill it */
    int rank;
    opf_dim dims[OPF_MAX_RANK];
    const opf_list_type *list;              /* a sequence or optional, dims: its length; NULL: a tensor */
} opf_library_output;

enum { OPF_LIBRARY_OUTPUTS = 8, OPF_LIBRARY_COUNTS = OPF_MAX_RANK };

/* An operand that is a constant may be handed over in another layout, made once at build time: `stage` says it, whose one load is of
 * tensor 0, the operand. The kernel tells the two forms apart by their ranks, and packs by itself what comes as it was. */
typedef struct opf_library_packing {
    int input;
    opf_stage *stage;
} opf_library_packing;

typedef struct opf_library_call {
    const opf_library_kernel *kernel;
    int n_inputs;                           /* operands that the kernel expects: the node's inputs, absent ones included */
    OPF_VEC(const opf_tensor *) constants;  /* operands behind those */
    int n_outputs;                          /* that it expects; those beyond the node's are absent */
    opf_library_output outputs[OPF_LIBRARY_OUTPUTS];
    OPF_VEC(opf_dim) ints;
    OPF_VEC(double) floats;
    opf_dim scratch_bytes;                  /* 0: none */
    OPF_VEC(opf_library_packing) packings;  /* programs pack these; the evaluator does not, and gives as much more scratch */
    bool reads_strings;                     /* it is made for operands that are strings; others move numbers */
    bool takes_memory;                      /* from the run's heap; it may fail */
    int n_counts;
    const opf_symbol *counts[OPF_LIBRARY_COUNTS];
} opf_library_call;

/* Makes kernel `name`, with so many operands and results, the meaning of the call's node. */
opf_library_call *opf_call_library(opf_call *call, const char *name, int n_inputs, int n_outputs);
/* Parameters and constants, in the kernel's order. */
void opf_library_int(opf_call *call, int64_t value);
void opf_library_dim(opf_call *call, opf_dim value);
void opf_library_float(opf_call *call, double value);
void opf_library_constant(opf_call *call, const opf_tensor *tensor);
void opf_library_scratch(opf_call *call, opf_dim bytes);
/* Operand `input`, a constant, is given as this: an injective stage whose extents are known. */
void opf_library_pack(opf_call *call, int input, opf_dtype dtype, const char *name, int n_axes, const opf_dim *extents, const char *const *axis_names, const opf_expr *body);
/* How operand `input` is packed; NULL: it is not. */
const opf_stage *opf_library_packed(const opf_library_call *library, int input);
/* The type of output `output`; ignored where the node leaves it out. */
void opf_library_result(opf_call *call, int output, opf_dtype dtype, int rank, const opf_dim *dims);
/* The same for a sequence or optional. */
void opf_library_list(opf_call *call, int output, opf_dtype dtype, const opf_list_type *type, opf_dim length);
/* Does the kernel take the memory of this output itself? It finds its size, and there is no bound. */
bool opf_library_sizes_output(const opf_module *module, const opf_library_call *library, int output);
/* The next size that the kernel finds, at most `most` (NULL: there is no bound); `name` is wished for. The same symbol each time the node is built. */
opf_dim opf_library_count_symbol(opf_call *call, const char *name, opf_dim most);

#endif
