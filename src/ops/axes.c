/* Parts of a build function: integers that inputs hold, axes, equal dims, broadcasting. */
#include "ops/build.h"
#include "ops/content.h"
#include "ops/facts.h"
#include "ops/lift.h"

int opf_call_content(opf_call *call, int input, const opf_expr *const **out) {
    opf_value *value = opf_call_input(call, input);
    *out = NULL;
    if (!value) return -1;
    const opf_expr *const *content = opf_value_content(value);
    if (!content) {
        opf_call_unknown(call, input);
        return -1;
    }
    const opf_expr **integers = OPF_ARRAY(call->arena, const opf_expr *, value->content_count + 1);
    for (int64_t k = 0; k < value->content_count; k++)
        integers[k] = opf_lift(call->module, content[k], opf_arena_printf(call->arena, "%s '%s': sizes fit their types", call->node->op, call->node->name));
    *out = integers;
    return (int)value->content_count;
}

int opf_call_ints(opf_call *call, int input, const int64_t **out) {
    const opf_expr *const *content;
    int count = opf_call_content(call, input, &content);
    *out = NULL;
    if (count < 0) return -1;
    int64_t *integers = OPF_ARRAY(call->arena, int64_t, count + 1);
    for (int k = 0; k < count; k++) {
        if (opf_is_int(content[k], &integers[k])) continue;
        opf_call_error(call, "unsupported", "element %d of input %d '%s' depends on the sizes of the inputs", k, input, opf_call_input(call, input)->name);
        opf_call_hint(call, "pin the sizes with --dim or --shape");
        return -1;
    }
    *out = integers;
    return count;
}

int opf_call_axis(opf_call *call, int64_t axis, int rank) {
    if (axis < -(int64_t)rank || axis >= rank) {
        opf_call_error(call, "shape", "axis %lld is outside a tensor of rank %d", (long long)axis, rank);
        return 0;
    }
    return (int)(axis < 0 ? axis + rank : axis);
}

int opf_call_axes(opf_call *call, const char *name, int input, int rank, int *axes) {
    const int64_t *given = NULL;
    int count = name ? opf_node_ints(call->node, name, &given) : -1;
    if (count < 0 && input >= 0 && opf_call_input(call, input)) {
        count = opf_call_ints(call, input, &given);
        if (count < 0) return 0;
    }
    if (count < 0) return -1;
    if (count > rank) {
        opf_call_error(call, "shape", "%d axes are given for a tensor of rank %d", count, rank);
        return 0;
    }
    unsigned seen = 0;
    for (int k = 0; k < count; k++) {
        axes[k] = opf_call_axis(call, given[k], rank);
        if (!call->failed && (seen & 1u << axes[k])) opf_call_error(call, "shape", "axis %lld is given twice", (long long)given[k]);
        seen |= 1u << axes[k];
    }
    return call->failed ? 0 : count;
}

static const char *dim_text(opf_call *call, opf_dim dim) {
    opf_text text = {0};
    opf_expr_print(dim, NULL, &text);
    const char *copy = opf_arena_string(call->arena, opf_text_string(&text));
    opf_text_free(&text);
    return copy;
}

opf_dim opf_call_same(opf_call *call, opf_dim a, opf_dim b, const char *what) {
    a = opf_dim_canonical(call->module, a);
    b = opf_dim_canonical(call->module, b);
    if (a == b || opf_expr_prove_eq(call->pool, a, b)) return a;
    if (opf_is_int(opf_sub(call->pool, a, b), NULL)) { /* two numbers, or N and N + 1 */
        opf_call_error(call, "shape", "%s: %s and %s differ", what, dim_text(call, a), dim_text(call, b));
        return a;
    }
    const char *why = opf_arena_printf(call->arena, "%s '%s': %s", call->node->op, call->node->name, what);
    opf_module_guard(call->module, OPF_GUARD_EQ, a, b, why);
    return opf_is_int(b, NULL) ? b : a;
}

static const char *shape_text(opf_call *call, int rank, const opf_dim *dims) {
    const char *text = "";
    for (int k = 0; k < rank; k++) text = opf_arena_printf(call->arena, "%s%s%s", text, k ? "," : "", dim_text(call, dims[k]));
    return text;
}

/* Widens the extents found so far, out[0 … rank-1], by one more operand. */
static void broadcast_value(opf_call *call, const opf_value *value, int rank, opf_dim *out) {
    int skip = rank - value->rank;
    for (int k = 0; k < value->rank; k++) {
        opf_dim known = out[skip + k], dim = value->dims[k];
        if (opf_is_value(dim, 1) || known == dim) continue;
        if (!opf_is_value(known, 1) && opf_is_int(opf_sub(call->pool, known, dim), NULL)) {
            opf_call_error(call, "shape", "cannot broadcast [%s] with [%s]", shape_text(call, rank, out), shape_text(call, value->rank, value->dims));
            opf_call_hint(call, "axis %d is %s and %s; both must match or one be 1", skip + k, dim_text(call, known), dim_text(call, dim));
            return;
        }
        const char *what = opf_arena_printf(call->arena, "the operands share axis %d of the result", skip + k);
        out[skip + k] = opf_is_value(known, 1) ? dim : opf_call_same(call, known, dim, what);
    }
}

int opf_call_broadcast(opf_call *call, int n, opf_value *const *values, opf_dim *out) {
    int rank = 0;
    for (int k = 0; k < n; k++)
        if (values[k] && values[k]->rank > rank) rank = values[k]->rank;
    for (int axis = 0; axis < rank; axis++) out[axis] = opf_int(call->pool, 1);
    for (int k = 0; k < n && !call->failed; k++)
        if (values[k]) broadcast_value(call, values[k], rank, out);
    return rank;
}

const opf_expr *opf_call_load_broadcast(opf_call *call, int tensor, int rank, const opf_dim *out) {
    const opf_expr *indices[OPF_MAX_RANK];
    int own = opf_call_rank(call, tensor), skip = rank - own;
    for (int k = 0; k < own; k++) {
        bool repeats = opf_is_value(opf_call_dim(call, tensor, k), 1) && !opf_is_value(out[skip + k], 1);
        indices[k] = repeats ? opf_int(call->pool, 0) : opf_var(call->pool, skip + k);
    }
    return opf_call_load(call, tensor, indices);
}
