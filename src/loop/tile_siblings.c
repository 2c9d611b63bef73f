/* Sums that share one operand: what they must have in common. */
#include "loop/tile_internal.h"

enum { MOST_SIBLINGS = 3 }; /* queries, keys, values and a gate */

bool opf_tiler_is_anchor(const opf_tiler *tiler, int stage) {
    if (stage == tiler->tile->anchor) return true;
    for (size_t k = 0; k < tiler->tile->siblings.count; k++)
        if (tiler->tile->siblings.data[k].anchor == stage) return true;
    return false;
}

bool opf_tiler_take_sibling(opf_tiler *tiler, int s) {
    const opf_stage *stage = tiler->stages->list.data[s], *first = tiler->anchor;
    bool alike = stage->n_axes == first->n_axes && stage->n_reduce == first->n_reduce && stage->combiner == first->combiner &&
                 stage->dtype == first->dtype && stage->accumulator == first->accumulator;
    for (int k = 0; alike && k < stage->n_axes + stage->n_reduce; k++) alike = stage->extents[k] == first->extents[k];
    if (!alike) return opf_tiler_refuse(tiler, "the group holds reductions of different kinds or shapes");
    if (stage->body->kind != OPF_EXPR_BINARY || stage->body->op != OPF_OP_MUL) return opf_tiler_refuse(tiler, "a reduction sums no products");
    if (tiler->tile->siblings.count == MOST_SIBLINGS) return opf_tiler_refuse(tiler, "the group holds too many sums");
    OPF_PUSH(tiler->arena, &tiler->tile->siblings, (opf_tile_sibling){.anchor = s});
    return true;
}

/* B walks along no row. */
static bool is_second(const opf_tile *tile, const opf_expr *b) {
    for (int k = opf_tile_first_row(tile); k < opf_tile_first_column(tile); k++)
        if (opf_expr_has_var(b, k)) return false;
    return true;
}

bool opf_tiler_sibling_operands(opf_tiler *tiler, opf_axes_of axes_of, void *data) {
    opf_tile *tile = tiler->tile;
    for (size_t k = 0; k < tile->siblings.count; k++) {
        const opf_stage *stage = tiler->stages->list.data[tile->siblings.data[k].anchor];
        const opf_expr *operands[2];
        for (int i = 0; i < 2; i++) {
            const opf_expr *own = opf_tiler_inline(tiler, stage->body->args[i]);
            if (!own) return opf_tiler_refuse(tiler, "an operand holds a reduction");
            operands[i] = axes_of(tiler, own, data);
        }
        int a = operands[0] == tile->a.value ? 0 : 1;
        if (operands[a] != tile->a.value || !is_second(tile, operands[1 - a])) return opf_tiler_refuse(tiler, "the sums share no operand");
        tile->siblings.data[k].b.value = operands[1 - a];
    }
    return true;
}
