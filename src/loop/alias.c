/* Rows that need no memory of their own: a kept map whose elements the result takes the place of, one for one, is computed in
 * the result's row (the exponentials of a softmax, before they are divided by their sum). */
#include "loop/scheduler.h"

typedef struct row_search { int buffer; const opf_expr *offset; bool one; } row_search;

static bool find_row(const opf_expr *e, void *data) {
    row_search *f = data;
    if (e->kind != OPF_EXPR_LOAD || e->index != f->buffer) return true;
    f->one = !f->offset || f->offset == e->args[0];
    f->offset = e->args[0];
    return f->one;
}

/* Is the buffer too large for the stack? */
static bool wants_scratch(const opf_scheduler *s, const opf_item *item) {
    int64_t elements;
    const opf_nest_buffer *buffer = opf_buffer_at(s, item->buffer);
    return buffer->memory == OPF_MEMORY_SCRATCH && !(opf_is_int(buffer->elements, &elements) && elements <= OPF_STACK_ELEMENTS);
}

/* The output reads the row at its own innermost variable only, of which it stores one element each. */
static bool takes_its_place(opf_scheduler *s, const opf_root *root, const opf_item *item, const opf_target *output) {
    const opf_nest_buffer *row = opf_buffer_at(s, item->buffer), *result = opf_buffer_at(s, output->buffer);
    bool half = row->dtype == OPF_FLOAT16 || row->dtype == OPF_BFLOAT16; /* held otherwise than stored */
    if (row->dtype != result->dtype || half || item->free.count != 1 || item->depth + 1 != root->order.count) return false;
    if (item->offset != opf_variable(s, item->free.at[0]) || item->results.list.count) return false;
    int innermost = root->order.at[item->depth];
    row_search f = {item->buffer, NULL, true};
    opf_expr_visit(s->pool, output->value, find_row, &f);
    const opf_expr *coefficient, *rest;
    return f.one && f.offset == opf_variable(s, innermost) && opf_extent(s, innermost) == opf_extent(s, item->free.at[0]) &&
           opf_expr_affine(s->pool, output->offset, innermost, &coefficient, &rest) && !opf_is_value(coefficient, 0);
}

typedef struct moving { opf_scheduler *s; int buffer, result, innermost; const opf_expr *offset; } moving;

static const opf_expr *in_result(const moving *m, const opf_expr *index) { return opf_simple(m->s, opf_substitute(m->s, m->offset, m->innermost, index)); }

static const opf_expr *moved(opf_pool *pool, const opf_expr *leaf, void *data) {
    const moving *m = data;
    if (leaf->kind != OPF_EXPR_LOAD || leaf->index != m->buffer) return NULL;
    const opf_expr *offset = in_result(m, leaf->args[0]), *load = opf_load(pool, (opf_dtype)leaf->dtype, m->result, 1, &offset);
    if (opf_is_safe(m->s, leaf, OPF_SAFE)) opf_note_safe(m->s, load, OPF_SAFE);
    return load;
}

static void move_row(opf_scheduler *s, opf_root *root, opf_item *item, opf_target *output) {
    moving m = {s, item->buffer, output->buffer, root->order.at[item->depth], output->offset};
    output->value = opf_expr_map(s->pool, output->value, moved, &m);
    for (int i = 0; i < s->n_stages; i++)
        if (root->items[i]) root->items[i]->term = opf_expr_map(s->pool, root->items[i]->term, moved, &m);
    item->buffer = output->buffer;
    item->offset = in_result(&m, item->offset);
}

void opf_alias_rows(opf_scheduler *s, opf_root *root) {
    if (root->outputs.list.count != 1) return;
    for (int i = 0; i < s->n_stages; i++) {
        opf_item *item = root->items[i];
        if (!item || s->reduced[i] || !wants_scratch(s, item) || !takes_its_place(s, root, item, &root->outputs.list.data[0])) continue;
        move_row(s, root, item, &root->outputs.list.data[0]);
        return;
    }
}
