/* Windows in front of products at single points (bands.h). */
#include "fuse/bands.h"

enum { RANK = 4, MOST_TAPS = 25, FEWEST_TAPS = 4, FEWEST_COLUMNS = 4 };

typedef struct opf_reads { int tensor, count; const opf_expr *load; bool identity; const opf_stage *reader; } opf_reads;

static bool visit_read(const opf_expr *e, void *data) {
    opf_reads *r = data;
    if (e->kind != OPF_EXPR_LOAD || e->index != r->tensor) return true;
    r->count++;
    r->load = e;
    if (e->n_args > r->reader->n_axes) r->identity = false; /* a flattened view */
    for (int k = 0; k < e->n_args && r->identity; k++) {
        bool single = opf_is_value(r->reader->extents[k], 1) && opf_is_value(e->args[k], 0);
        if (!single && !(e->args[k]->kind == OPF_EXPR_VAR && e->args[k]->index == k)) r->identity = false;
    }
    return true;
}

static opf_reads reads_of(opf_pool *pool, const opf_stage *reader, int tensor) {
    opf_reads r = {.tensor = tensor, .identity = true, .reader = reader};
    opf_expr_visit(pool, reader->body, visit_read, &r);
    return r;
}

static int64_t known_taps(const opf_stage *stage) {
    int64_t taps = 1, extent;
    for (int k = stage->n_axes; k < stage->n_axes + stage->n_reduce; k++) {
        if (!opf_is_int(stage->extents[k], &extent) || extent < 1 || extent > MOST_TAPS) return 0;
        taps *= extent;
    }
    return taps;
}

/* The window among the stages before the anchor: the one reduction there. -1: none, or several, or too many taps. */
static int find_window(const opf_stages *stages, int anchor) {
    int window = -1;
    for (int s = 0; s < anchor; s++) {
        const opf_stage *stage = stages->list.data[s];
        if (!stage->n_reduce) continue;
        int64_t taps = known_taps(stage);
        if (window >= 0 || taps < FEWEST_TAPS || taps > MOST_TAPS || stage->n_axes != RANK || stage->second || stage->combiner > OPF_COMBINE_OR) return -1;
        for (int k = 2; k < RANK; k++)
            if (opf_is_value(stage->extents[k], 1) || opf_dim_nominal(stage->extents[k]) < FEWEST_COLUMNS) return -1;
        window = s;
    }
    return window;
}

static bool same_domain(const opf_stage *a, const opf_stage *b) {
    for (int k = 0; k < RANK; k++)
        if (b->n_axes != RANK || a->extents[k] != b->extents[k]) return false;
    return true;
}

/* Marks the window and what follows it up to the anchor; false where that is more than a chain of element-wise work. */
static bool find_chain(const opf_stages *stages, int window, int anchor, opf_pool *pool, bool *chain) {
    int n_inputs = (int)stages->inputs.count;
    chain[window] = true;
    for (int s = window + 1; s < anchor; s++) {
        const opf_stage *stage = stages->list.data[s];
        for (int t = window; t < s; t++) {
            if (!chain[t]) continue;
            opf_reads r = reads_of(pool, stage, n_inputs + t);
            if (!r.count) continue;
            if (!r.identity || stage->n_reduce || !same_domain(stages->list.data[window], stage)) return false;
            chain[s] = true;
        }
    }
    return true;
}

/* The anchor reads [n, channel, line, column] with the channel a reduced axis and the others its own, in this order. */
static bool is_read_at_points(const opf_stage *anchor, const opf_expr *load) {
    int last = -1, channels = 0;
    if (load->n_args != RANK) return false;
    for (int k = 0; k < RANK; k++) {
        const opf_expr *index = load->args[k];
        if (k == 0 && opf_is_value(index, 0)) continue;
        if (index->kind != OPF_EXPR_VAR) return false;
        bool channel = index->index >= anchor->n_axes;
        if (channel != (k == 1) || (!channel && index->index <= last)) return false;
        channels += channel;
        if (!channel) last = index->index;
    }
    return channels == 1;
}

int opf_band_stage(const opf_stages *stages, int anchor, opf_pool *pool, bool *chain) {
    const opf_stage *product = stages->list.data[anchor];
    int n_inputs = (int)stages->inputs.count, window = find_window(stages, anchor), band = -1;
    if (window < 0 || product->body->kind != OPF_EXPR_BINARY || product->body->op != OPF_OP_MUL) return -1;
    if (!find_chain(stages, window, anchor, pool, chain)) return -1;
    for (int side = 0; side < 2; side++) {
        const opf_expr *operand = product->body->args[side];
        if (operand->kind == OPF_EXPR_LOAD && operand->index >= n_inputs && chain[operand->index - n_inputs]) band = operand->index - n_inputs;
    }
    if (band < 0 || stages->list.data[band]->dtype != OPF_FLOAT32) return -1;
    for (size_t s = (size_t)anchor; s < stages->list.count; s++)
        for (int t = window; t < anchor; t++) {
            if (!chain[t]) continue;
            opf_reads r = reads_of(pool, stages->list.data[s], n_inputs + t);
            bool expected = (int)s == anchor && t == band;
            if (expected ? r.count != 1 || !is_read_at_points(product, r.load) : r.count > 0) return -1;
        }
    return band;
}

