/* Activations by name. */
#include "ops/activation.h"

#include <string.h>

const opf_expr *opf_call_activated(opf_call *call, const char *name, const opf_expr *x, size_t n_parameters, const float *parameters) {
    static const struct { const char *name; size_t needs; } rows[] = {{"", 0}, {"Relu", 0}, {"Tanh", 0}, {"Sigmoid", 0}, {"LeakyRelu", 1}, {"Clip", 2}, {"HardSigmoid", 2}};
    opf_pool *pool = call->pool;
    opf_dtype dtype = (opf_dtype)x->dtype;
    const opf_expr *zero = opf_real(pool, dtype, 0), *one = opf_real(pool, dtype, 1), *given[2] = {zero, zero};
    size_t row = 0;
    while (row < OPF_COUNT(rows) && strcmp(rows[row].name, name) != 0) row++;
    if (row == OPF_COUNT(rows)) {
        opf_call_error(call, "unsupported", "activation '%s' is not supported", name);
        return x;
    }
    if (n_parameters < rows[row].needs) {
        opf_call_error(call, "attribute", "activation '%s' needs %zu parameters and has %zu", name, rows[row].needs, n_parameters);
        return x;
    }
    for (size_t k = 0; k < rows[row].needs; k++) given[k] = opf_real(pool, dtype, parameters[k]);
    switch (row) {
    case 0: return x;
    case 1: return opf_binary(pool, OPF_OP_MAX, x, zero);
    case 2: return opf_unary(pool, OPF_OP_TANH, x);
    case 3: return opf_binary(pool, OPF_OP_DIV, one, opf_binary(pool, OPF_OP_ADD, one, opf_unary(pool, OPF_OP_EXP, opf_unary(pool, OPF_OP_NEG, x))));
    case 4: return opf_select(pool, opf_binary(pool, OPF_OP_LT, x, zero), opf_binary(pool, OPF_OP_MUL, given[0], x), x);
    case 5: return opf_binary(pool, OPF_OP_MIN, opf_binary(pool, OPF_OP_MAX, x, given[0]), given[1]);
    default: break;
    }
    const opf_expr *line = opf_binary(pool, OPF_OP_ADD, opf_binary(pool, OPF_OP_MUL, given[0], x), given[1]);
    return opf_binary(pool, OPF_OP_MIN, opf_binary(pool, OPF_OP_MAX, line, zero), one);
}
