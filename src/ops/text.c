/* Operators on strings. What only moves elements needs nothing here: stages move strings as they move numbers. */
#include <stdlib.h>
#include <string.h>

#include "ops/families.h"
#include "ops/index.h"
#include "ops/library.h"
#include "ops/pattern.h"
#include "ops/scalar.h"
#include "ops/text.h"

#include "opf_lib_text.h"

static bool check_strings(opf_call *call, int input) {
    if (opf_call_dtype(call, input) == OPF_STRING) return true;
    opf_call_error(call, "type", "input %d must hold strings and holds %s", input, opf_dtype_name(opf_call_dtype(call, input)));
    return false;
}

static opf_library_call *text_kernel(opf_call *call, const char *name, int n_inputs, int n_outputs, bool takes_memory) {
    opf_library_call *library = opf_call_library(call, name, n_inputs, n_outputs);
    library->reads_strings = true;
    library->takes_memory = takes_memory;
    return library;
}

static void result_like(opf_call *call, opf_dtype dtype) { opf_library_result(call, 0, dtype, opf_call_rank(call, 0), opf_call_input(call, 0)->dims); }

const opf_tensor *opf_text_table(opf_call *call, size_t count, const char *const *texts) {
    const char *why;
    int64_t dims[] = {(int64_t)count};
    return opf_tensor_new(call->arena, OPF_STRING, 1, dims, texts, &why);
}

/* ---- Equal, StringConcat ---- */

static opf_status joined(opf_call *call, const char *kernel, opf_dtype dtype, bool takes_memory) {
    opf_dim dims[OPF_MAX_RANK];
    if (!check_strings(call, 0) || !check_strings(call, 1)) return OPF_ERROR_INPUT;
    int rank = opf_call_broadcast(call, 2, call->node->inputs, dims);
    text_kernel(call, kernel, 2, 1, takes_memory);
    opf_library_result(call, 0, dtype, rank, dims);
    return call->failed ? OPF_ERROR_INPUT : OPF_OK;
}

/* Strings are equal since opset 19; numbers by their line of scalar.ops. */
static opf_status build_equal(opf_call *call) {
    if (opf_call_dtype(call, 0) == OPF_STRING) return joined(call, "text_equal", OPF_BOOL, false);
    call->op = opf_op_find("", "Equal", 18);
    return opf_scalar_build(call);
}

static opf_status build_concat(opf_call *call) { return joined(call, "text_concat", OPF_STRING, true); }

/* ---- StringSplit, StringNormalizer, RegexFullMatch ---- */

static opf_status build_split(opf_call *call) {
    const char *delimiter = opf_node_string(call->node, "delimiter", "");
    int rank = opf_call_rank(call, 0);
    opf_dim dims[OPF_MAX_RANK];
    if (!check_strings(call, 0) || !opf_call_check_rank(call, 0, 0, OPF_MAX_RANK - 1, "the input")) return OPF_ERROR_INPUT;
    opf_call_dims(call, 0, dims);
    text_kernel(call, "text_split", 1, 2, true);
    opf_library_constant(call, opf_text_table(call, 1, opf_arena_copy(call->arena, &delimiter, sizeof delimiter)));
    opf_library_int(call, opf_node_int(call->node, "maxsplit", -1));
    dims[rank] = opf_library_count_symbol(call, "parts", NULL);
    opf_library_result(call, 0, OPF_STRING, rank + 1, dims);
    opf_library_result(call, 1, OPF_INT64, rank, dims);
    return OPF_OK;
}

static opf_status build_normalizer(opf_call *call) {
    static const char *const actions[] = {"NONE", "LOWER", "UPPER"};
    const char *given = opf_node_string(call->node, "case_change_action", "NONE");
    const opf_attr *stop = opf_node_attr(call->node, "stopwords");
    int rank = opf_call_rank(call, 0), action = -1;
    opf_dim dims[2];
    for (int k = 0; k < (int)OPF_COUNT(actions); k++)
        if (strcmp(given, actions[k]) == 0) action = k;
    if (action < 0) return opf_call_error(call, "attribute", "case_change_action '%s' is none of NONE, LOWER, UPPER", given);
    if (!check_strings(call, 0) || !opf_call_check_rank(call, 0, 1, 2, "the input")) return OPF_ERROR_INPUT;
    opf_call_dims(call, 0, dims);
    if (rank == 2) opf_call_same(call, dims[0], opf_call_int(call, 1), "a matrix of strings has one row");
    text_kernel(call, "text_normalize", 1, 1, true);
    opf_library_constant(call, opf_text_table(call, stop && stop->kind == OPF_ATTR_STRINGS ? stop->count : 0, stop ? stop->strings : NULL));
    opf_library_int(call, action);
    opf_library_int(call, opf_node_int(call->node, "is_case_sensitive", 0) != 0);
    dims[rank - 1] = opf_library_count_symbol(call, "words", opf_max(call->pool, dims[rank - 1], opf_call_int(call, 1)));
    opf_library_result(call, 0, OPF_STRING, rank, dims);
    return call->failed ? OPF_ERROR_INPUT : OPF_OK;
}

static opf_status build_match(opf_call *call) {
    const char *pattern = opf_node_string(call->node, "pattern", ""), *why;
    opf_pattern compiled;
    if (!check_strings(call, 0)) return OPF_ERROR_INPUT;
    if (!opf_pattern_compile(&compiled, pattern, call->arena, &why)) return opf_call_error(call, "attribute", "the pattern '%s' has %s", pattern, why);
    text_kernel(call, "text_match", 1, 1, false);
    opf_library_constant(call, compiled.code);
    opf_library_constant(call, compiled.ranges);
    opf_library_scratch(call, opf_call_int(call, 24 * compiled.code->dims[0]));
    result_like(call, OPF_BOOL);
    return OPF_OK;
}

/* ---- numbers ---- */

opf_status opf_text_cast(opf_call *call, opf_dtype to) {
    opf_dtype from = opf_call_dtype(call, 0);
    opf_dtype other = from == OPF_STRING ? to : from;
    if (other == OPF_STRING) {
        opf_call_result(call, 0, opf_call_map(call, NULL, opf_call_rank(call, 0), opf_call_input(call, 0)->dims, opf_call_load_same(call, 0)));
        return OPF_OK;
    }
    bool plain = opf_dtype_bits(other) >= 8 && (opf_dtype_is_integer(other) || other == OPF_FLOAT32 || other == OPF_FLOAT64 || other == OPF_FLOAT16 || other == OPF_BFLOAT16);
    if (!plain && !(other == OPF_BOOL && to == OPF_STRING)) return opf_call_error(call, "unsupported", "a cast from %s to %s is not supported", opf_dtype_name(from), opf_dtype_name(to));
    text_kernel(call, from == OPF_STRING ? "text_to" : "text_from", 1, 1, true);
    result_like(call, to);
    return OPF_OK;
}

/* ---- tables ---- */

static opf_lib_tensor described(const opf_tensor *tensor) { return (opf_lib_tensor){(void *)(uintptr_t)tensor->data, (int)tensor->dtype, tensor->rank, tensor->dims}; }

/* Keys by their order; of equal keys the first comes first, and is found. */
static int compare(const void *left, const void *right, void *data) {
    const int64_t *a = left, *b = right;
    int order = opf_lib_order(data, *a, data, *b);
    return order ? order : (*a > *b) - (*a < *b);
}

static const opf_tensor *rearranged(opf_call *call, const opf_tensor *tensor, const int64_t *order) {
    const char *why;
    opf_tensor *made = opf_tensor_zeros(call->arena, tensor->dtype, 1, &tensor->elements, &why);
    opf_lib_tensor from = described(tensor), to = described(made);
    for (int64_t k = 0; k < tensor->elements; k++) opf_lib_copy(&to, k, &from, order[k], 1);
    return made;
}

/* An aligned copy, which the kernels' functions can read. */
static const opf_tensor *plain(opf_call *call, const opf_tensor *tensor) {
    const char *why;
    if (opf_tensor_is_plain(tensor)) return tensor;
    opf_tensor *copy = opf_tensor_zeros(call->arena, tensor->dtype, tensor->rank, tensor->dims, &why);
    opf_tensor_copy(tensor, (void *)(uintptr_t)copy->data);
    return copy;
}

opf_status opf_text_lookup(opf_call *call, const opf_tensor *keys, const opf_tensor *values, const opf_tensor *otherwise) {
    if (keys->dtype != opf_call_dtype(call, 0)) return opf_call_error(call, "type", "the keys are %s and the input is %s", opf_dtype_name(keys->dtype), opf_dtype_name(opf_call_dtype(call, 0)));
    if (keys->elements != values->elements) return opf_call_error(call, "attribute", "there are %lld keys and %lld values", (long long)keys->elements, (long long)values->elements);
    if (opf_dtype_bits(values->dtype) < 8 || opf_dtype_bits(keys->dtype) < 8) return opf_call_error(call, "unsupported", "keys or values below a byte are not supported");
    keys = plain(call, keys);
    int64_t *order = OPF_ARRAY(call->arena, int64_t, keys->elements + 1);
    for (int64_t k = 0; k < keys->elements; k++) order[k] = k;
    opf_lib_tensor sorted_by = described(keys);
    qsort_r(order, (size_t)keys->elements, sizeof *order, compare, &sorted_by);
    text_kernel(call, "text_table", 1, 1, false);
    opf_library_constant(call, rearranged(call, keys, order));
    opf_library_constant(call, rearranged(call, plain(call, values), order));
    opf_library_constant(call, otherwise);
    result_like(call, values->dtype);
    return OPF_OK;
}

opf_status opf_text_one_hot(opf_call *call, size_t count, const char *const *categories) {
    int rank = opf_call_rank(call, 0);
    opf_dim dims[OPF_MAX_RANK];
    if (!check_strings(call, 0) || !opf_call_check_rank(call, 0, 0, OPF_MAX_RANK - 1, "the input")) return OPF_ERROR_INPUT;
    opf_call_dims(call, 0, dims);
    dims[rank] = opf_call_int(call, (int64_t)count);
    text_kernel(call, "text_one_hot", 1, 1, true);
    opf_library_constant(call, opf_text_table(call, count, categories));
    opf_library_int(call, opf_node_int(call->node, "zeros", 1) != 0);
    opf_library_result(call, 0, OPF_FLOAT32, rank + 1, dims);
    return OPF_OK;
}

const opf_op opf_ops_text[] = {
    {"", "Equal", 19, 2, 2, 1, OPF_KIND_BROADCAST, 0, build_equal, NULL},
    {"", "StringConcat", 20, 2, 2, 1, OPF_KIND_OPAQUE, OPF_OP_LIBRARY, build_concat, NULL},
    {"", "StringSplit", 20, 1, 1, 2, OPF_KIND_OPAQUE, OPF_OP_LIBRARY, build_split, NULL},
    {"", "StringNormalizer", 10, 1, 1, 1, OPF_KIND_OPAQUE, OPF_OP_LIBRARY, build_normalizer, NULL},
    {"", "RegexFullMatch", 20, 1, 1, 1, OPF_KIND_OPAQUE, OPF_OP_LIBRARY, build_match, NULL},
};
const size_t opf_ops_text_count = OPF_COUNT(opf_ops_text);
