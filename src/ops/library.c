/* Calls of library kernels, and the table of the kernels. */
#include "ops/library.h"
#include "ops/counts.h"
#include "ops/facts.h"

#include <string.h>

#include "opf_lib_bits.h"
#include "opf_lib_det.h"
#include "opf_lib_list.h"
#include "opf_lib_match.h"
#include "opf_lib_nms.h"
#include "opf_lib_recurrent.h"
#include "opf_lib_running.h"
#include "opf_lib_scatter.h"
#include "opf_lib_select.h"
#include "opf_lib_svm.h"
#include "opf_lib_text.h"
#include "opf_lib_topk.h"
#include "opf_lib_trees.h"
#include "opf_lib_unique.h"

#define KERNEL_FUNCTION(name, file, why)                                                                               \
    static void run_##name(const opf_lib_args *args) { opf_lib_##name(args); }
OPF_LIBRARY_KERNELS(KERNEL_FUNCTION)

#define KERNEL_ROW(name, file, why) {#name, #file, why, run_##name, NULL},
static const opf_library_kernel kernels[] = {OPF_LIBRARY_KERNELS(KERNEL_ROW)};

size_t opf_library_count(void) { return OPF_COUNT(kernels); }
const opf_library_kernel *opf_library_at(size_t index) { return index < OPF_COUNT(kernels) ? &kernels[index] : NULL; }

static const opf_library_kernel *find(const char *name) {
    for (size_t k = 0; k < OPF_COUNT(kernels); k++)
        if (strcmp(kernels[k].name, name) == 0) return &kernels[k];
    return NULL;
}

/* Library kernels find elements by their bytes. */
static void check_whole_bytes(opf_call *call, int n_inputs) {
    for (int k = 0; k < n_inputs && k < call->node->n_inputs; k++)
        if (opf_call_input(call, k) && opf_dtype_is_packed(opf_call_dtype(call, k)))
            opf_call_error(call, "unsupported", "%s of %s is not supported", call->node->op, opf_dtype_name(opf_call_dtype(call, k)));
}

opf_library_call *opf_call_library(opf_call *call, const char *name, int n_inputs, int n_outputs) {
    check_whole_bytes(call, n_inputs);
    call->library = OPF_NEW(call->arena, opf_library_call);
    call->library->kernel = find(name);
    call->library->n_inputs = n_inputs;
    call->library->n_outputs = n_outputs;
    call->library->scratch_bytes = opf_int(call->pool, 0);
    return call->library;
}

void opf_library_dim(opf_call *call, opf_dim value) { OPF_PUSH(call->arena, &call->library->ints, opf_dim_canonical(call->module, value)); }
void opf_library_int(opf_call *call, int64_t value) { opf_library_dim(call, opf_int(call->pool, value)); }
void opf_library_float(opf_call *call, double value) { OPF_PUSH(call->arena, &call->library->floats, value); }
void opf_library_constant(opf_call *call, const opf_tensor *tensor) { OPF_PUSH(call->arena, &call->library->constants, tensor); }
void opf_library_scratch(opf_call *call, opf_dim bytes) { call->library->scratch_bytes = opf_dim_canonical(call->module, bytes); }

void opf_library_pack(opf_call *call, int input, opf_dtype dtype, const char *name, int n_axes, const opf_dim *extents, const char *const *axis_names, const opf_expr *body) {
    opf_stage *stage = OPF_NEW(call->arena, opf_stage);
    *stage = (opf_stage){.name = name, .n_axes = n_axes, .combiner = OPF_COMBINE_NONE, .dtype = dtype, .accumulator = dtype, .origin = call->node,
                         .extents = opf_arena_copy(call->arena, extents, (size_t)n_axes * sizeof *extents),
                         .axis_names = opf_arena_copy(call->arena, axis_names, (size_t)n_axes * sizeof *axis_names),
                         .body = opf_expr_simplify(call->pool, body, (opf_domain){n_axes, extents})};
    OPF_PUSH(call->arena, &call->library->packings, (opf_library_packing){input, stage});
}

const opf_stage *opf_library_packed(const opf_library_call *library, int input) {
    for (size_t k = 0; k < library->packings.count; k++)
        if (library->packings.data[k].input == input) return library->packings.data[k].stage;
    return NULL;
}

void opf_library_result(opf_call *call, int output, opf_dtype dtype, int rank, const opf_dim *dims) {
    if (output >= call->node->n_outputs || !call->node->outputs[output]) return;
    opf_library_output *result = &call->library->outputs[output];
    result->dtype = dtype;
    result->rank = rank;
    for (int k = 0; k < rank; k++) result->dims[k] = opf_dim_canonical(call->module, dims[k]);
}

void opf_library_list(opf_call *call, int output, opf_dtype dtype, const opf_list_type *type, opf_dim length) {
    opf_library_result(call, output, dtype, 1, &length);
    call->library->outputs[output].list = type;
}

typedef struct search { const opf_module *module; const opf_library_call *library; bool found; } search;

static bool meet_own(const opf_expr *e, void *data) {
    search *search = data;
    for (int k = 0; e->kind == OPF_EXPR_SYMBOL && k < search->library->n_counts; k++)
        if (e->symbol == search->library->counts[k] && !opf_count_of(search->module, e->symbol)->most) search->found = true;
    return !search->found;
}

bool opf_library_sizes_output(const opf_module *module, const opf_library_call *library, int output) {
    search search = {module, library, false};
    const opf_library_output *out = &library->outputs[output];
    for (int axis = 0; !out->list && axis < out->rank; axis++) opf_expr_visit(module->pool, out->dims[axis], meet_own, &search);
    return search.found;
}

opf_dim opf_library_count_symbol(opf_call *call, const char *name, opf_dim most) {
    opf_library_call *library = call->library;
    const opf_symbol *symbol = opf_count_symbol(call->node, library->n_counts, name, false, most ? opf_dim_canonical(call->module, most) : NULL);
    library->counts[library->n_counts++] = symbol;
    return opf_sym(call->pool, symbol);
}
