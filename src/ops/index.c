/* Index arithmetic, predicates and checks shared by the families that mostly rearrange. */
#include "ops/index.h"

#include "ops/counts.h"
#include "ops/content.h"

const opf_expr *opf_call_less(opf_call *call, const opf_expr *a, const opf_expr *b) {
    return opf_binary(call->pool, OPF_OP_LT, a, b);
}

const opf_expr *opf_call_at_most(opf_call *call, const opf_expr *a, const opf_expr *b) {
    return opf_binary(call->pool, OPF_OP_LE, a, b);
}

const opf_expr *opf_call_and(opf_call *call, const opf_expr *a, const opf_expr *b) {
    if (!a || !b) return a ? a : b;
    bool chained = b->kind == OPF_EXPR_BINARY && b->op == OPF_OP_AND; /* one chain reads better than a tree */
    if (chained) return opf_call_and(call, opf_call_and(call, a, b->args[0]), b->args[1]);
    return opf_binary(call->pool, OPF_OP_AND, a, b);
}

const opf_expr *opf_call_choose(opf_call *call, const opf_expr *condition, const opf_expr *then, const opf_expr *otherwise) {
    return condition ? opf_select(call->pool, condition, then, otherwise) : then;
}

const opf_expr *opf_call_clamp(opf_call *call, const opf_expr *index, opf_dim extent) {
    opf_dim last = opf_sub(call->pool, extent, opf_call_int(call, 1));
    return opf_min(call->pool, opf_max(call->pool, index, opf_call_int(call, 0)), last);
}

bool opf_call_proves_le(const opf_call *call, opf_dim a, opf_dim b) {
    return opf_expr_prove_le(call->pool, a, b, (opf_domain){0, NULL});
}

void opf_call_vars(const opf_call *call, int first, int count, const opf_expr **indices) {
    for (int k = 0; k < count; k++) indices[k] = opf_call_var(call, first + k);
}

void opf_call_dims(const opf_call *call, int tensor, opf_dim *out) {
    int rank = opf_call_rank(call, tensor);
    for (int k = 0; k < rank; k++) out[k] = opf_call_dim(call, tensor, k);
}

opf_dim opf_call_dim_product(const opf_call *call, int tensor, int first, int last) {
    opf_dim product = opf_call_int(call, 1);
    for (int k = first; k < last; k++) product = opf_mul(call->pool, product, opf_call_dim(call, tensor, k));
    return product;
}

const opf_expr *opf_call_load_single(opf_call *call, int input, const char *what) {
    const opf_expr *indices[OPF_MAX_RANK];
    int rank = opf_call_rank(call, input);
    for (int k = 0; k < rank; k++) {
        opf_call_same(call, opf_call_dim(call, input, k), opf_call_int(call, 1), what);
        indices[k] = opf_call_int(call, 0);
    }
    const opf_expr *known = opf_value_element(opf_call_input(call, input), 0);
    return known ? known : opf_call_load(call, input, indices);
}

const opf_expr *opf_call_convert(opf_call *call, opf_dtype dtype, const opf_expr *e) {
    return e->dtype == dtype ? e : opf_cast(call->pool, dtype, e);
}

bool opf_call_check_rank(opf_call *call, int input, int low, int high, const char *what) {
    int rank = opf_call_rank(call, input);
    if (rank >= low && rank <= high) return true;
    if (low == high) opf_call_error(call, "shape", "%s has rank %d and needs rank %d", what, rank, low);
    else if (rank < low) opf_call_error(call, "shape", "%s has rank %d and needs at least rank %d", what, rank, low);
    else opf_call_error(call, "shape", "%s has rank %d; at most rank %d is supported", what, rank, high);
    return false;
}

bool opf_call_check_same_type(opf_call *call, int first, int second) {
    const opf_value *a = opf_call_input(call, first), *b = opf_call_input(call, second);
    if (!a || !b || a->dtype == b->dtype) return true;
    opf_call_error(call, "type", "inputs %d and %d must have one type, and are %s and %s", first, second, opf_dtype_name(a->dtype), opf_dtype_name(b->dtype));
    return false;
}

bool opf_call_check_integer(opf_call *call, int input, const char *what) {
    opf_dtype dtype = opf_call_dtype(call, input);
    if (dtype == OPF_INT64 || dtype == OPF_INT32) return true;
    opf_call_error(call, "type", "%s must be int32 or int64, and is %s", what, opf_dtype_name(dtype));
    return false;
}

/* Two constants compared; -1 where they are none. */
static int compare_constants(opf_call *call, opf_dim left, opf_dim right, const char *what) {
    int64_t a, b, difference;
    bool holds;
    if (opf_is_int(left, &a) && opf_is_int(right, &b)) holds = a >= b; /* their difference may wrap */
    else if (opf_is_int(opf_sub(call->pool, left, right), &difference)) holds = difference >= 0;
    else return -1;
    if (!holds) opf_call_error(call, "shape", "%s", what);
    return holds;
}

static const char *reason(opf_call *call, const char *what) { return opf_arena_printf(call->arena, "%s '%s': %s", call->node->op, call->node->name, what); }

bool opf_call_require_ge(opf_call *call, opf_dim left, opf_dim right, const char *what) {
    int known = compare_constants(call, left, right, what);
    if (known >= 0) return known;
    opf_module_guard(call->module, OPF_GUARD_GE, left, right, reason(call, what));
    return true;
}

/* left >= right for sizes of 0 too: the constructors' own ranges start there. */
static bool always_ge(const opf_call *call, opf_dim left, opf_dim right) {
    return opf_is_value(opf_max(call->pool, opf_sub(call->pool, right, left), opf_int(call->pool, 0)), 0);
}

/* S - 1 >= 0 is S >= 1, so that a guard is recorded once. */
static void move_constant(opf_call *call, opf_dim *left, opf_dim *right) {
    bool ends_in_constant = (*left)->kind == OPF_EXPR_BINARY && ((*left)->op == OPF_OP_ADD || (*left)->op == OPF_OP_SUB) && opf_is_int((*left)->args[1], NULL);
    if (!ends_in_constant || !opf_is_int(*right, NULL)) return;
    opf_dim constant = (*left)->args[1];
    *right = (*left)->op == OPF_OP_ADD ? opf_sub(call->pool, *right, constant) : opf_add(call->pool, *right, constant);
    *left = (*left)->args[0];
}

bool opf_call_require_ge_always(opf_call *call, opf_dim left, opf_dim right, const char *what) {
    int known = compare_constants(call, left, right, what);
    if (known >= 0) return known;
    if (always_ge(call, left, right)) return true;
    move_constant(call, &left, &right);
    for (size_t k = 0; k < call->module->guards.count; k++) {
        const opf_guard *guard = &call->module->guards.data[k];
        if (guard->kind == OPF_GUARD_GE && guard->left == left && guard->right == right) return true;
    }
    const char *why = opf_arena_string(call->module->arena, reason(call, what));
    OPF_PUSH(call->module->arena, &call->module->guards, (opf_guard){.kind = OPF_GUARD_GE, .left = left, .right = right, .why = why});
    return true;
}

/* Is a <= b for all sizes that may come, 0 left out where a guard can? What a step finds (counts) is 0 as often as not, and nobody can be asked for more. */
static bool holds_but_for_empty(const opf_call *call, opf_dim a, opf_dim b) {
    bool counted = opf_dim_is_counted(call->module, a) || opf_dim_is_counted(call->module, b);
    return counted ? always_ge(call, b, a) : opf_call_proves_le(call, a, b);
}

opf_dim opf_call_at_least(opf_call *call, opf_dim e, opf_dim low, const char *what) {
    if (!holds_but_for_empty(call, low, e)) return opf_max(call->pool, e, low);
    opf_call_require_ge_always(call, e, low, what);
    return e;
}

opf_dim opf_call_at_most_dim(opf_call *call, opf_dim e, opf_dim high, const char *what) {
    if (!holds_but_for_empty(call, e, high)) return opf_min(call->pool, e, high);
    opf_call_require_ge_always(call, high, e, what);
    return e;
}
