/* Element-wise operators that a line of scalar.ops cannot say: their result type is an attribute, or they have two results. */
#include <math.h>
#include <string.h>

#include "ops/families.h"
#include "ops/index.h"
#include "ops/library.h"
#include "ops/quantize.h"
#include "ops/text.h"

static bool is_number(opf_dtype dtype) {
    return dtype == OPF_BOOL || opf_dtype_is_integer(dtype) || opf_dtype_is_float(dtype);
}

/* ---- Cast, CastLike ---- */

/* Without saturation an 8-bit float takes what is beyond its largest number (and what rounds beyond it) as an infinity where
 * it has one, else as a NaN. */
typedef struct overflow_row {
    opf_dtype dtype;
    double last;  /* magnitudes up to here round to the largest number */
    bool tie;     /* `last` itself does: it lies half a step above the largest number, which is even */
} overflow_row;

static const overflow_row overflows[] = {
    {OPF_FLOAT8E4M3FN, 464, true}, {OPF_FLOAT8E4M3FNUZ, 248, false}, {OPF_FLOAT8E5M2, 61440, false}, {OPF_FLOAT8E5M2FNUZ, 61440, false},
};

static const opf_expr *unsaturated(opf_call *call, const opf_expr *wide, opf_dtype to, const opf_expr *cast) {
    opf_pool *pool = call->pool;
    opf_dtype compute = (opf_dtype)wide->dtype;
    for (size_t k = 0; k < OPF_COUNT(overflows); k++) {
        if (overflows[k].dtype != to) continue;
        const opf_expr *beyond = opf_binary(pool, overflows[k].tie ? OPF_OP_GT : OPF_OP_GE, opf_unary(pool, OPF_OP_ABS, wide), opf_real(pool, compute, overflows[k].last));
        if (to != OPF_FLOAT8E5M2) return opf_select(pool, beyond, opf_real(pool, to, NAN), cast);
        const opf_expr *negative = opf_binary(pool, OPF_OP_LT, wide, opf_real(pool, compute, 0));
        return opf_select(pool, beyond, opf_select(pool, negative, opf_real(pool, to, -INFINITY), opf_real(pool, to, INFINITY)), cast);
    }
    return cast;
}

/* float8e8m0 holds powers of two, and a cast rounds up. `down` and `nearest` (ties up) take the power below where `wide`
 * lies below it, or below the middle. */
static const opf_expr *cast_to_scale(opf_call *call, const opf_expr *wide, bool saturates) {
    opf_pool *pool = call->pool;
    opf_dtype compute = (opf_dtype)wide->dtype;
    const char *mode = opf_node_string(call->node, "round_mode", "up");
    bool down = strcmp(mode, "down") == 0, nearest = strcmp(mode, "nearest") == 0;
    if (!down && !nearest && strcmp(mode, "up") != 0) opf_call_error(call, "attribute", "round_mode '%s' is unknown", mode);
    const opf_expr *up = opf_cast(pool, compute, opf_cast(pool, OPF_FLOAT8E8M0, wide)), *power = up;
    if (down || nearest) {
        const opf_expr *limit = opf_binary(pool, OPF_OP_MUL, up, opf_real(pool, compute, down ? 1 : 0.75));
        power = opf_select(pool, opf_binary(pool, OPF_OP_LT, wide, limit), opf_binary(pool, OPF_OP_MUL, up, opf_real(pool, compute, 0.5)), up);
    }
    const opf_expr *cast = opf_cast(pool, OPF_FLOAT8E8M0, power);
    if (saturates) return cast;
    const opf_expr *below = opf_binary(pool, OPF_OP_LT, wide, opf_real(pool, compute, 0x1p-127)), *above = opf_binary(pool, OPF_OP_GT, wide, opf_real(pool, compute, 0x1p127));
    return opf_select(pool, opf_binary(pool, OPF_OP_OR, below, above), opf_real(pool, OPF_FLOAT8E8M0, NAN), cast);
}

const opf_expr *opf_call_cast(opf_call *call, const opf_expr *value, opf_dtype to) {
    bool saturates = opf_node_int(call->node, "saturate", 1) != 0, eight_bit_float = opf_dtype_is_float(to) && opf_dtype_bits(to) == 8;
    if (value->dtype == to) return value;
    if (!eight_bit_float || (saturates && to != OPF_FLOAT8E8M0)) return opf_cast(call->pool, to, value);
    const opf_expr *wide = opf_call_convert(call, value->dtype == OPF_FLOAT64 ? OPF_FLOAT64 : OPF_FLOAT32, value);
    return to == OPF_FLOAT8E8M0 ? cast_to_scale(call, wide, saturates) : unsaturated(call, wide, to, opf_cast(call->pool, to, value));
}

static opf_status cast_to(opf_call *call, opf_dtype to) {
    opf_dtype from = opf_call_dtype(call, 0);
    if (from == OPF_STRING || to == OPF_STRING) return opf_text_cast(call, to);
    if (!is_number(from) || !is_number(to))
        return opf_call_error(call, "unsupported", "a cast from %s to %s is not supported", opf_dtype_name(from), opf_dtype_name(to));
    const opf_expr *value = opf_call_cast(call, opf_call_load_same(call, 0), to);
    if (call->failed) return OPF_ERROR_INPUT;
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

/* ---- BitCast: the same bits under another type ---- */

static opf_status build_bit_cast(opf_call *call) {
    int64_t to = opf_node_int(call->node, "to", 0);
    opf_dtype from = opf_call_dtype(call, 0);
    bool valid = to > 0 && to <= INT32_MAX && opf_dtype_valid((int)to) && is_number((opf_dtype)to);
    if (!valid) return opf_call_error(call, "attribute", "attribute 'to' is %lld, which is no numeric element type", (long long)to);
    if (opf_dtype_bits(from) != opf_dtype_bits((opf_dtype)to))
        return opf_call_error(call, "type", "%s has %d bits and %s %d", opf_dtype_name(from), opf_dtype_bits(from), opf_dtype_name((opf_dtype)to), opf_dtype_bits((opf_dtype)to));
    int rank = opf_call_rank(call, 0);
    bool integers = (opf_dtype_is_integer(from) || from == OPF_BOOL) && opf_dtype_is_integer((opf_dtype)to);
    if (integers || from == (opf_dtype)to) { /* a cast between them keeps the bits */
        opf_call_result(call, 0, opf_call_map(call, NULL, rank, opf_call_input(call, 0)->dims, opf_call_convert(call, (opf_dtype)to, opf_call_load_same(call, 0))));
        return OPF_OK;
    }
    if (opf_dtype_bits(from) < 8) return opf_call_error(call, "unsupported", "BitCast of %s to %s is not supported", opf_dtype_name(from), opf_dtype_name((opf_dtype)to));
    opf_call_library(call, "bits", 1, 1);
    opf_library_result(call, 0, (opf_dtype)to, rank, opf_call_input(call, 0)->dims);
    return OPF_OK;
}

/* ---- Dropout, as at inference ---- */

/* Is a single-element input known, and true? An absent one is false. */
static bool known_true(opf_call *call, int input) {
    const opf_expr *const *content;
    if (!opf_call_input(call, input)) return false;
    int count = opf_call_content(call, input, &content);
    return count == 1 && !opf_is_value(content[0], 0);
}

/* Does training drop nothing? The ratio is 0.5 where it is left out. */
static bool drops_nothing(opf_call *call) {
    opf_value *ratio = opf_call_input(call, 1);
    if (ratio && !ratio->constant) opf_call_unknown(call, 1);
    return ratio && ratio->constant && ratio->constant->elements == 1 && opf_tensor_get(ratio->constant, 0) == 0;
}

static opf_status build_dropout(opf_call *call) {
    if (known_true(call, 2) && !drops_nothing(call) && !call->failed) {
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
    {"", "BitCast", 26, 1, 1, 1, OPF_KIND_ELEMWISE, 0, build_bit_cast, NULL},
    {"", "Dropout", 1, 1, 3, 2, OPF_KIND_ELEMWISE, OPF_OP_VIEW, build_dropout, NULL},
};
const size_t opf_ops_special_count = OPF_COUNT(opf_ops_special);
