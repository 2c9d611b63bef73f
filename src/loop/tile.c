/* Contractions: the whole of the schedule. */
#include "loop/tile_internal.h"

#include <string.h>

static const char *source_name(opf_operand_source source) {
    switch (source) {
    case OPF_SOURCE_CONSTANT: return "packed at build time";
    case OPF_SOURCE_PANELS: return "packed";
    case OPF_SOURCE_ROWS: return "in place";
    case OPF_SOURCE_WINDOW: return "by windows of a copy";
    }
    return "";
}

static void describe(opf_tiler *tiler) {
    const opf_tile *tile = tiler->tile;
    opf_text text = {0};
    opf_text_printf(&text, "contraction, tile %d x %d vectors, A %s, B %s", tile->height, tile->width, source_name(tile->a.source), source_name(tile->b.source));
    if (tile->depth_block) opf_text_printf(&text, ", depth in passes of %lld", (long long)tile->depth_block);
    opf_text_add(&text, tile->stores_direct ? ", stored from registers" : "");
    tiler->nest->schedule = opf_arena_string(tiler->arena, opf_text_string(&text));
    opf_text_free(&text);
}

bool opf_tile_schedule(opf_nest *nest, const char **why_not) {
    const opf_group *group = nest->group;
    opf_tile tile = {0};
    opf_tiler tiler = {.nest = nest, .tile = &tile, .pool = nest->pool, .arena = opf_pool_arena(nest->pool), .stages = &group->stages,
                       .n_inputs = (int)group->stages.inputs.count};
    bool done = opf_tiler_match(&tiler) && opf_tiler_epilogue(&tiler) && opf_tiler_operands(&tiler) && opf_tiler_sizes(&tiler) && opf_tiler_pack(&tiler);
    if (!done) {
        *why_not = tiler.why;
        nest->packed.count = 0;
        nest->units = nest->scratch_bytes = NULL;
        return false;
    }
    nest->tile = opf_arena_copy(tiler.arena, &tile, sizeof tile);
    nest->flops = group->flops;
    nest->bytes = group->bytes_after;
    describe(&tiler);
    return true;
}
