/* The sum of products behind every matrix product: batch axes, rows, columns, and the summed axis. */
#include "ops/product.h"

/* The product's domain: batch axes, m, n, then the reduction k. */
typedef struct product_domain {
    int n_batch, n_axes;
    int m, n; /* positions, -1 where the operand is a vector */
    opf_dim extents[OPF_MAX_RANK + 1];
    const char *names[OPF_MAX_RANK + 1];
} product_domain;

opf_operand opf_call_operand(const opf_call *call, int tensor, bool is_left) {
    opf_operand o = {.tensor = tensor, .kept = -1, .zero_point = -1};
    int rank = opf_call_rank(call, tensor);
    if (rank == 1) return o;
    o.n_batch = rank - 2;
    for (int k = 0; k < o.n_batch; k++) o.batch[k] = k;
    o.kept = is_left ? rank - 2 : rank - 1;
    o.summed = is_left ? rank - 1 : rank - 2;
    return o;
}

opf_operand opf_call_operand_as(const opf_call *call, int tensor, bool is_left, const char *trans, const char *trans_batch) {
    opf_operand o = opf_call_operand(call, tensor, is_left);
    int rank = opf_call_rank(call, tensor);
    if (rank < 2) return o;
    int order[OPF_MAX_RANK];
    bool moves = opf_node_int(call->node, trans_batch, 0) != 0;
    for (int k = 0; k < rank; k++) order[k] = !moves || k == rank - 1 ? k : k == rank - 2 ? 0 : k + 1;
    bool swap = opf_node_int(call->node, trans, 0) != 0;
    int row = order[swap ? rank - 1 : rank - 2], column = order[swap ? rank - 2 : rank - 1];
    for (int k = 0; k < o.n_batch; k++) o.batch[k] = order[k];
    o.kept = is_left ? row : column;
    o.summed = is_left ? column : row;
    return o;
}

static opf_dim broadcast(opf_call *call, opf_dim known, opf_dim dim) {
    if (opf_is_value(known, 1)) return dim;
    if (opf_is_value(dim, 1)) return known;
    return opf_call_same(call, known, dim, "the operands' sizes along a batch axis");
}

static void add_axis(product_domain *domain, opf_dim extent, const char *name) {
    domain->extents[domain->n_axes] = extent;
    domain->names[domain->n_axes++] = name;
}

static product_domain domain_of(opf_call *call, const opf_operand *a, const opf_operand *b) {
    product_domain domain = {.m = -1, .n = -1};
    const opf_operand *both[] = {a, b};
    domain.n_batch = a->n_batch > b->n_batch ? a->n_batch : b->n_batch;
    for (int k = 0; k < domain.n_batch; k++) {
        opf_dim extent = opf_call_int(call, 1);
        for (int side = 0; side < 2; side++) {
            int own = k - (domain.n_batch - both[side]->n_batch);
            if (own >= 0) extent = broadcast(call, extent, opf_call_dim(call, both[side]->tensor, both[side]->batch[own]));
        }
        add_axis(&domain, extent, domain.n_batch == 1 ? "b" : opf_arena_printf(call->arena, "b%d", k));
    }
    if (a->kept >= 0) {
        domain.m = domain.n_axes;
        add_axis(&domain, opf_call_dim(call, a->tensor, a->kept), "m");
    }
    if (b->kept >= 0) {
        domain.n = domain.n_axes;
        add_axis(&domain, opf_call_dim(call, b->tensor, b->kept), "n");
    }
    domain.extents[domain.n_axes] = opf_call_same(call, opf_call_dim(call, a->tensor, a->summed), opf_call_dim(call, b->tensor, b->summed), "the summed axes of both operands");
    domain.names[domain.n_axes] = "k";
    return domain;
}

/* The operand's zero point at the indices at which the operand itself is read: one element, one a kept row or column, or
 * of the operand's rank with axes of size 1. */
static const opf_expr *zero_point_at(opf_call *call, const opf_operand *o, const opf_expr *const *operand_indices) {
    const opf_expr *indices[OPF_MAX_RANK];
    int rank = opf_call_rank(call, o->zero_point), operand_rank = opf_call_rank(call, o->tensor);
    for (int k = 0; k < rank; k++) {
        int axis = rank == 1 ? o->kept : k;
        bool single = opf_is_value(opf_call_dim(call, o->zero_point, k), 1);
        if (!single && (axis < 0 || axis >= operand_rank)) {
            opf_call_error(call, "shape", "a zero point must be one element or one for each row or column");
            return opf_int_of(call->pool, opf_call_dtype(call, o->zero_point), 0);
        }
        if (!single) opf_call_same(call, opf_call_dim(call, o->zero_point, k), opf_call_dim(call, o->tensor, axis), "the zero points of an operand");
        indices[k] = single ? opf_call_int(call, 0) : operand_indices[axis];
    }
    return opf_call_load(call, o->zero_point, indices);
}

static const opf_expr *operand_term(opf_call *call, const opf_operand *o, const product_domain *domain, int kept, opf_dtype accumulator) {
    const opf_expr *indices[OPF_MAX_RANK];
    for (int k = 0; k < o->n_batch; k++) {
        int axis = domain->n_batch - o->n_batch + k;
        bool repeats = opf_is_value(opf_call_dim(call, o->tensor, o->batch[k]), 1);
        indices[o->batch[k]] = repeats ? opf_call_int(call, 0) : opf_call_var(call, axis);
    }
    if (o->kept >= 0) indices[o->kept] = opf_call_var(call, kept);
    indices[o->summed] = opf_call_var(call, domain->n_axes);
    const opf_expr *value = opf_call_convert(call, accumulator, opf_call_load(call, o->tensor, indices));
    if (o->zero_point < 0) return value;
    return opf_binary(call->pool, OPF_OP_SUB, value, opf_call_convert(call, accumulator, zero_point_at(call, o, indices)));
}

int opf_call_product(opf_call *call, const opf_operand *a, const opf_operand *b, opf_dtype dtype, opf_dtype accumulator) {
    product_domain domain = domain_of(call, a, b);
    const opf_expr *left = operand_term(call, a, &domain, domain.m, accumulator);
    const opf_expr *right = operand_term(call, b, &domain, domain.n, accumulator);
    return opf_call_stage(call, "sum", domain.n_axes, 1, domain.extents, domain.names, OPF_COMBINE_SUM, dtype, accumulator,
                          opf_binary(call->pool, OPF_OP_MUL, left, right), NULL);
}
