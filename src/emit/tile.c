/* The kernel of a contraction: units of work, blocks of sums, passes over the depth, tiles. */
#include "emit/tile_internal.h"

#include <stdarg.h>

/* ---- text ---- */

static void indent(opf_tile_printer *p) {
    for (int i = 0; i < p->indent; i++) opf_text_add(p->out, "    ");
}

void opf_tile_line(opf_tile_printer *p, const char *format, ...) {
    va_list arguments;
    indent(p);
    va_start(arguments, format);
    opf_text_vprintf(p->out, format, arguments);
    va_end(arguments);
    opf_text_add(p->out, "\n");
}

void opf_tile_open(opf_tile_printer *p, const char *format, ...) {
    va_list arguments;
    indent(p);
    va_start(arguments, format);
    opf_text_vprintf(p->out, format, arguments);
    va_end(arguments);
    opf_text_add(p->out, " {\n");
    p->indent++;
}

void opf_tile_close(opf_tile_printer *p) {
    p->indent--;
    opf_tile_line(p, "}");
}

const opf_expr *opf_tile_offset(opf_tile_printer *p, const opf_value *value, const opf_expr *const *indices) {
    const opf_expr *offset = opf_int(p->pool, 0);
    for (int k = 0; k < value->rank; k++) offset = opf_add(p->pool, opf_mul(p->pool, offset, value->dims[k]), indices[k]);
    return offset;
}

static void print_variable(void *data, int position, opf_text *out) { opf_text_add(out, ((opf_tile_printer *)data)->names[position]); }

const opf_expr *opf_tile_flattened(opf_tile_printer *p, const opf_expr *offset) {
    if (!p->flat_columns || p->tile->n_column < 2) return offset;
    const opf_expr *bind[3 * OPF_MAX_RANK] = {NULL};
    int first = opf_tile_first_column(p->tile);
    bind[first] = opf_int(p->pool, 0);
    return opf_expr_bind(p->pool, offset, first + 1, bind);
}

void opf_tile_choose_sum(opf_tile_printer *p, size_t k) {
    p->b = k ? &p->tile->siblings.data[k - 1].b : &p->tile->b;
    p->mark = k ? opf_arena_printf(opf_pool_arena(p->pool), "_%zu", k + 1) : "";
}

/* How the sum that is the stage is spelled; NULL: it is none. */
static const char *sums_of(const opf_tile_printer *p, int stage) {
    if (stage == p->tile->anchor) return p->sums;
    for (size_t k = 0; k < p->tile->siblings.count; k++)
        if (p->tile->siblings.data[k].anchor == stage) return opf_arena_printf(opf_pool_arena(p->pool), "sums_%zu[i]", k + 2);
    return NULL;
}

static void print_load(void *data, const opf_expr *load, opf_text *out) {
    opf_tile_printer *p = data;
    if (load->index >= OPF_TILE_ROUNDED) {
        if (load->index == OPF_TILE_ROUNDED) opf_text_add(out, p->sums);
        else opf_text_printf(out, "line_%d[i - piece]", load->index - OPF_TILE_ROUNDED);
        return;
    }
    if (load->index >= OPF_TILE_HOISTED) {
        opf_text_printf(out, "h%d", load->index - OPF_TILE_HOISTED);
        return;
    }
    if (load->index >= OPF_TILE_PACKED) {
        int packed = load->index - OPF_TILE_PACKED;
        const opf_value *value = p->nest->packed.data[packed].group->results.data[0].value;
        opf_text_printf(out, "p%d[%s]", p->n_inputs + (int)p->group->results.count + packed, opf_tile_text(p, opf_tile_offset(p, value, load->args)));
        return;
    }
    if (load->index >= p->n_inputs) {
        int stage = load->index - p->n_inputs;
        const char *sums = sums_of(p, stage);
        if (!sums) opf_text_printf(out, "t%d", stage);
        else if (load->dtype == OPF_FLOAT32 || p->tile->words) opf_text_add(out, sums);
        else if (load->dtype == OPF_INT32) opf_text_printf(out, "(int32_t)%s", sums);
        else opf_emit_round((opf_dtype)load->dtype, sums, out);
        return;
    }
    const opf_value *value = p->group->stages.inputs.data[load->index];
    const char *place = opf_arena_printf(opf_pool_arena(p->pool), "p%d", load->index);
    opf_emit_element(value->dtype, place, opf_tile_text(p, opf_tile_flattened(p, opf_tile_offset(p, value, load->args))), out);
}

/* A sum is not rounded yet. */
static bool print_code(void *data, const opf_expr *load, opf_text *out) {
    opf_tile_printer *p = data;
    const char *sums = load->index >= p->n_inputs && load->index < OPF_TILE_PACKED ? sums_of(p, load->index - p->n_inputs) : NULL;
    if (!sums) return false;
    opf_text_printf(out, "opf_f32_to_%s(%s)", opf_emit_suffix((opf_dtype)load->dtype), sums);
    return true;
}

/* Sizes alone: variables may stand for positions beyond their axes. */
static bool is_nonnegative(void *data, const opf_expr *e) {
    const opf_tile_printer *p = data;
    return !opf_expr_vars(e) && opf_expr_prove_le(p->pool, opf_int(p->pool, 0), e, (opf_domain){0, NULL});
}

static const char *const size_names[OPF_TILE_SIZES] = {"rows", "columns", "depth", "line_pitch", "plane"};

static opf_dim size_of(const opf_tile *tile, int size) {
    const opf_dim sizes[OPF_TILE_SIZES] = {tile->rows, tile->columns, tile->depth, tile->pitch, tile->plane};
    return sizes[size];
}

/* The local that holds a size, NULL where it is none of them or known as a number. */
static const char *size_name(opf_tile_printer *p, const opf_expr *e) {
    if (opf_is_int(e, NULL) || e->kind == OPF_EXPR_SYMBOL) return NULL;
    for (int size = 0; size < OPF_TILE_SIZES; size++)
        if (size_of(p->tile, size) == e) {
            p->used_sizes[size] = true;
            return size_names[size];
        }
    return NULL;
}

static opf_emit_scope scope_of(opf_tile_printer *p) { return (opf_emit_scope){print_load, print_variable, p, is_nonnegative, print_code}; }

static const char *taken(opf_tile_printer *p, opf_text *text) {
    const char *string = opf_arena_string(opf_pool_arena(p->pool), opf_text_string(text));
    opf_text_free(text);
    return string;
}

static const char *text_of(opf_tile_printer *p, const opf_expr *e, bool operand) {
    const char *local = size_name(p, e);
    if (local) return local;
    opf_emit_scope scope = scope_of(p);
    opf_text text = {0};
    if (operand) opf_emit_operand(e, &scope, &text);
    else opf_emit_expr(e, &scope, &text);
    return taken(p, &text);
}

const char *opf_tile_text(opf_tile_printer *p, const opf_expr *e) { return text_of(p, e, false); }
const char *opf_tile_operand_text(opf_tile_printer *p, const opf_expr *e) { return text_of(p, e, true); }
const char *opf_tile_code_text(opf_tile_printer *p, const opf_expr *e) {
    opf_emit_scope scope = scope_of(p);
    opf_text text = {0};
    opf_emit_code(e, &scope, &text);
    return taken(p, &text);
}

/* ---- buffers ---- */

typedef struct usage { opf_tile_printer *p; bool *used; } usage;

static bool visit_use(const opf_expr *e, void *data) {
    usage *u = data;
    if (e->kind == OPF_EXPR_LOAD && e->index < u->p->n_inputs) u->used[e->index] = true;
    return true;
}

static void print_buffers(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    usage u = {p, OPF_ARRAY(opf_pool_arena(p->pool), bool, p->n_inputs)};
    if (tile->a.source != OPF_SOURCE_CONSTANT) opf_expr_visit(p->pool, tile->a.value, visit_use, &u);
    for (size_t k = 0; k < opf_tile_sums(p); k++) {
        opf_tile_choose_sum(p, k);
        if (p->b->source != OPF_SOURCE_CONSTANT) opf_expr_visit(p->pool, p->b->value, visit_use, &u);
    }
    for (size_t i = 0; i < tile->epilogue.count; i++) opf_expr_visit(p->pool, tile->epilogue.data[i].body, visit_use, &u);
    for (size_t s = 0; tile->fill && s < tile->fill->group->stages.list.count; s++)
        opf_expr_visit(p->pool, tile->fill->group->stages.list.data[s]->body, visit_use, &u);
    for (int i = 0; i < p->n_inputs; i++)
        if (u.used[i]) opf_tile_line(p, "const %s *restrict p%d = args->p[%d];", opf_emit_ctype(p->group->stages.inputs.data[i]->dtype), i, i);
    int at = p->n_inputs;
    for (size_t r = 0; r < p->group->results.count; r++, at++)
        opf_tile_line(p, "%s *restrict p%d = args->p[%d];", opf_emit_ctype(p->group->results.data[r].value->dtype), at, at);
    for (size_t i = 0; i < p->nest->packed.count; i++, at++) {
        bool half = tile->half && p->nest->packed.data[i].group->results.data[0].value->dtype == tile->half;
        opf_tile_line(p, "const %s *restrict p%d = args->p[%d]; /* packed */", half ? opf_tile_word_of_b(tile) : opf_tile_word(tile), at, at);
    }
}

const char *opf_tile_place(opf_tile_printer *p, const char *base, const opf_expr *offset) {
    return opf_is_value(offset, 0) ? base : opf_arena_printf(opf_pool_arena(p->pool), "%s + %s", base, opf_tile_operand_text(p, offset));
}

static void print_scratch(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    typedef struct scratch { opf_dim floats; const char *name, *type; } scratch;
    OPF_VEC(scratch) parts = {0};
    const char *word = opf_tile_word(tile);
    opf_arena *arena = opf_pool_arena(p->pool);
    OPF_PUSH(arena, &parts, (scratch){tile->a_floats, "a_panels", word});
    OPF_PUSH(arena, &parts, (scratch){tile->b_floats, tile->b.source == OPF_SOURCE_WINDOW ? "window" : tile->b.source == OPF_SOURCE_COPY ? "b_copy" : "b_panels", word});
    OPF_PUSH(arena, &parts, (scratch){tile->at_floats, "at", "int32_t"});
    if (tile->turned) OPF_PUSH(arena, &parts, (scratch){tile->turned_floats, "turned", word});
    for (size_t k = 0; k < opf_tile_sums(p); k++) {
        opf_tile_choose_sum(p, k);
        OPF_PUSH(arena, &parts, (scratch){tile->tail_floats, opf_arena_printf(arena, "b_tail%s", p->mark), word});
        OPF_PUSH(arena, &parts, (scratch){tile->block_floats, opf_arena_printf(arena, "block%s", p->mark), word});
    }
    const opf_expr *offset = opf_int(p->pool, 0);
    if (opf_is_value(p->nest->scratch_bytes, 0)) return;
    opf_tile_line(p, "float *scratch = (float *)(void *)(args->scratch + (size_t)part * args->scratch_stride);");
    for (size_t i = 0; i < parts.count; i++) {
        if (opf_is_value(parts.data[i].floats, 0)) continue;
        bool floats = parts.data[i].type[0] == 'f';
        const char *place = opf_tile_place(p, "scratch", offset);
        if (floats) opf_tile_line(p, "float *restrict %s = %s;", parts.data[i].name, place);
        else opf_tile_line(p, "%s *restrict %s = (%s *)(void *)(%s);", parts.data[i].type, parts.data[i].name, parts.data[i].type, place);
        offset = opf_add(p->pool, offset, parts.data[i].floats);
    }
}

/* ---- units ---- */

static bool lines_are_chunked(const opf_tile_printer *p) { return p->tile->b.source == OPF_SOURCE_WINDOW && p->tile->n_column == 2; }

static opf_dim walked_extent(opf_tile_printer *p) {
    return lines_are_chunked(p) ? p->tile->axes[opf_tile_first_column(p->tile)].extent : p->tile->columns;
}

static void print_span(opf_tile_printer *p, const char *what, opf_dim extent, opf_dim chunk, bool last) {
    opf_dim count = opf_ceildiv(p->pool, extent, chunk);
    if (opf_is_value(count, 1)) {
        opf_tile_line(p, "const int64_t %s_begin = 0, %s_end = %s;", what, what, opf_tile_text(p, extent));
        return;
    }
    opf_tile_line(p, "const int64_t %s_begin = rest %% %s * %s;", what, opf_tile_operand_text(p, count), opf_tile_operand_text(p, chunk));
    if (!last) opf_tile_line(p, "rest /= %s;", opf_tile_operand_text(p, count));
    opf_tile_line(p, "const int64_t %s_end = opf_min_i64(%s_begin + %s, %s);", what, what, opf_tile_operand_text(p, chunk), opf_tile_text(p, extent));
}

/* Which unit: rows fastest, or columns where A is packed by the kernel and B is not; outer axes slowest. */
static void print_unit(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    bool outer = false;
    for (int k = 0; k < tile->n_outer; k++) outer |= !opf_is_value(tile->axes[k].extent, 1);
    opf_dim column_count = opf_ceildiv(p->pool, walked_extent(p), tile->column_chunk), row_count = opf_ceildiv(p->pool, tile->rows, tile->row_chunk);
    bool columns_cut = !opf_is_value(column_count, 1), rows_cut = !opf_is_value(row_count, 1);
    if (outer || columns_cut || rows_cut) opf_tile_line(p, "int64_t rest = unit;");
    const char *walked = lines_are_chunked(p) ? "line" : "column";
    if (tile->rows_first) {
        print_span(p, walked, walked_extent(p), tile->column_chunk, !outer && !rows_cut);
        print_span(p, "row", tile->rows, tile->row_chunk, !outer);
    } else {
        print_span(p, "row", tile->rows, tile->row_chunk, !outer && !columns_cut);
        print_span(p, walked, walked_extent(p), tile->column_chunk, !outer);
    }
    for (int k = tile->n_outer - 1; k >= 0; k--) {
        if (k == 0) {
            opf_tile_line(p, "const int64_t %s = rest;", p->names[k]);
            continue;
        }
        opf_tile_line(p, "const int64_t %s = rest %% %s;", p->names[k], opf_tile_operand_text(p, tile->axes[k].extent));
        opf_tile_line(p, "rest /= %s;", opf_tile_operand_text(p, tile->axes[k].extent));
    }
}

/* ---- tiles ---- */

/* Where panel 0 of an operand that was packed at build time starts: the outer axes that it walks along come first. */
static const char *packed_origin(opf_tile_printer *p, const opf_tile_operand *operand, opf_dim flat, int64_t panel) {
    const opf_tile *tile = p->tile;
    const opf_expr *offset = opf_int(p->pool, 0), *size = opf_mul(p->pool, opf_ceildiv(p->pool, flat, opf_int(p->pool, panel)), opf_int(p->pool, panel));
    size = opf_mul(p->pool, size, tile->depth);
    for (int k = 0; k < tile->n_outer; k++) {
        if (!opf_expr_has_var(operand->value, k)) continue;
        offset = opf_add(p->pool, opf_mul(p->pool, offset, tile->axes[k].extent), opf_var(p->pool, k));
    }
    offset = opf_mul(p->pool, offset, size);
    int buffer = p->n_inputs + (int)p->group->results.count + operand->packed;
    if (opf_is_value(offset, 0)) return opf_arena_printf(opf_pool_arena(p->pool), "p%d", buffer);
    return opf_arena_printf(opf_pool_arena(p->pool), "p%d + %s", buffer, opf_tile_text(p, offset));
}

/* Names for both operands' origins, so that the tiles' calls are short. */
static void print_origins(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    if (tile->a.source == OPF_SOURCE_CONSTANT) opf_tile_line(p, "const %s *restrict a_panels = %s;", opf_tile_word(tile), packed_origin(p, &tile->a, tile->rows, tile->height));
    for (size_t k = 0; k < opf_tile_sums(p); k++) {
        opf_tile_choose_sum(p, k);
        if (p->b->source == OPF_SOURCE_CONSTANT) opf_tile_line(p, "const %s *restrict b_panels%s = %s;", opf_tile_word_of_b(tile), p->mark, packed_origin(p, p->b, tile->columns, p->panel));
        if (p->b->source == OPF_SOURCE_ROWS) opf_tile_line(p, "const float *restrict b_rows%s = %s;", p->mark, opf_tile_place(p, opf_arena_printf(opf_pool_arena(p->pool), "p%d", p->b->input), p->b->base));
    }
}

static const char *b_text(opf_tile_printer *p, bool tail) {
    const opf_tile *tile = p->tile;
    opf_arena *arena = opf_pool_arena(p->pool);
    const char *depth = opf_tile_operand_text(p, tile->depth);
    switch (p->b->source) {
    case OPF_SOURCE_CONSTANT: return opf_arena_printf(arena, "b_panels%s + c * %s + k * %d, %d", p->mark, depth, p->panel, p->panel);
    case OPF_SOURCE_PANELS: return opf_arena_printf(arena, "b_panels + (c - column_begin) * %s + k * %d, %d", depth, p->panel, p->panel);
    case OPF_SOURCE_WINDOW: return "window + c, at + k";
    case OPF_SOURCE_COPY: return opf_arena_printf(arena, "b_copy + k * %s + (c - column_begin), %s", opf_tile_operand_text(p, p->b->step), opf_tile_operand_text(p, p->b->step));
    case OPF_SOURCE_ROWS: break;
    }
    if (tail && tile->packs_tail) return opf_arena_printf(arena, "b_tail%s + k * %d, %d", p->mark, p->panel, p->panel);
    const char *step = opf_tile_operand_text(p, p->b->step);
    return opf_arena_printf(arena, "b_rows%s + k * %s + c, %s", p->mark, step, step);
}

/* The share of B's next panel that one panel of rows asks for: so many floats a step. */
static int ahead_step(const opf_tile_printer *p) {
    int64_t rows = opf_dim_nominal(p->tile->rows), panels = ((rows < p->tile->block_rows ? rows : p->tile->block_rows) + p->tile->height - 1) / p->tile->height;
    return (int)((p->panel + panels - 1) / panels);
}

static const char *ahead_text(opf_tile_printer *p) {
    if (!opf_tile_asks_ahead(p->tile)) return "";
    int step = ahead_step(p);
    return opf_arena_printf(opf_pool_arena(p->pool), step == 1 ? ", next + (r - rows_begin) / %d * steps, %d" : ", next + (r - rows_begin) / %d * steps * %d, %d", p->tile->height, step, step);
}

/* Where the panel that is read after panel c of sum k starts: beside it, in the next sum, in the next pass, in the next block. */
static void print_next_panel(opf_tile_printer *p, size_t k) {
    const opf_tile *tile = p->tile;
    if (!opf_tile_asks_ahead(tile)) return;
    opf_arena *arena = opf_pool_arena(p->pool);
    const char *depth = opf_tile_operand_text(p, tile->depth), *beside = "", *pass = "", *rows = "";
    int64_t steps, lines;
    if (tile->block_columns > p->panel)
        beside = opf_arena_printf(arena, "c + %d < block_end ? b_panels%s + (c + %d) * %s + k * %d : ", p->panel, p->mark, p->panel, depth, p->panel);
    if (k + 1 < opf_tile_sums(p)) {
        opf_tile_line(p, "const %s *next = %sb_panels_%zu + block_begin * %s + k * %d;", opf_tile_word_of_b(tile), beside, k + 2, depth, p->panel);
        return;
    }
    if (tile->depth_block && !(opf_is_int(tile->depth, &steps) && steps <= tile->depth_block))
        pass = opf_arena_printf(arena, "k + steps < %s ? b_panels + block_begin * %s + (k + steps) * %d : ", depth, depth, p->panel);
    if (!(opf_is_int(tile->rows, &lines) && lines <= tile->block_rows)) rows = opf_arena_printf(arena, "rows_end < row_end ? b_panels + block_begin * %s : ", depth);
    opf_tile_line(p, "const %s *next = %s%s%sb_panels + block_end * %s;", opf_tile_word_of_b(tile), beside, pass, rows, depth);
}

/* How far from the panel of B that a call reads that of the next call starts: the same one for all panels of rows but the last. */
const char *opf_tile_beside(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    if (!opf_tile_asks_for_steps(tile)) return "";
    const char *beside = tile->b.source != OPF_SOURCE_PANELS ? opf_arena_printf(opf_pool_arena(p->pool), "%d", p->panel)
                                                             : opf_arena_printf(opf_pool_arena(p->pool), "%s * %d", opf_tile_operand_text(p, tile->depth), p->panel);
    return opf_arena_printf(opf_pool_arena(p->pool), ", r + %d < rows_end ? 0 : %s", tile->height, beside);
}

/* `tail`: of the last columns, which may lie in a copy. */
static void print_call(opf_tile_printer *p, int width, int extra, bool tail) {
    const opf_tile *tile = p->tile;
    opf_arena *arena = opf_pool_arena(p->pool);
    bool runtime = tile->a.source == OPF_SOURCE_PANELS;
    const char *sums = tile->stores_direct ? "sums + r * pitch + c" : opf_arena_printf(arena, "block%s + (r - rows_begin) * pitch + (c - block_begin)", p->mark);
    const char *arguments = opf_arena_printf(arena, "steps, a_panels + %s * %s + k * %d, %s%s%s, %s, pitch, k == 0", runtime ? "(r - row_begin)" : "r",
                                             opf_tile_operand_text(p, tile->depth), tile->height, b_text(p, tail), ahead_text(p), opf_tile_beside(p), sums);
    bool few = opf_tile_few_rows(tile, 0) > 0;
    opf_tile_line(p, "for (int64_t r = rows_begin; r < rows_end; r += %d)%s", tile->height, few ? " {" : "");
    p->indent++;
    for (int k = 0; opf_tile_few_rows(tile, k); k++)
        opf_tile_line(p, "%sif (rows_end - r <= %d) %s(%s);", k ? "else " : "", opf_tile_few_rows(tile, k), opf_tile_function(tile, opf_tile_few_rows(tile, k), width, extra, arena), arguments);
    opf_tile_line(p, "%s%s(%s);", few ? "else " : "", opf_tile_function(tile, tile->height, width, extra, arena), arguments);
    p->indent--;
    if (few) opf_tile_line(p, "}");
}

/* A panel of at most so many columns. */
static void print_narrow_panel(opf_tile_printer *p, int columns, int width, int extra) {
    opf_tile_open(p, "if (flat_end - c <= %d)", columns);
    print_call(p, width, extra, true);
    opf_tile_line(p, "continue;");
    opf_tile_close(p);
}

/* The last panel: fewer vectors than others, a copy, or extra columns behind it. */
static void print_last_panel(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    int lanes = p->nest->machine->lanes;
    for (int width = 1; !tile->tail && width < tile->width; width++) print_narrow_panel(p, width * lanes, width, 0);
    if (tile->extra || (tile->tail && tile->tail != tile->width)) print_narrow_panel(p, tile->tail * lanes + tile->extra, tile->tail, tile->extra);
    else if (tile->packs_tail) print_narrow_panel(p, p->panel - 1, tile->width, 0);
}

static void print_tiles_of_sum(opf_tile_printer *p, size_t k) {
    const opf_tile *tile = p->tile;
    const char *behind = tile->extra ? opf_arena_printf(opf_pool_arena(p->pool), " - %d", tile->extra) : "";
    opf_tile_open(p, "for (int64_t c = block_begin; c < block_end%s; c += %d)", behind, p->panel);
    print_next_panel(p, k);
    print_last_panel(p);
    if (!tile->extra || opf_tile_has_whole_panels(p->nest)) print_call(p, tile->width, 0, false);
    opf_tile_close(p);
}

static void print_tiles(opf_tile_printer *p) {
    if (p->tile->turned) {
        opf_turned_print_tiles(p);
        return;
    }
    for (size_t k = 0; k < opf_tile_sums(p); k++) {
        opf_tile_choose_sum(p, k);
        print_tiles_of_sum(p, k);
    }
}

static void print_passes(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    int64_t depth;
    bool once = !tile->depth_block || (opf_is_int(tile->depth, &depth) && depth <= tile->depth_block);
    if (once) {
        opf_tile_line(p, "const int64_t k = 0, steps = %s;", opf_tile_text(p, tile->depth));
        print_tiles(p);
        return;
    }
    bool never_empty = opf_is_int(tile->depth, &depth) && depth > 0; /* an empty sum is 0: one pass of no steps writes it */
    opf_tile_open(p, "for (int64_t k = 0; %sk < %s; k += %lld)", never_empty ? "" : "k == 0 || ", opf_tile_operand_text(p, tile->depth), (long long)tile->depth_block);
    opf_tile_line(p, "const int64_t steps = opf_min_i64(%lld, %s - k);", (long long)tile->depth_block, opf_tile_operand_text(p, tile->depth));
    print_tiles(p);
    opf_tile_close(p);
}

/* Where the sums go: to a block of its own, or into the result, row r and column c at sums + r * pitch + c. */
static void print_sums(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    if (!tile->stores_direct) {
        opf_tile_line(p, "const int64_t pitch = %lld;", (long long)tile->block_columns);
        return;
    }
    const opf_tile_stage *stage = &tile->epilogue.data[0];
    const opf_value *value = p->group->results.data[stage->result].value;
    const opf_expr *offset = opf_tile_offset(p, value, stage->body->args), *bind[3 * OPF_MAX_RANK] = {NULL}, *stride = opf_int(p->pool, 0), *rest;
    if (tile->n_row) opf_expr_affine(p->pool, offset, opf_tile_first_row(tile), &stride, &rest);
    for (int k = opf_tile_first_row(tile); k < opf_tile_first_depth(tile); k++) bind[k] = opf_int(p->pool, 0);
    offset = opf_expr_bind(p->pool, offset, tile->n_axes, bind);
    opf_tile_line(p, "const int64_t pitch = %s;", opf_tile_text(p, stride));
    opf_tile_line(p, "%s *restrict sums = %s;", opf_tile_word(tile), opf_tile_place(p, opf_arena_printf(opf_pool_arena(p->pool), "p%d", p->n_inputs + stage->result), offset));
}

static void print_blocks(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    const char *begin = "column_begin", *end = "column_end";
    if (tile->b.source == OPF_SOURCE_WINDOW) {
        begin = "0";
        const char *lines = tile->turned ? opf_arena_printf(opf_pool_arena(p->pool), "(line_end - line_begin) * %s", opf_tile_operand_text(p, tile->pitch)) : NULL;
        end = lines ? lines : tile->n_column == 2 ? opf_arena_printf(opf_pool_arena(p->pool), "(line_end - line_begin) * %s - %s", opf_tile_operand_text(p, tile->pitch),
                                                      opf_tile_operand_text(p, tile->windows[1].extra))
                                  : "column_end - column_begin";
    }
    opf_tile_line(p, "const int64_t flat_end = %s;", end);
    opf_tile_open(p, "for (int64_t block_begin = %s; block_begin < flat_end; block_begin += %lld)", begin, (long long)tile->block_columns);
    opf_tile_line(p, "const int64_t block_end = opf_min_i64(block_begin + %lld, flat_end);", (long long)tile->block_columns);
    opf_tile_open(p, "for (int64_t rows_begin = row_begin; rows_begin < row_end; rows_begin += %lld)", (long long)tile->block_rows);
    opf_tile_line(p, "const int64_t rows_end = opf_min_i64(rows_begin + %lld, row_end);", (long long)tile->block_rows);
    print_sums(p);
    print_passes(p);
    if (tile->turned) opf_turned_print_sums(p);
    if (!tile->stores_direct) opf_tile_print_epilogue(p);
    opf_tile_close(p);
    opf_tile_close(p);
}

static void name_variables(opf_tile_printer *p) {
    for (int k = 0; k < p->tile->n_axes; k++) {
        p->names[k] = opf_arena_printf(opf_pool_arena(p->pool), "i_%s", p->tile->axes[k].name);
        for (int other = 0; other < k; other++)
            if (p->tile->axes[other].name == p->tile->axes[k].name) p->names[k] = opf_arena_printf(opf_pool_arena(p->pool), "i_%s_%d", p->tile->axes[k].name, k);
    }
}

/* The locals of sizes that the body has used. */
static void print_sizes(opf_tile_printer *p, opf_text *out) {
    opf_emit_scope scope = scope_of(p);
    for (int size = 0; size < OPF_TILE_SIZES; size++) {
        if (!p->used_sizes[size]) continue;
        opf_text_printf(out, "    const int64_t %s = ", size_names[size]);
        opf_emit_expr(size_of(p->tile, size), &scope, out);
        opf_text_add(out, ";\n");
    }
}

static void print_sums_unit(opf_tile_printer *p) {
    print_origins(p);
    opf_tile_print_pack_a(p);
    opf_tile_print_pack_b(p);
    print_blocks(p);
}

void opf_emit_tile(const opf_nest *nest, opf_text *out) {
    opf_tile_printer printer = {.nest = nest, .tile = nest->tile, .group = nest->group, .pool = nest->pool, .out = out, .indent = 1,
                                .n_inputs = (int)nest->group->stages.inputs.count, .panel = nest->tile->width * nest->machine->lanes};
    opf_tile_printer *p = &printer;
    bool winograd = nest->tile->winograd;
    opf_text body = {0};
    p->out = &body;
    name_variables(p);
    print_buffers(p);
    if (winograd) {
        opf_winograd_print_scratch(p);
        opf_winograd_print_clear(p);
    } else {
        print_scratch(p);
        opf_tile_print_tables(p);
        opf_tile_print_window_clear(p);
    }
    opf_tile_line(p, "const opf_span span = opf_share(%s, part, parts);", opf_tile_text(p, nest->units));
    opf_tile_open(p, "for (int64_t unit = span.begin; unit < span.end; unit++)");
    print_unit(p);
    if (winograd) opf_winograd_print_unit(p);
    else print_sums_unit(p);
    opf_tile_close(p);
    print_sizes(p, out);
    opf_emit_limits(opf_text_string(&body), out);
    opf_text_add(out, opf_text_string(&body));
    opf_text_free(&body);
}
