/* Matrix products: MatMul, Gemm, MatMulInteger, FusedMatMul. Einsum has its own file, quantised ones theirs. */
#include "ops/activation.h"
#include "ops/families.h"
#include "ops/product.h"

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
    opf_operand a = opf_call_operand(call, 0, true), b = opf_call_operand(call, 1, false);
    opf_dtype dtype = opf_call_dtype(call, 0);
    opf_call_result(call, 0, opf_call_product(call, &a, &b, dtype, opf_call_accumulator(dtype)));
    return OPF_OK;
}

static opf_status build_matmul_integer(opf_call *call) {
    for (int k = 0; k < call->node->n_inputs; k++)
        if (opf_call_input(call, k) && !opf_dtype_is_integer(opf_call_dtype(call, k)))
            return opf_call_error(call, "type", "input %d of %s must be an integer tensor", k, call->op->name);
    if (!check_operands(call)) return OPF_ERROR_INPUT;
    opf_operand a = opf_call_operand(call, 0, true), b = opf_call_operand(call, 1, false);
    if (opf_call_input(call, 2)) a.zero_point = 2;
    if (opf_call_input(call, 3)) b.zero_point = 3;
    opf_call_result(call, 0, opf_call_product(call, &a, &b, OPF_INT32, OPF_INT32));
    return OPF_OK;
}

/* ---- com.microsoft FusedMatMul, TransposeMatMul ---- */

static opf_status build_fused_matmul(opf_call *call) {
    if (!check_operands(call) || !opf_call_check_same_type(call, 0, 1) || !check_numeric(call)) return OPF_ERROR_INPUT;
    opf_operand a = opf_call_operand_as(call, 0, true, "transA", "transBatchA"), b = opf_call_operand_as(call, 1, false, "transB", "transBatchB");
    double alpha = opf_node_float(call->node, "alpha", 1);
    opf_dtype dtype = opf_call_dtype(call, 0), accumulator = opf_call_accumulator(dtype);
    int result = opf_call_product(call, &a, &b, alpha == 1 ? dtype : accumulator, accumulator);
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

/* com.microsoft FusedGemm; Gemm itself has no such attributes. */
static const opf_expr *gemm_activation(opf_call *call, const opf_expr *x) {
    static const char *const names[] = {"activation_alpha", "activation_beta"};
    float given[2];
    size_t count = 0;
    if (!call->op->domain[0]) return x;
    while (count < 2 && opf_node_attr(call->node, names[count])) given[count] = (float)opf_node_float(call->node, names[count], 0), count++;
    return opf_call_activated(call, opf_node_string(call->node, "activation", ""), x, count, given);
}

static opf_status gemm(opf_call *call, bool broadcasts) {
    if (!opf_call_check_rank(call, 0, 2, 2, "input A") || !opf_call_check_rank(call, 1, 2, 2, "input B")) return OPF_ERROR_INPUT;
    if (!opf_call_check_same_type(call, 0, 1) || !opf_call_check_same_type(call, 0, 2) || !check_numeric(call)) return OPF_ERROR_INPUT;
    opf_operand a = opf_call_operand_as(call, 0, true, "transA", ""), b = opf_call_operand_as(call, 1, false, "transB", "");
    double alpha = opf_node_float(call->node, "alpha", 1), beta = opf_node_float(call->node, "beta", 1);
    bool adds = opf_call_input(call, 2) && beta != 0, plain = alpha == 1 && !adds && !call->op->domain[0];
    opf_dtype dtype = opf_call_dtype(call, 0), accumulator = opf_call_accumulator(dtype);
    int product = opf_call_product(call, &a, &b, plain ? dtype : accumulator, accumulator);
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
    body = gemm_activation(call, body);
    if (call->failed) return OPF_ERROR_INPUT;
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
    {"com.microsoft", "FusedGemm", 1, 2, 3, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_gemm_7, NULL},
    {"com.microsoft", "TransposeMatMul", 1, 2, 2, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_fused_matmul, NULL},
    {"com.microsoft", "FusedMatMul", 1, 2, 2, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_fused_matmul, NULL},
};
const size_t opf_ops_matmul_count = OPF_COUNT(opf_ops_matmul);
