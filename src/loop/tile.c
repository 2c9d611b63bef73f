/* Contractions: the whole of the schedule. */
#include "loop/tile_internal.h"

#include <string.h>

static const char *source_name(opf_operand_source source) {
    switch (source) {
    case OPF_SOURCE_CONSTANT: return "packed at build time";
    case OPF_SOURCE_PANELS: return "packed";
    case OPF_SOURCE_ROWS: return "in place";
    case OPF_SOURCE_COPY: return "from a copy of its rows";
    case OPF_SOURCE_WINDOW: return "by windows of a copy";
    }
    return "";
}

static void describe(opf_tiler *tiler, const char *no_winograd) {
    const opf_tile *tile = tiler->tile;
    opf_text text = {0};
    if (tile->winograd) opf_text_printf(&text, "Winograd F(%d x %d, 3 x 3), %lld lines of tiles a unit, ", tile->winograd, tile->winograd, (long long)opf_dim_nominal(tile->column_chunk) / tile->winograd);
    int columns = tile->turned ? tile->turned : tile->height, vectors = tile->turned ? tile->height / tiler->nest->machine->lanes : tile->width;
    opf_text_printf(&text, "contraction, %stile %d x %d vectors, A %s, B %s", tile->turned ? "turned " : "", columns, vectors, source_name(tile->a.source), tile->fill ? "computed in bands" : source_name(tile->b.source));
    if (tile->fill) opf_text_printf(&text, " of %lld lines", (long long)opf_dim_nominal(tile->column_chunk));
    if (tile->half) opf_text_printf(&text, " as %s", opf_dtype_name(tile->half));
    if (tile->siblings.count) opf_text_printf(&text, ", %zu sums of one A", 1 + tile->siblings.count);
    if (tile->depth_block) opf_text_printf(&text, ", depth in passes of %lld", (long long)tile->depth_block);
    opf_text_add(&text, tile->stores_direct ? ", stored from registers" : "");
    if (tile->words) opf_text_add(&text, tile->words == 4 ? ", words of four bytes" : ", words of two int16");
    else opf_text_add(&text, opf_tiler_sums_integers(tiler) ? ", integers that float32 holds" : "");
    if (no_winograd) opf_text_printf(&text, "; winograd: %s", no_winograd);
    tiler->nest->schedule = opf_arena_string(tiler->arena, opf_text_string(&text));
    opf_text_free(&text);
}

static void reset(opf_tiler *tiler) {
    opf_nest *nest = tiler->nest;
    nest->packed.count = 0;
    nest->units = nest->scratch_bytes = NULL;
    *tiler->tile = (opf_tile){0};
}

static bool is_wanted(const opf_tiler *tiler, opf_algorithm algorithm) {
    int64_t wanted = opf_nest_wants(tiler->nest, OPF_KNOB_ALGORITHM);
    return !wanted || wanted == (int64_t)algorithm;
}

static bool by_winograd(opf_tiler *tiler, const char **why_not) {
    if (!is_wanted(tiler, OPF_BY_WINOGRAD_2) && !is_wanted(tiler, OPF_BY_WINOGRAD_4)) return false;
    if (!opf_tiler_anchor(tiler) || !opf_tiler_may_be_winograd(tiler)) return false;
    tiler->winograd = true;
    bool done = opf_tiler_match(tiler) && opf_tiler_epilogue(tiler) && opf_tiler_winograd(tiler);
    tiler->winograd = false;
    if (done) return true;
    *why_not = tiler->why;
    reset(tiler);
    return false;
}

static bool packed(opf_tiler *tiler) {
    opf_tiler_half(tiler);
    return opf_tiler_pack(tiler);
}

static bool by_sums(opf_tiler *tiler) {
    if (!is_wanted(tiler, tiler->bands ? OPF_BY_BANDS : OPF_BY_TILE) && (tiler->bands || !is_wanted(tiler, OPF_BY_TURNED))) return opf_tiler_refuse(tiler, "another algorithm is asked for");
    return opf_tiler_match(tiler) && opf_tiler_epilogue(tiler) && opf_tiler_operands(tiler) && opf_tiler_integers(tiler) && opf_tiler_sizes(tiler) && packed(tiler);
}

/* Integers, several to a lane. */
static bool by_words(opf_tiler *tiler) {
    if (!is_wanted(tiler, OPF_BY_TILE) || tiler->nest->machine->products < 2) return false;
    if (!opf_tiler_anchor(tiler) || !opf_tiler_sums_integers(tiler)) return false;
    tiler->words = true;
    bool done = opf_tiler_match(tiler) && opf_tiler_epilogue(tiler) && opf_tiler_words(tiler) && opf_tiler_sizes(tiler) && opf_tiler_pack(tiler);
    tiler->words = false;
    if (!done) reset(tiler);
    return done;
}

/* A window in front of a product at single points. */
static bool by_bands(opf_tiler *tiler) {
    if (!is_wanted(tiler, OPF_BY_BANDS)) return false;
    reset(tiler);
    tiler->bands = true;
    if (!opf_tiler_anchor(tiler)) return false;
    bool *chain = OPF_ARRAY(tiler->arena, bool, tiler->stages->list.count);
    tiler->band = opf_band_stage(tiler->stages, tiler->tile->anchor, tiler->pool, chain);
    if (tiler->band < 0) return opf_tiler_refuse(tiler, "the group holds more than one reduction");
    return by_sums(tiler) && opf_tiler_fill(tiler);
}

/* How the depth loop of the tile is written. */
static void choose_inner_loop(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    int64_t ahead = opf_nest_wants(tiler->nest, OPF_KNOB_PREFETCH);
    tile->unroll = (int)opf_tiler_wanted(tiler, OPF_KNOB_UNROLL, 1, OPF_TILE_UNROLL);
    tile->prefetch = tile->turned || ahead == OPF_KNOB_NONE ? 0 : ahead ? (int)ahead : opf_tile_usual_prefetch(tile, tiler->nest->machine);
    int64_t wanted = opf_nest_wants(tiler->nest, OPF_KNOB_AHEAD);
    if (!opf_tile_may_ask_ahead(tile)) return;
    tile->ahead = wanted && (wanted != OPF_AHEAD_PANEL || opf_tile_may_ask_for_panel(tile)) ? (int)wanted : (int)opf_tile_usual_ahead(tile);
}

bool opf_tile_schedule(opf_nest *nest, const char **why_not) {
    const opf_group *group = nest->group;
    opf_tile tile = {0};
    opf_tiler tiler = {.nest = nest, .tile = &tile, .pool = nest->pool, .arena = opf_pool_arena(nest->pool), .stages = &group->stages,
                       .n_inputs = (int)group->stages.inputs.count};
    const char *no_winograd = NULL;
    bool done = by_winograd(&tiler, &no_winograd) || by_words(&tiler) || by_sums(&tiler) || by_bands(&tiler);
    if (!done) {
        bool asked = opf_nest_wants(nest, OPF_KNOB_ALGORITHM) == OPF_BY_WINOGRAD_2 || opf_nest_wants(nest, OPF_KNOB_ALGORITHM) == OPF_BY_WINOGRAD_4;
        *why_not = !asked ? tiler.why : no_winograd ? no_winograd : "no sum over windows of 3 x 3";
        reset(&tiler);
        return false;
    }
    choose_inner_loop(&tiler);
    opf_tiler_tell(&tiler);
    nest->tile = opf_arena_copy(tiler.arena, &tile, sizeof tile);
    nest->flops = group->flops;
    nest->bytes = group->bytes_after;
    describe(&tiler, no_winograd);
    return true;
}
