/* Padded operands and planes of windows (window_plane.c) for several values of the axis around them at once: the axis is split
 * into blocks and places, and what was computed once a value is computed for a block's places one after the other. A vector loaded
 * right after it was stored in pieces waits for the stores before it; a few planes later it does not.
 *
 * 7x7 maps, 3x3 taps, a core with 512-bit vectors: 0.043 ms one at a time, 0.025 ms in eights. */
#include "loop/scheduler.h"

enum { MOST_PLACES = 8, MOST_ELEMENTS = 6144 /* of all arrays of a block: half of a first cache */ };

/* Computed under the loop at `position`, and under no loop inside it? */
static bool stands_at(const opf_item *item, int position) { return item->depth == position + 1 && item->bound.count == position + 1; }

/* The loop that all planes of windows stand under, next to it; -1 where there are none, or another item is in the way. */
static int loop_of_planes(const opf_scheduler *s, const opf_root *root, int64_t *elements) {
    int position = -1;
    for (int i = 0; i < s->n_stages; i++)
        if (root->items[i] && s->plane[i]) position = root->items[i]->depth - 1;
    *elements = 0;
    for (int i = 0; i < s->n_stages && position >= 0; i++) {
        const opf_item *item = root->items[i];
        if (!item || item->depth <= position) continue;
        if (!stands_at(item, position)) return -1;
        *elements += opf_nominal_product(s, &item->free);
    }
    return position;
}

static int64_t places_of(const opf_scheduler *s, int variable, int64_t elements) {
    int64_t extent, places = MOST_PLACES;
    if (!opf_is_int(opf_extent(s, variable), &extent)) return 1;
    while (places > 1 && (extent % places || extent < 2 * places || places * elements > MOST_ELEMENTS)) places--;
    return places;
}

static void split_item(opf_scheduler *s, opf_item *item, int variable, int block, int64_t places) {
    int place = opf_variable_new(s, s->nest->variables.data[variable].name, opf_int(s->pool, places));
    item->base = opf_mul(s->pool, opf_variable(s, block), opf_int(s->pool, places));
    item->place = place;
    const opf_expr *value = opf_add(s->pool, item->base, opf_variable(s, place));
    item->term = opf_substitute_safely(s, item->term, variable, value);
    if (item->second) item->second = opf_substitute_safely(s, item->second, variable, value);
    for (int k = 0; k < s->stages[item->stage]->n_axes; k++)
        if (item->axis[k] == variable) item->axis[k] = place;
    for (int k = item->free.count++; k > 0; k--) item->free.at[k] = item->free.at[k - 1];
    item->free.at[0] = place;
    item->bound.at[item->bound.count - 1] = block;
}

void opf_root_batch(opf_scheduler *s, opf_root *root) {
    int64_t elements, places;
    int position = loop_of_planes(s, root, &elements);
    if (position < 0 || root->order.count == OPF_MOST_AXES || (places = places_of(s, root->order.at[position], elements)) < 2) return;
    int variable = root->order.at[position];
    const char *name = s->nest->variables.data[variable].name;
    int block = opf_variable_new(s, opf_arena_printf(s->arena, "%s_block", name), opf_floordiv(s->pool, opf_extent(s, variable), opf_int(s->pool, places)));
    int place = opf_variable_new(s, name, opf_int(s->pool, places));
    const opf_expr *value = opf_add(s->pool, opf_mul(s->pool, opf_variable(s, block), opf_int(s->pool, places)), opf_variable(s, place));
    for (int i = 0; i < s->n_stages; i++)
        if (root->items[i] && root->items[i]->depth > position) split_item(s, root->items[i], variable, block, places);
    for (size_t i = 0; i < root->outputs.list.count; i++) {
        opf_target *target = &root->outputs.list.data[i];
        target->offset = opf_substitute(s, target->offset, variable, value);
        target->value = opf_substitute_safely(s, target->value, variable, value);
    }
    for (int i = root->order.count++; i > position + 1; i--) root->order.at[i] = root->order.at[i - 1];
    root->order.at[position] = block;
    root->order.at[position + 1] = place;
}
