/* Sequences and optionals. A sequence is a value of its own kind, which only library kernels touch; its length is a size like
 * any other, so that loops over it are known. */
#include "ops/counts.h"
#include "ops/families.h"
#include "ops/index.h"
#include "ops/library.h"
#include "ops/lists.h"
#include "ops/scalar.h"

static const opf_list_type *list_of(const opf_call *call, int input) {
    const opf_value *value = opf_call_input(call, input);
    return value ? value->list : NULL;
}

/* The sequence that input 0 is; NULL, reported, where it is none. */
static const opf_list_type *sequence(opf_call *call, int input) {
    const opf_list_type *list = list_of(call, input);
    if (list && list->sequence && !list->optional) return list;
    opf_call_error(call, "type", "input %d must be a sequence", input);
    return NULL;
}

static bool is_tensor(opf_call *call, int input) {
    if (!list_of(call, input)) return true;
    opf_call_error(call, "type", "input %d must be a tensor", input);
    return false;
}

static opf_library_call *list_kernel(opf_call *call, const char *name, int n_inputs) {
    for (int k = 0; k < n_inputs && !call->failed; k++)
        if (opf_call_input(call, k) && opf_dtype_bits(opf_call_dtype(call, k)) < 8) opf_call_error(call, "unsupported", "a sequence of %s is not supported", opf_dtype_name(opf_call_dtype(call, k)));
    opf_library_call *library = opf_call_library(call, name, n_inputs, 1);
    library->takes_memory = library->reads_strings = true;
    return library;
}

static opf_dim length_of(const opf_call *call, int input) { return opf_call_input(call, input)->dims[0]; }

/* ---- making sequences ---- */

static opf_status construct(opf_call *call, bool optional) {
    int n = call->node->n_inputs;
    const opf_list_type *type = NULL;
    for (int k = 0; k < n; k++) {
        if (!opf_call_input(call, k)) return opf_call_error(call, "arity", "input %d is missing", k);
        if (!is_tensor(call, k)) return OPF_ERROR_INPUT;
        if (opf_call_dtype(call, k) != opf_call_dtype(call, 0)) return opf_call_error(call, "type", "the elements of a sequence must have the same type; input %d has another one", k);
        const opf_list_type *one = opf_list_of(opf_call_input(call, k), optional);
        type = type ? opf_list_join(call->module, type, one) : one;
    }
    list_kernel(call, "list_construct", n);
    opf_library_int(call, n);
    opf_library_list(call, 0, opf_call_dtype(call, 0), type, opf_call_int(call, n));
    return OPF_OK;
}

static opf_status build_construct(opf_call *call) { return construct(call, false); }

static opf_status empty(opf_call *call, opf_dtype dtype, const opf_list_type *type) {
    list_kernel(call, "list_empty", 0)->takes_memory = false;
    opf_library_int(call, type->optional ? -1 : 0);
    opf_library_list(call, 0, dtype, type, opf_call_int(call, 0));
    return OPF_OK;
}

static opf_status build_empty(opf_call *call) {
    int64_t dtype = opf_node_int(call->node, "dtype", OPF_FLOAT32);
    opf_list_type *type = OPF_NEW(call->arena, opf_list_type);
    if (dtype < 0 || dtype > INT32_MAX || !opf_dtype_valid((int)dtype)) return opf_call_error(call, "attribute", "attribute 'dtype' is %lld, which is no element type", (long long)dtype);
    *type = (opf_list_type){.sequence = true, .rank = OPF_RANK_NONE};
    return empty(call, (opf_dtype)dtype, type);
}

static opf_status build_insert(opf_call *call) {
    const opf_list_type *list = sequence(call, 0);
    if (!list || !is_tensor(call, 1)) return OPF_ERROR_INPUT;
    if (opf_call_dtype(call, 0) != opf_call_dtype(call, 1))
        return opf_call_error(call, "type", "a tensor of %s cannot stand in a sequence of %s", opf_dtype_name(opf_call_dtype(call, 1)), opf_dtype_name(opf_call_dtype(call, 0)));
    if (opf_call_input(call, 2)) opf_call_check_integer(call, 2, "the position");
    list_kernel(call, "list_insert", 3);
    opf_library_list(call, 0, opf_call_dtype(call, 0), opf_list_join(call->module, list, opf_list_of(opf_call_input(call, 1), false)), opf_add(call->pool, length_of(call, 0), opf_call_int(call, 1)));
    return call->failed ? OPF_ERROR_INPUT : OPF_OK;
}

static opf_status build_erase(opf_call *call) {
    const opf_list_type *list = sequence(call, 0);
    if (!list) return OPF_ERROR_INPUT;
    if (opf_call_input(call, 1)) opf_call_check_integer(call, 1, "the position");
    list_kernel(call, "list_erase", 2);
    opf_library_list(call, 0, opf_call_dtype(call, 0), list, opf_sub(call->pool, length_of(call, 0), opf_call_int(call, 1)));
    return call->failed ? OPF_ERROR_INPUT : OPF_OK;
}

/* How many parts a split gives; NULL, reported, where only a run knows. */
static opf_dim parts_of(opf_call *call, int axis) {
    opf_value *split = opf_call_input(call, 1);
    opf_dim extent = opf_call_dim(call, 0, axis);
    const opf_expr *const *content;
    if (!split) return extent;
    if (split->rank == 1) return split->dims[0];
    int count = opf_call_content(call, 1, &content);
    if (count == 1 && opf_is_int(content[0], NULL) && content[0]->integer < 1) opf_call_error(call, "shape", "parts of %lld elements", (long long)content[0]->integer);
    return count != 1 || call->failed ? NULL : opf_ceildiv(call->pool, extent, content[0]);
}

static opf_status build_split(opf_call *call) {
    int rank = opf_call_rank(call, 0);
    opf_list_type *type = OPF_NEW(call->arena, opf_list_type);
    if (!is_tensor(call, 0) || !opf_call_check_rank(call, 0, 1, OPF_MAX_RANK, "the input")) return OPF_ERROR_INPUT;
    int axis = opf_call_axis(call, opf_node_int(call->node, "axis", 0), rank);
    bool given = opf_call_input(call, 1), keeps = given || opf_node_int(call->node, "keepdims", 1) != 0;
    if (given && (!opf_call_check_integer(call, 1, "the sizes") || !opf_call_check_rank(call, 1, 0, 1, "the sizes"))) return OPF_ERROR_INPUT;
    opf_dim parts = call->failed ? NULL : parts_of(call, axis);
    if (!parts) return OPF_ERROR_UNSUPPORTED;
    type->sequence = true;
    for (int k = 0; k < rank; k++) {
        opf_dim dim = opf_call_dim(call, 0, k);
        if (k == axis && !keeps) continue;
        type->dims[type->rank++] = k == axis ? given ? NULL : opf_call_int(call, 1) : opf_dim_is_counted(call->module, dim) ? NULL : dim;
    }
    list_kernel(call, "list_split", 2);
    opf_library_int(call, axis);
    opf_library_int(call, keeps);
    opf_library_dim(call, parts);
    opf_library_list(call, 0, opf_call_dtype(call, 0), type, parts);
    return OPF_OK;
}

/* ---- looking into sequences ---- */

/* Result 0 is an element of the list: sizes that are not known are found. */
static opf_status element(opf_call *call, const opf_list_type *list) {
    opf_dim dims[OPF_MAX_RANK];
    if (list->rank == OPF_RANK_MIXED) {
        opf_status status = opf_call_error(call, "unsupported", "how many axes the elements of '%s' have is not known", opf_call_input(call, 0)->name);
        opf_call_hint(call, "if it is an input of the model, --shape NAME=D,D,… says it; elements with different numbers of axes can only be handed on");
        return status;
    }
    int rank = list->rank == OPF_RANK_NONE ? 0 : list->rank;
    for (int k = 0; k < rank; k++) {
        dims[k] = list->dims[k] ? list->dims[k] : opf_library_count_symbol(call, opf_arena_printf(call->arena, "%s_%d", call->node->outputs[0]->name, k), NULL);
        opf_library_dim(call, list->dims[k] ? list->dims[k] : opf_call_int(call, -1));
    }
    opf_library_result(call, 0, opf_call_dtype(call, 0), rank, dims);
    return OPF_OK;
}

static opf_status build_at(opf_call *call) {
    const opf_list_type *list = sequence(call, 0);
    if (!list || !opf_call_check_integer(call, 1, "the position")) return OPF_ERROR_INPUT;
    list_kernel(call, "list_at", 2);
    return element(call, list);
}

static opf_status build_length(opf_call *call) {
    if (!sequence(call, 0)) return OPF_ERROR_INPUT;
    opf_call_result(call, 0, opf_call_map(call, NULL, 0, NULL, length_of(call, 0)));
    return OPF_OK;
}

static opf_status build_concat(opf_call *call) {
    const opf_list_type *list = sequence(call, 0);
    bool stacks = opf_node_int(call->node, "new_axis", 0) != 0;
    opf_dim dims[OPF_MAX_RANK];
    if (!list) return OPF_ERROR_INPUT;
    if (!opf_node_attr(call->node, "axis")) return opf_call_error(call, "attribute", "attribute 'axis' is missing");
    if (list->rank < 0) {
        opf_status status = opf_call_error(call, "unsupported", "how many axes the elements of '%s' have is not known", opf_call_input(call, 0)->name);
        opf_call_hint(call, "if it is an input of the model, --shape NAME=D,D,… says it");
        return status;
    }
    int rank = list->rank + stacks, axis = rank > OPF_MAX_RANK ? -1 : opf_call_axis(call, opf_node_int(call->node, "axis", 0), rank);
    if (axis < 0 || call->failed) return call->failed ? OPF_ERROR_INPUT : opf_call_error(call, "shape", "the result has more than %d axes", OPF_MAX_RANK);
    list_kernel(call, "list_concat", 1);
    opf_library_int(call, axis);
    opf_library_int(call, stacks);
    for (int k = 0; k < rank; k++) dims[k] = opf_library_count_symbol(call, opf_arena_printf(call->arena, "%s_%d", call->node->outputs[0]->name, k), NULL);
    opf_library_result(call, 0, opf_call_dtype(call, 0), rank, dims);
    return OPF_OK;
}

/* ---- optionals ---- */

/* A list handed on under another type, or as it is. */
static opf_status hand_on(opf_call *call, const opf_list_type *type, bool must_be_there) {
    list_kernel(call, "list_copy", 1);
    opf_library_int(call, must_be_there);
    opf_dim length = must_be_there ? opf_library_count_symbol(call, opf_arena_printf(call->arena, "%s_0", call->node->outputs[0]->name), NULL) : length_of(call, 0);
    opf_library_list(call, 0, opf_call_dtype(call, 0), type, length);
    return OPF_OK;
}

static opf_status build_optional(opf_call *call) {
    const opf_attr *given = opf_node_attr(call->node, "type");
    if (opf_call_input(call, 0)) {
        if (!list_of(call, 0)) return construct(call, true);
        opf_list_type *type = opf_arena_copy(call->arena, list_of(call, 0), sizeof *type);
        type->optional = true;
        return hand_on(call, type, false);
    }
    if (!given || given->kind != OPF_ATTR_TYPE_PROTO) return opf_call_error(call, "attribute", "an absent optional needs the attribute 'type'");
    const opf_type around = {.kind = OPF_VALUE_OPTIONAL, .inner = given->types[0]}, *inner = given->types[0];
    opf_list_type *type = (opf_list_type *)opf_list_declared(call->module, &around);
    while (inner->inner) inner = inner->inner;
    if (!type || !inner->dtype) return opf_call_error(call, "unsupported", "an optional of neither tensors nor sequences of them");
    type->rank = OPF_RANK_NONE;
    return empty(call, inner->dtype, type);
}

static opf_status truth(opf_call *call, bool value) {
    opf_call_result(call, 0, opf_call_map(call, NULL, 0, NULL, opf_int_of(call->pool, OPF_BOOL, value)));
    return OPF_OK;
}

static opf_status build_has(opf_call *call) {
    const opf_list_type *list = list_of(call, 0);
    if (!list || !list->optional) return truth(call, opf_call_input(call, 0) != NULL);
    list_kernel(call, "list_has", 1)->takes_memory = false;
    opf_library_result(call, 0, OPF_BOOL, 0, NULL);
    return OPF_OK;
}

static opf_status hand_on_tensor(opf_call *call) {
    opf_call_result(call, 0, opf_call_map(call, NULL, opf_call_rank(call, 0), opf_call_input(call, 0)->dims, opf_call_load_same(call, 0)));
    return OPF_OK;
}

static opf_status build_get(opf_call *call) {
    const opf_list_type *list = list_of(call, 0);
    if (!list) return hand_on_tensor(call);
    if (!list->sequence) {
        list_kernel(call, "list_get", 1);
        return element(call, list);
    }
    opf_list_type *type = opf_arena_copy(call->arena, list, sizeof *type);
    type->optional = false;
    return hand_on(call, type, list->optional);
}

/* Identity hands on sequences and optionals too; tensors by its line of scalar.ops. */
static opf_status build_identity(opf_call *call) { return list_of(call, 0) ? hand_on(call, list_of(call, 0), false) : hand_on_tensor(call); }

/* A SequenceMap that was not unfolded (sequence_map.c). */
static opf_status build_map(opf_call *call) {
    return opf_call_error(call, "graph", "the attribute 'body' must be a graph with as many inputs and outputs as the node, and none left out");
}

const opf_op opf_ops_sequence[] = {
    {"", "SequenceConstruct", 11, 1, -1, 1, OPF_KIND_OPAQUE, OPF_OP_LIBRARY | OPF_OP_LISTS, build_construct, NULL},
    {"", "SequenceEmpty", 11, 0, 0, 1, OPF_KIND_OPAQUE, OPF_OP_LIBRARY | OPF_OP_LISTS, build_empty, NULL},
    {"", "SequenceInsert", 11, 2, 3, 1, OPF_KIND_OPAQUE, OPF_OP_LIBRARY | OPF_OP_LISTS, build_insert, NULL},
    {"", "SequenceErase", 11, 1, 2, 1, OPF_KIND_OPAQUE, OPF_OP_LIBRARY | OPF_OP_LISTS, build_erase, NULL},
    {"", "SequenceAt", 11, 2, 2, 1, OPF_KIND_OPAQUE, OPF_OP_LIBRARY | OPF_OP_LISTS, build_at, NULL},
    {"", "SequenceLength", 11, 1, 1, 1, OPF_KIND_OPAQUE, OPF_OP_LISTS, build_length, NULL},
    {"", "SplitToSequence", 11, 1, 2, 1, OPF_KIND_OPAQUE, OPF_OP_LIBRARY | OPF_OP_LISTS, build_split, NULL},
    {"", "ConcatFromSequence", 11, 1, 1, 1, OPF_KIND_OPAQUE, OPF_OP_LIBRARY | OPF_OP_LISTS, build_concat, NULL},
    {"", "SequenceMap", 17, 1, -1, INT16_MAX, OPF_KIND_OPAQUE, OPF_OP_CONTROL, build_map, NULL},
    {"", "Optional", 15, 0, 1, 1, OPF_KIND_OPAQUE, OPF_OP_LIBRARY | OPF_OP_LISTS, build_optional, NULL},
    {"", "OptionalHasElement", 15, 0, 1, 1, OPF_KIND_OPAQUE, OPF_OP_LIBRARY | OPF_OP_LISTS, build_has, NULL},
    {"", "OptionalGetElement", 15, 1, 1, 1, OPF_KIND_OPAQUE, OPF_OP_LIBRARY | OPF_OP_LISTS, build_get, NULL},
    {"", "Identity", 14, 1, 1, 1, OPF_KIND_ELEMWISE, OPF_OP_VIEW | OPF_OP_LISTS, build_identity, NULL},
};
const size_t opf_ops_sequence_count = OPF_COUNT(opf_ops_sequence);
