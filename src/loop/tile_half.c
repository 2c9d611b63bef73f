/* Constant second operands of 16 bits that stay so in their panels. A few rows stream the constant once: memory is what they wait for, and half as many
 * bytes take half as long. Each vector is made floats as it is read, exactly; many rows would do that over and over, and have floats. */
#include <float.h>

#include "loop/tile_internal.h"

enum { MOST_ROWS = 4, LANES_OF_F16C = 8 /* x86-64-v3 and v4 have the conversion; elsewhere float16 would take a dozen operations */ };

static opf_dtype half_of(const opf_tile_operand *operand) {
    const opf_expr *value = operand->value;
    bool cast = operand->source == OPF_SOURCE_CONSTANT && value->kind == OPF_EXPR_CAST && value->args[0]->kind == OPF_EXPR_LOAD;
    opf_dtype dtype = cast ? (opf_dtype)value->args[0]->dtype : OPF_NO_DTYPE;
    return dtype == OPF_FLOAT16 || dtype == OPF_BFLOAT16 ? dtype : OPF_NO_DTYPE;
}

void opf_tiler_half(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    int64_t rows;
    opf_dtype half = half_of(&tile->b);
    if (!half || !opf_is_int(tile->rows, &rows) || rows > MOST_ROWS) return;
    if (half == OPF_FLOAT16 && tiler->nest->machine->lanes < LANES_OF_F16C) return;
    for (size_t k = 0; k < tile->siblings.count; k++)
        if (half_of(&tile->siblings.data[k].b) != half) return;
    tile->half = half;
}

/* Denormal numbers of bfloat16 are such of float32, and count as zeros (docs/numerics.md); those of float16 are not. */
const opf_expr *opf_tiler_half_of(const opf_tiler *tiler, const opf_expr *value) {
    opf_pool *pool = tiler->pool;
    const opf_expr *half = value->args[0];
    if (half->dtype != OPF_BFLOAT16 || opf_group_is_exact(tiler->nest->group)) return half;
    const opf_expr *small = opf_binary(pool, OPF_OP_LT, opf_unary(pool, OPF_OP_ABS, value), opf_real(pool, OPF_FLOAT32, (double)FLT_MIN));
    return opf_select(pool, small, opf_real(pool, OPF_BFLOAT16, 0), half);
}
