/* Matrix products: MatMul, Gemm, MatMulInteger, FusedMatMul. Einsum has its own file. */
#include "ops/families.h"
#include "ops/index.h"

/* One operand of a product: the roles of its axes. */
typedef struct operand {
    int tensor;
    int n_batch;
    int batch[OPF_MAX_RANK]; /* axes that both operands and the result share, outermost first */
    int kept;                /* the axis that the result keeps (m or n), -1 for a vector */
    int summed;              /* k */
    int zero_point;          /* input to subtract first, -1: none */
} operand;

/* The product's domain: batch axes, m, n, then the reduction k. */
typedef struct product_domain {
    int n_batch, n_axes;
    int m, n; /* positions, -1 where the operand is a vector */
    opf_dim extents[OPF_MAX_RANK + 1];
    const char *names[OPF_MAX_RANK + 1];
} product_domain;

static operand operand_of(const opf_call *call, int tensor, bool is_left) {
    operand o = {.tensor = tensor, .kept = -1, .zero_point = -1};
    int rank = opf_call_rank(call, tensor);
    if (rank == 1) return o;
    o.n_batch = rank - 2;
    for (int k = 0; k < o.n_batch; k++) o.batch[k] = k;
    o.kept = is_left ? rank - 2 : rank - 1;
    o.summed = is_left ? rank - 1 : rank - 2;
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

static product_domain domain_of(opf_call *call, const operand *a, const operand *b) {
    product_domain domain = {.m = -1, .n = -1};
    const operand *both[] = {a, b};
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
static const opf_expr *zero_point_at(opf_call *call, const operand *o, const opf_expr *const *operand_indices) {
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

static const opf_expr *operand_term(opf_call *call, const operand *o, const product_domain *domain, int kept, opf_dtype accumulator) {
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

/* sum over k of a * b; returns the stage's tensor. */
static int product_stage(opf_call *call, const operand *a, const operand *b, opf_dtype dtype, opf_dtype accumulator) {
    product_domain domain = domain_of(call, a, b);
    const opf_expr *left = operand_term(call, a, &domain, domain.m, accumulator);
    const opf_expr *right = operand_term(call, b, &domain, domain.n, accumulator);
    return opf_call_stage(call, "sum", domain.n_axes, 1, domain.extents, domain.names, OPF_COMBINE_SUM, dtype, accumulator,
                          opf_binary(call->pool, OPF_OP_MUL, left, right), NULL);
}

/* `value`, of type `accumulator`, times a factor that stands in an attribute. Integer products are scaled in float64. */
static const opf_expr *scaled(opf_call *call, const opf_expr *value, double factor) {
    if (factor == 1) return value;
    opf_dtype dtype = value->dtype;
    opf_dtype compute = opf_dtype_is_float(dtype) ? dtype : OPF_FLOAT64;
    const opf_expr *product = opf_binary(call->pool, OPF_OP_MUL, opf_call_convert(call, compute, value), opf_real(call->pool, compute, factor));
    return opf_call_convert(call, dtype, product);
}

static bool check_operands(opf_call *call) {
    return opf_call_check_rank(call, 0, 1, OPF_MAX_RANK, "the left operand") && opf_call_check_rank(call, 1, 1, OPF_MAX_RANK, "the right operand");
}

static bool check_numeric(opf_call *call) {
    opf_dtype dtype = opf_call_dtype(call, 0);
    if (opf_dtype_is_float(dtype) || opf_dtype_is_integer(dtype)) return true;
    opf_call_error(call, "type", "the operands must be numbers, and are %s", opf_dtype_name(dtype));
    return false;
}

static opf_status build_matmul(opf_call *call) {
    if (!check_operands(call) || !opf_call_check_same_type(call, 0, 1) || !check_numeric(call)) return OPF_ERROR_INPUT;
    operand a = operand_of(call, 0, true), b = operand_of(call, 1, false);
    opf_dtype dtype = opf_call_dtype(call, 0);
    opf_call_result(call, 0, product_stage(call, &a, &b, dtype, opf_call_accumulator(dtype)));
    return OPF_OK;
}

static opf_status build_matmul_integer(opf_call *call) {
    for (int k = 0; k < call->node->n_inputs; k++)
        if (opf_call_input(call, k) && !opf_dtype_is_integer(opf_call_dtype(call, k)))
            return opf_call_error(call, "type", "input %d of %s must be an integer tensor", k, call->op->name);
    if (!check_operands(call)) return OPF_ERROR_INPUT;
    operand a = operand_of(call, 0, true), b = operand_of(call, 1, false);
    if (opf_call_input(call, 2)) a.zero_point = 2;
    if (opf_call_input(call, 3)) b.zero_point = 3;
    opf_call_result(call, 0, product_stage(call, &a, &b, OPF_INT32, OPF_INT32));
    return OPF_OK;
}

/* com.microsoft FusedMatMul: the operand's axes before the product. transBatch moves the first axis behind the batch. */
static operand fused_operand(opf_call *call, int tensor, bool is_left, const char *trans, const char *trans_batch) {
    operand o = operand_of(call, tensor, is_left);
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

static opf_status build_fused_matmul(opf_call *call) {
    if (!check_operands(call) || !opf_call_check_same_type(call, 0, 1) || !check_numeric(call)) return OPF_ERROR_INPUT;
    operand a = fused_operand(call, 0, true, "transA", "transBatchA"), b = fused_operand(call, 1, false, "transB", "transBatchB");
    double alpha = opf_node_float(call->node, "alpha", 1);
    opf_dtype dtype = opf_call_dtype(call, 0), accumulator = opf_call_accumulator(dtype);
    int result = product_stage(call, &a, &b, alpha == 1 ? dtype : accumulator, accumulator);
    if (alpha != 1) {
        opf_dim extents[OPF_MAX_RANK];
        opf_call_dims(call, result, extents);
        const opf_expr *body = opf_call_convert(call, dtype, scaled(call, opf_call_load_same(call, result), alpha));
        result = opf_call_map(call, "scaled", opf_call_rank(call, result), extents, body);
    }
    opf_call_result(call, 0, result);
    return OPF_OK;
}

/* C of a Gemm under broadcasting to [m, n], one way only. */
static const opf_expr *gemm_addend(opf_call *call, const opf_dim *extents, bool broadcasts) {
    if (!opf_call_check_rank(call, 2, broadcasts ? 0 : 2, 2, "input C")) return NULL;
    int rank = opf_call_rank(call, 2);
    for (int k = 0; k < rank; k++) {
        opf_dim own = opf_call_dim(call, 2, k);
        if (broadcasts && opf_is_value(own, 1)) continue;
        opf_call_same(call, extents[2 - rank + k], own, "the sizes of C and of the product");
    }
    return opf_call_load_broadcast(call, 2, 2, extents);
}

static opf_status gemm(opf_call *call, bool broadcasts) {
    if (!opf_call_check_rank(call, 0, 2, 2, "input A") || !opf_call_check_rank(call, 1, 2, 2, "input B")) return OPF_ERROR_INPUT;
    if (!opf_call_check_same_type(call, 0, 1) || !opf_call_check_same_type(call, 0, 2) || !check_numeric(call)) return OPF_ERROR_INPUT;
    operand a = fused_operand(call, 0, true, "transA", ""), b = fused_operand(call, 1, false, "transB", "");
    double alpha = opf_node_float(call->node, "alpha", 1), beta = opf_node_float(call->node, "beta", 1);
    bool adds = opf_call_input(call, 2) && beta != 0, plain = alpha == 1 && !adds;
    opf_dtype dtype = opf_call_dtype(call, 0), accumulator = opf_call_accumulator(dtype);
    int product = product_stage(call, &a, &b, plain ? dtype : accumulator, accumulator);
    opf_dim extents[2];
    opf_call_dims(call, product, extents);
    const opf_expr *addend = adds ? gemm_addend(call, extents, broadcasts) : NULL;
    if (call->failed) return OPF_ERROR_INPUT;
    if (plain) {
        opf_call_result(call, 0, product);
        return OPF_OK;
    }
    const opf_expr *body = scaled(call, opf_call_load_same(call, product), alpha);
    if (addend) body = opf_binary(call->pool, OPF_OP_ADD, body, scaled(call, opf_call_convert(call, accumulator, addend), beta));
    opf_call_result(call, 0, opf_call_stage(call, "epilogue", 2, 0, extents, (const char *const[]){"m", "n"}, OPF_COMBINE_NONE, dtype, dtype,
                                            opf_call_convert(call, dtype, body), NULL));
    return OPF_OK;
}

static opf_status build_gemm_6(opf_call *call) { return gemm(call, opf_node_int(call->node, "broadcast", 0) != 0); }
static opf_status build_gemm_7(opf_call *call) { return gemm(call, true); }

const opf_op opf_ops_matmul[] = {
    {"", "MatMul", 1, 2, 2, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_matmul, NULL},
    {"", "Gemm", 1, 3, 3, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_gemm_6, NULL},
    {"", "Gemm", 7, 2, 3, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_gemm_7, NULL},
    {"", "MatMulInteger", 10, 2, 4, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_matmul_integer, NULL},
    {"com.microsoft", "FusedMatMul", 1, 2, 2, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_fused_matmul, NULL},
};
const size_t opf_ops_matmul_count = OPF_COUNT(opf_ops_matmul);
