/* Element-wise operators that a line of scalar.ops cannot say: their result type is an attribute, or they have two results. */
#include "ops/build.h"
#include "ops/families.h"

static bool is_number(opf_dtype dtype) {
    return dtype == OPF_BOOL || opf_dtype_is_integer(dtype) || opf_dtype_is_float(dtype);
}

/* ---- Cast, CastLike ---- */

static opf_status cast_to(opf_call *call, opf_dtype to) {
    opf_dtype from = opf_call_dtype(call, 0);
    if (!is_number(from) || !is_number(to))
        return opf_call_error(call, "unsupported", "a cast from %s to %s is not supported", opf_dtype_name(from), opf_dtype_name(to));
    bool eight_bit_float = opf_dtype_is_float(to) && opf_dtype_bits(to) <= 8;
    if (eight_bit_float && opf_node_int(call->node, "saturate", 1) == 0)
        return opf_call_error(call, "unsupported", "a cast to %s without saturation is not supported", opf_dtype_name(to));
    const opf_expr *value = opf_call_load_same(call, 0);
    if (from != to) value = opf_cast(call->pool, to, value);
    opf_call_result(call, 0, opf_call_map(call, NULL, opf_call_rank(call, 0), opf_call_input(call, 0)->dims, value));
    return OPF_OK;
}

static opf_status build_cast(opf_call *call) {
    int64_t to = opf_node_int(call->node, "to", 0);
    if (to <= 0 || to > INT32_MAX || !opf_dtype_valid((int)to)) return opf_call_error(call, "attribute", "attribute 'to' is %lld, which is no element type", (long long)to);
    return cast_to(call, (opf_dtype)to);
}

static opf_status build_cast_like(opf_call *call) {
    return cast_to(call, opf_call_dtype(call, 1));
}

/* ---- Dropout, as at inference ---- */

/* Is a single-element input known, and true? An absent one is false. */
static bool known_true(opf_call *call, int input) {
    const opf_expr *const *content;
    if (!opf_call_input(call, input)) return false;
    int count = opf_call_content(call, input, &content);
    return count == 1 && !opf_is_value(content[0], 0);
}

static bool known_zero(opf_call *call, int input) {
    opf_value *value = opf_call_input(call, input);
    return value && value->constant && value->constant->elements == 1 && opf_tensor_get(value->constant, 0) == 0;
}

static opf_status build_dropout(opf_call *call) {
    if (known_true(call, 2) && !known_zero(call, 1)) {
        opf_call_error(call, "unsupported", "Dropout in training mode is not supported");
        opf_call_hint(call, "export the model for inference");
    }
    if (call->failed) return OPF_ERROR_UNSUPPORTED;
    int rank = opf_call_rank(call, 0);
    const opf_dim *dims = opf_call_input(call, 0)->dims;
    opf_call_result(call, 0, opf_call_map(call, NULL, rank, dims, opf_call_load_same(call, 0)));
    opf_dtype mask = call->node->opset < 10 ? opf_call_dtype(call, 0) : OPF_BOOL;
    if (call->node->n_outputs > 1 && call->node->outputs[1])
        opf_call_result(call, 1, opf_call_map(call, "mask", rank, dims, opf_number(call->pool, mask, 1)));
    return OPF_OK;
}

const opf_op opf_ops_special[] = {
    {"", "Cast", 6, 1, 1, 1, OPF_KIND_ELEMWISE, 0, build_cast, NULL},
    {"", "CastLike", 15, 2, 2, 1, OPF_KIND_ELEMWISE, 0, build_cast_like, NULL},
    {"", "Dropout", 1, 1, 3, 2, OPF_KIND_ELEMWISE, OPF_OP_VIEW, build_dropout, NULL},
};
const size_t opf_ops_special_count = OPF_COUNT(opf_ops_special);
