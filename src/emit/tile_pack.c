/* Packing of operands inside a contraction's kernel: panels, copies with borders, the tables that go with them. */
#include "emit/statements.h"
#include "emit/tile_internal.h"

static const char *print(opf_tile_printer *p, const opf_expr *e) { return opf_tile_operand_text(p, e); }
static opf_arena *arena_of(const opf_tile_printer *p) { return opf_pool_arena(p->pool); }

/* Takes a flat index apart into the axes' variables. */
static void print_apart(opf_tile_printer *p, const char *flat, int first, int count) {
    const opf_tile *tile = p->tile;
    const char *rest = flat;
    for (int k = first + count - 1; k > first; k--) {
        opf_tile_line(p, "const int64_t %s = (%s) %% %s;", p->names[k], rest, print(p, tile->axes[k].extent));
        rest = opf_arena_printf(arena_of(p), "(%s) / %s", rest, print(p, tile->axes[k].extent));
    }
    if (count) opf_tile_line(p, "const int64_t %s = %s;", p->names[first], rest);
}

/* ---- words ---- */

/* Depth step `part` of the word that the axis's variable counts; the last word's parts beyond the depth read the last step, times a zero. */
static const opf_expr *part_of_word(opf_tile_printer *p, const opf_expr *value, const opf_expr *part) {
    const opf_tile *tile = p->tile;
    opf_pool *pool = p->pool;
    const opf_expr *bind[3 * OPF_MAX_RANK] = {NULL}, *step = opf_add(pool, opf_mul(pool, opf_var(pool, tile->word_axis), opf_int(pool, tile->words)), part);
    int64_t steps;
    bool whole = opf_is_int(tile->word_extent, &steps) && steps % tile->words == 0;
    bind[tile->word_axis] = whole ? step : opf_min(pool, step, opf_sub(pool, tile->word_extent, opf_int(pool, 1)));
    return opf_expr_bind(pool, value, tile->word_axis + 1, bind);
}

/* `value` of all depth steps of the word at hand, joined. */
static const char *word_text(opf_tile_printer *p, const opf_expr *value) {
    const opf_tile *tile = p->tile;
    const char *parts = "";
    for (int k = 0; k < tile->words; k++)
        parts = opf_arena_printf(arena_of(p), "%s%s%s", parts, k ? ", " : "", opf_tile_text(p, part_of_word(p, value, opf_int(p->pool, k))));
    return opf_arena_printf(arena_of(p), tile->words == 2 ? "opf_pair(%s)" : "opf_quad(%s)", parts);
}

/* The float, or the word. */
static const char *element_text(opf_tile_printer *p, const opf_expr *value) { return p->tile->words ? word_text(p, value) : opf_tile_text(p, value); }

/* ---- lines of an input ---- */

/* Elements of an input, floats or float16, `step` apart from one value of a variable to the next. */
typedef struct line_source { int input; bool is_half; const opf_expr *offset, *step; } line_source;

static bool find_line(opf_tile_printer *p, const opf_expr *value, int variable, line_source *out) {
    out->is_half = value->kind == OPF_EXPR_CAST && value->dtype == OPF_FLOAT32 && value->args[0]->dtype == OPF_FLOAT16;
    if (out->is_half) value = value->args[0];
    if (value->kind != OPF_EXPR_LOAD || value->index >= p->n_inputs) return false;
    const opf_value *input = p->group->stages.inputs.data[value->index];
    const opf_expr *rest;
    out->input = value->index;
    out->offset = opf_tile_offset(p, input, value->args);
    if (input->dtype != (out->is_half ? OPF_FLOAT16 : OPF_FLOAT32)) return false;
    return opf_expr_affine(p->pool, out->offset, variable, &out->step, &rest) && !opf_expr_vars(out->step);
}

/* to[0 … count-1] = value at `variable` = first …; by the prelude where it does no more than make floats of float16 side by side. */
static void print_line(opf_tile_printer *p, const char *to, const opf_expr *value, int variable, const char *first, const char *count) {
    line_source line;
    const char *name = p->names[variable];
    if (!p->tile->words && find_line(p, value, variable, &line) && line.is_half && opf_is_value(line.step, 1)) {
        p->names[variable] = first;
        opf_tile_line(p, "opf_load_line_f16(%s, p%d + %s, %s);", to, line.input, opf_tile_text(p, line.offset), count);
        p->names[variable] = name;
        return;
    }
    opf_tile_open(p, "for (int64_t i = 0; i < %s; i++)", count);
    opf_tile_line(p, "const int64_t %s = %s + i;", name, first);
    opf_tile_line(p, "(%s)[i] = %s;", to, element_text(p, value));
    opf_tile_close(p);
}

/* ---- panels ---- */

/* Steps of a panel that are computed at once: so many of each row lie on the stack. */
static int steps_at_once(int width) {
    enum { FLOATS = 4096, MOST = 256, LINE = 16 };
    int steps = FLOATS / width / LINE * LINE;
    return steps > MOST ? MOST : steps < LINE ? LINE : steps;
}

/* A panel from an expression: the compiler fills lines of depth steps with vectors, a line a row, which are then packed as lines that lie
 * in memory are. */
static void print_computed_panel(opf_tile_printer *p, const opf_tile_operand *operand, const char *extent, int first, int count, int width) {
    const opf_tile *tile = p->tile;
    int depth = opf_tile_first_depth(tile), last = tile->n_axes - 1, steps = steps_at_once(width);
    const char *length = print(p, tile->axes[last].extent);
    opf_tile_line(p, "const int64_t rows_of_panel = opf_min_i64(%d, %s - panel);", width, extent);
    for (int k = depth; k < last; k++)
        opf_tile_open(p, "for (int64_t %s = 0; %s < %s; %s++)", p->names[k], p->names[k], print(p, tile->axes[k].extent), p->names[k]);
    opf_tile_open(p, "for (int64_t begin = 0; begin < %s; begin += %d)", length, steps);
    opf_tile_line(p, "float lines[%d];", width * steps);
    opf_tile_line(p, "const int64_t n = opf_min_i64(%d, %s - begin);", steps, length);
    opf_tile_open(p, "for (int64_t row = 0; row < rows_of_panel; row++)");
    print_apart(p, "panel + row", first, count);
    print_line(p, opf_arena_printf(arena_of(p), "lines + row * %d", steps), operand->value, last, "begin", "n");
    opf_tile_close(p);
    opf_tile_line(p, "opf_pack_panel(to, %d, lines, %d, 1, rows_of_panel, n);", width, steps);
    opf_tile_line(p, "to += n * %d;", width);
    opf_tile_close(p);
    for (int k = depth; k < last; k++) opf_tile_close(p);
}

/* A panel of words: lines of their parts first, zeros behind the last step. */
static void print_computed_words(opf_tile_printer *p, const opf_tile_operand *operand, const char *extent, int first, int count, int width) {
    const opf_tile *tile = p->tile;
    int depth = opf_tile_first_depth(tile), last = tile->n_axes - 1, words = steps_at_once(width);
    const char *length = print(p, tile->axes[last].extent), *type = tile->words == 2 ? "int16_t" : "uint8_t", *steps = print(p, tile->word_extent);
    opf_tile_line(p, "const int64_t rows_of_panel = opf_min_i64(%d, %s - panel);", width, extent);
    for (int k = depth; k < last; k++)
        opf_tile_open(p, "for (int64_t %s = 0; %s < %s; %s++)", p->names[k], p->names[k], print(p, tile->axes[k].extent), p->names[k]);
    opf_tile_open(p, "for (int64_t begin = 0; begin < %s; begin += %d)", length, words);
    opf_tile_line(p, "%s lines[%d];", type, width * words * tile->words);
    opf_tile_line(p, "const int64_t n = opf_min_i64(%d, %s - begin), steps_of_panel = opf_min_i64(n * %d, %s - begin * %d);", words, length, tile->words, steps, tile->words);
    opf_tile_open(p, "for (int64_t row = 0; row < rows_of_panel; row++)");
    print_apart(p, "panel + row", first, count);
    opf_tile_line(p, "%s *restrict line = lines + row * %d;", type, words * tile->words);
    opf_tile_open(p, "for (int64_t i = 0; i < steps_of_panel; i++)");
    opf_tile_line(p, "const int64_t %s = begin * %d + i;", p->names[last], tile->words);
    opf_tile_line(p, "line[i] = (%s)%s;", type, opf_tile_operand_text(p, operand->value));
    opf_tile_close(p);
    opf_tile_line(p, "for (int64_t i = steps_of_panel; i < n * %d; i++) line[i] = 0;", tile->words);
    opf_tile_close(p);
    opf_tile_line(p, "opf_pack_words(to, %d, lines, %d, rows_of_panel, n);", width, words * 4);
    opf_tile_line(p, "to += n * %d;", width);
    opf_tile_close(p);
    for (int k = depth; k < last; k++) opf_tile_close(p);
}

/* Bytes that follow each other in memory as they do in words. */
static bool are_words(const opf_tile_printer *p, const opf_tile_operand *operand) {
    int64_t steps;
    return p->tile->words == 4 && operand->base && opf_is_value(operand->step, 1) && opf_is_int(p->tile->word_extent, &steps) && steps % 4 == 0;
}

/* Panels of flat rows (columns) begin … end-1; `all`: how many the operand has. */
static void print_panels(opf_tile_printer *p, const opf_tile_operand *operand, const char *to, const char *begin, const char *end, opf_dim all,
                         int first, int count, int width) {
    const opf_tile *tile = p->tile;
    const char *depth = print(p, tile->depth), *extent = print(p, all);
    opf_tile_open(p, "for (int64_t panel = %s; panel < %s; panel += %d)", begin, end, width);
    const char *target = opf_arena_printf(arena_of(p), "%s + (panel - %s) * %s", to, begin, depth);
    const char *from = operand->base ? opf_tile_place(p, opf_arena_printf(arena_of(p), "p%d", operand->input), operand->base) : NULL;
    if (are_words(p, operand)) {
        opf_tile_line(p, "opf_pack_words(%s, %d, %s + panel * %s, %s, opf_min_i64(%d, %s - panel), %s);", target, width, from, print(p, operand->stride),
                      print(p, operand->stride), width, extent, depth);
        opf_tile_close(p);
        return;
    }
    if (operand->base && !tile->words) {
        opf_tile_line(p, "opf_pack_panel(%s, %d, %s + panel * %s, %s, %s, opf_min_i64(%d, %s - panel), %s);", target, width, from, print(p, operand->stride),
                      print(p, operand->stride), print(p, operand->step), width, extent, depth);
        opf_tile_close(p);
        return;
    }
    opf_tile_line(p, "%s *restrict to = %s;", opf_tile_word(tile), target);
    if (tile->words) print_computed_words(p, operand, extent, first, count, width);
    else print_computed_panel(p, operand, extent, first, count, width);
    opf_tile_close(p);
}

/* A unit packs what it needs unless the part's last unit has left it. */
static void open_when(opf_tile_printer *p, bool always, const char *changed) {
    if (always) return;
    opf_tile_open(p, "if (unit == span.begin || %s)", changed);
}

void opf_tile_print_pack_a(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    if (tile->a.source != OPF_SOURCE_PANELS) return;
    bool rows_whole = opf_is_value(opf_ceildiv(p->pool, tile->rows, tile->row_chunk), 1);
    bool lines = tile->b.source == OPF_SOURCE_WINDOW && tile->n_column == 2;
    bool always = !tile->rows_first && !rows_whole;
    open_when(p, always, lines ? "line_begin == 0" : "column_begin == 0");
    print_panels(p, &tile->a, "a_panels", "row_begin", "row_end", tile->rows, opf_tile_first_row(tile), tile->n_row, tile->height);
    if (!always) opf_tile_close(p);
}

/* ---- windows ---- */

static int column_of(const opf_tile *tile, int k) { return opf_tile_first_column(tile) + k; }

/* Positions from one place of the copy to the next, and from one of a unit's lines to the next: a turned tile's copy holds them in order. */
static int64_t step_of_copy(const opf_tile *tile, int k) { return tile->turned ? 1 : tile->windows[k].stride; }
static opf_dim line_of_copy(const opf_tile *tile) { return tile->turned ? tile->copied_line : tile->pitch; }
static const char *times_stride(opf_tile_printer *p) {
    int64_t stride = p->tile->windows[0].stride;
    return p->tile->turned && stride > 1 ? opf_arena_printf(arena_of(p), " * %lld", (long long)stride) : "";
}

static bool is_tap(const opf_tile *tile, int axis) {
    for (int k = 0; k < tile->n_column; k++)
        if (tile->windows[k].tap == axis) return true;
    return false;
}

/* Number of the plane: depth axes that are no taps, then the phases. */
static const char *plane_text(opf_tile_printer *p, const char *const *phases) {
    const opf_tile *tile = p->tile;
    const char *text = NULL;
    opf_arena *arena = arena_of(p);
    for (int k = opf_tile_first_depth(tile); k < tile->n_axes; k++) {
        if (is_tap(tile, k)) continue;
        text = text ? opf_arena_printf(arena, "(%s) * %s + %s", text, print(p, tile->axes[k].extent), p->names[k]) : p->names[k];
    }
    for (int k = 0; k < tile->n_column; k++) {
        if (tile->windows[k].phases == 1) continue;
        text = text ? opf_arena_printf(arena, "(%s) * %lld + %s", text, (long long)tile->windows[k].phases, phases[k]) : phases[k];
    }
    return text ? text : "0";
}

void opf_tile_print_tables(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    if (tile->b.source != OPF_SOURCE_WINDOW) return;
    const char *phases[2] = {"0", "0"}, *places[2] = {"0", "0"};
    int first = opf_tile_first_depth(tile);
    opf_tile_line(p, "/* how far on each depth step reads the window */");
    opf_tile_line(p, "int32_t *at_step = at;");
    for (int k = first; k < tile->n_axes; k++)
        opf_tile_open(p, "for (int64_t %s = 0; %s < %s; %s++)", p->names[k], p->names[k], print(p, tile->axes[k].extent), p->names[k]);
    for (int k = 0; k < tile->n_column; k++) {
        const opf_tile_window *w = &tile->windows[k];
        if (w->tap < 0) continue;
        const opf_expr *tap = opf_var(p->pool, w->tap), *last = opf_sub(p->pool, w->taps, opf_int(p->pool, 1));
        if (w->backwards) tap = opf_sub(p->pool, last, tap);
        const char *reach = print(p, opf_mul(p->pool, tap, opf_int(p->pool, w->dilation)));
        if (w->apart) phases[k] = print(p, tap);
        if (w->apart) continue;
        int64_t step = step_of_copy(tile, k);
        phases[k] = opf_arena_printf(arena_of(p), "%s %% %lld", reach, (long long)step);
        places[k] = step == 1 ? reach : opf_arena_printf(arena_of(p), "%s / %lld", reach, (long long)step);
    }
    const char *inner = tile->n_column == 2 ? opf_arena_printf(arena_of(p), "(%s) * %s + %s", places[0], print(p, line_of_copy(tile)), places[1]) : places[0];
    opf_tile_line(p, "*at_step++ = (int32_t)((%s) * %s + %s);", plane_text(p, phases), print(p, tile->plane), inner);
    for (int k = first; k < tile->n_axes; k++) opf_tile_close(p);
}

/* Conditions under which a window holds an element: those on the line as a condition, those on the place in the line as
 * bounds, the rest stays in the value. */
typedef struct borders {
    opf_tile_printer *p;
    int place;                 /* variable of the place in the line */
    const opf_expr *low, *high;
    const opf_expr *line;      /* NULL: always */
    const opf_expr *rest;      /* NULL: none */
} borders;

static const opf_expr *also(opf_pool *pool, const opf_expr *a, const opf_expr *b) { return a ? opf_binary(pool, OPF_OP_AND, a, b) : b; }

/* e >= 0 */
static bool take_bound(borders *b, const opf_expr *e) {
    opf_pool *pool = b->p->pool;
    const opf_expr *coefficient, *rest;
    int64_t factor;
    if (!opf_expr_affine(pool, e, b->place, &coefficient, &rest) || !opf_is_int(coefficient, &factor) || factor == 0) return false;
    if (factor > 0) b->low = opf_max(pool, b->low, opf_ceildiv(pool, opf_sub(pool, opf_int(pool, 0), rest), opf_int(pool, factor)));
    else b->high = opf_min(pool, b->high, opf_add(pool, opf_floordiv(pool, rest, opf_int(pool, -factor)), opf_int(pool, 1)));
    return true;
}

static void take_condition(borders *b, const opf_expr *c) {
    opf_pool *pool = b->p->pool;
    if (c->kind == OPF_EXPR_BINARY && c->op == OPF_OP_AND) {
        take_condition(b, c->args[0]);
        take_condition(b, c->args[1]);
        return;
    }
    if (!opf_expr_has_var(c, b->place)) {
        b->line = also(pool, b->line, c);
        return;
    }
    bool compares = c->kind == OPF_EXPR_BINARY && c->op >= OPF_OP_LT && c->op <= OPF_OP_GE && c->args[0]->dtype == OPF_INT64;
    if (compares) {
        bool less = c->op == OPF_OP_LT || c->op == OPF_OP_LE, strict = c->op == OPF_OP_LT || c->op == OPF_OP_GT;
        const opf_expr *difference = less ? opf_sub(pool, c->args[1], c->args[0]) : opf_sub(pool, c->args[0], c->args[1]);
        if (strict) difference = opf_sub(pool, difference, opf_int(pool, 1));
        if (take_bound(b, difference)) return;
    }
    b->rest = also(pool, b->rest, c);
}

static bool is_zero(const opf_expr *e) { return e->kind == OPF_EXPR_FLOAT && e->real == 0 && !__builtin_signbit(e->real); }

/* What the window holds outside the operand: 0, or what words are made of there. */
static bool is_outside(const opf_tile *tile, const opf_expr *e) { return tile->words ? e == tile->outside : is_zero(e); }

/* Takes the conditions off a value that is 0 where they do not hold. */
static const opf_expr *take_borders(borders *b, const opf_expr *value) {
    const opf_expr *outside = opf_real(b->p->pool, OPF_FLOAT32, 0);
    while (value->kind == OPF_EXPR_SELECT && is_outside(b->p->tile, value->args[2])) {
        outside = value->args[2];
        take_condition(b, value->args[0]);
        value = value->args[1];
    }
    if (b->rest) value = opf_select(b->p->pool, b->rest, value, outside);
    return value;
}

/* Last position that a tap of the axis's last column reads. */
static const opf_expr *last_position(opf_tile_printer *p, int k) {
    const opf_tile *tile = p->tile;
    const opf_tile_window *w = &tile->windows[k];
    opf_pool *pool = p->pool;
    const opf_expr *one = opf_int(pool, 1), *columns = opf_mul(pool, opf_sub(pool, tile->axes[column_of(tile, k)].extent, one), opf_int(pool, w->stride));
    return opf_add(pool, columns, opf_mul(pool, opf_sub(pool, w->taps, one), opf_int(pool, w->dilation)));
}

/* The innermost axis of the planes: depth that is no tap. -1: there is none. */
static int plane_axis(const opf_tile *tile) {
    for (int k = tile->n_axes - 1; k >= opf_tile_first_depth(tile); k--)
        if (!is_tap(tile, k)) return k;
    return -1;
}

/* A unit copies few lines of each channel, and channels lie pages apart: no prefetcher of the machine's follows. The first copy of a line asks for that
 * of the next channel. */
static void print_ask_for_line(opf_tile_printer *p, const line_source *line, const char *phase) {
    enum { FLOATS_OF_A_LINE = 16 };
    const opf_tile *tile = p->tile;
    int axis = plane_axis(tile);
    int64_t step;
    if (!opf_machine_has_few_vectors(p->nest->machine) || tile->winograd || axis < 0 || opf_is_value(tile->axes[axis].extent, 1)) return;
    if (!opf_is_int(line->step, &step) || step < 1) return;
    if (opf_expr_has_load(line->offset)) return; /* a channel found in a table: the next one's place may lie behind its end */
    const opf_expr *bind[3 * OPF_MAX_RANK] = {NULL};
    bind[axis] = opf_add(p->pool, opf_var(p->pool, axis), opf_int(p->pool, 1));
    const opf_expr *next = opf_expr_bind(p->pool, line->offset, tile->n_axes, bind);
    const char *count = step == 1 ? "high - low" : opf_arena_printf(arena_of(p), "(high - low) * %lld", (long long)step);
    if (tile->windows[tile->n_column - 1].phases > 1) count = opf_arena_printf(arena_of(p), "(%s == 0 ? %s : 0)", phase, count);
    opf_tile_line(p, "for (int64_t i = 0; i < %s; i += %d) __builtin_prefetch(p%d + %s + i);", count, FLOATS_OF_A_LINE, line->input, opf_tile_operand_text(p, next));
}

/* A line whose elements are those of an input, evenly apart: the prelude copies it. */
static bool print_plain_line(opf_tile_printer *p, const opf_expr *value, int place, const char *phase, const char *length) {
    line_source line;
    if (!find_line(p, value, place, &line)) return false;
    p->names[place] = "low";
    print_ask_for_line(p, &line, phase);
    opf_tile_line(p, "opf_copy_line%s(to, low, high, %s, p%d + (low < high ? %s : 0), %s);", line.is_half ? "_f16" : "", length, line.input, opf_tile_operand_text(p, line.offset),
                  opf_tile_text(p, line.step));
    return true;
}

static void print_line_copy(opf_tile_printer *p, const char *phase, const char *length) {
    const opf_tile *tile = p->tile;
    opf_pool *pool = p->pool;
    int inner = tile->n_column - 1, column = column_of(tile, inner), place = tile->n_axes, first = tile->n_axes + 1, at_phase = tile->n_axes + 2;
    const opf_tile_window *w = &tile->windows[inner];
    p->names[place] = "i";
    p->names[first] = "column_begin";
    p->names[at_phase] = phase;
    const opf_expr *position = opf_var(pool, place), *bind[3 * OPF_MAX_RANK] = {NULL};
    if (tile->n_column == 1) position = opf_add(pool, position, opf_var(pool, first));
    position = opf_mul(pool, position, opf_int(pool, step_of_copy(tile, inner)));
    if (w->phases > 1) position = opf_add(pool, position, opf_mul(pool, opf_var(pool, at_phase), opf_int(pool, w->apart ? w->dilation : 1)));
    bind[column] = position;
    borders b = {.p = p, .place = place, .low = opf_int(pool, 0), .high = opf_var(pool, tile->n_axes + 3)};
    p->names[tile->n_axes + 3] = length;
    take_bound(&b, opf_sub(pool, last_position(p, inner), position));
    if (tile->n_column == 2) take_condition(&b, opf_binary(pool, OPF_OP_LE, opf_var(pool, column_of(tile, 0)), last_position(p, 0)));
    const opf_expr *value = take_borders(&b, opf_expr_bind(pool, tile->window_value, tile->n_axes, bind));
    /* In this order the bounds stay inside the line whatever the sizes. */
    opf_tile_line(p, "const int64_t low = opf_min_i64(%s, %s);", opf_tile_text(p, b.low), length);
    if (b.line) opf_tile_line(p, "const int64_t high = %s ? opf_max_i64(%s, low) : low;", print(p, b.line), opf_tile_text(p, b.high));
    else opf_tile_line(p, "const int64_t high = opf_max_i64(%s, low);", opf_tile_text(p, b.high));
    if (!tile->words && print_plain_line(p, value, place, phase, length)) return;
    const char *outside = tile->words && tile->outside ? word_text(p, tile->outside) : opf_tile_zero(tile);
    opf_tile_line(p, "for (int64_t i = 0; i < low; i++) to[i] = %s;", outside);
    opf_tile_line(p, "for (int64_t i = low; i < high; i++) to[i] = %s;", element_text(p, value));
    opf_tile_line(p, "for (int64_t i = high; i < %s; i++) to[i] = %s;", length, outside);
}

void opf_tile_print_line_copy(opf_tile_printer *p, const char *length) { print_line_copy(p, "0", length); }

/* Floats of a plane that a whole unit's lines (columns) take. */
static opf_dim used_of_plane(const opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    opf_dim lines = opf_add(p->pool, tile->column_chunk, tile->windows[0].extra);
    return tile->n_column == 2 ? opf_mul(p->pool, lines, tile->pitch) : lines;
}

static int64_t floats_behind(const opf_tile_printer *p) { return (p->panel + 15) / 16 * 16; }

static opf_dim end_of_planes(const opf_tile_printer *p) { return opf_sub(p->pool, p->tile->b_floats, opf_int(p->pool, floats_behind(p))); }
static void print_zeros_behind(opf_tile_printer *p) {
    opf_tile_line(p, "for (int64_t i = 0; i < %lld; i++) window[%s + i] = %s;", (long long)floats_behind(p), print(p, end_of_planes(p)), opf_tile_zero(p->tile));
}

/* The last tile's spare lanes read what lies behind the lines, and behind the last plane. Zeros, because left-over bits may be denormal numbers, which
 * are slow to compute with. No unit writes there: once is enough. */
void opf_tile_print_window_clear(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    if (tile->b.source != OPF_SOURCE_WINDOW || tile->fill || tile->turned) return;
    opf_dim used = used_of_plane(p), end = end_of_planes(p);
    const char *plane = print(p, tile->plane), *zero = opf_tile_zero(tile);
    opf_tile_line(p, "/* zeros behind the lines of each plane, and behind the last one */");
    if (used != tile->plane) {
        opf_tile_open(p, "for (int64_t begin = 0; begin < %s; begin += %s)", print(p, end), plane);
        opf_tile_line(p, "for (int64_t i = %s; i < %s; i++) window[begin + i] = %s;", print(p, used), plane, zero);
        opf_tile_close(p);
    }
    print_zeros_behind(p);
}

static bool last_unit_is_shorter(const opf_tile_printer *p) {
    int64_t extent, chunk;
    bool known = opf_is_int(p->tile->axes[column_of(p->tile, 0)].extent, &extent) && opf_is_int(p->tile->column_chunk, &chunk);
    return !known || extent % chunk != 0;
}

/* Behind the lines of a unit that has fewer than others stand those of another unit: cleared too. */
static void print_rest_of_plane(opf_tile_printer *p, const char *const *phases, const char *from) {
    const opf_tile *tile = p->tile;
    opf_tile_line(p, "for (%s *rest = %s, *end = window + (%s) * %s + %s; rest < end; rest++) *rest = %s;", opf_tile_word(tile), from, plane_text(p, phases),
                  print(p, tile->plane), print(p, used_of_plane(p)), opf_tile_zero(tile));
}

/* Lines of planes: all phases of a place along the line one after the other, so that a line of the operand is read while it is near. */
static void print_planes(opf_tile_printer *p, const char *const *phases) {
    const opf_tile *tile = p->tile;
    const opf_tile_window *w = &tile->windows[0];
    bool several = tile->windows[1].phases > 1;
    const char *name = p->names[column_of(tile, 0)], *plane = print(p, tile->plane), *pitch = print(p, line_of_copy(tile)), *times = times_stride(p);
    const char *walk = opf_arena_printf(arena_of(p), "for (int64_t %s = 0; %s < %lld; %s++)", phases[1], phases[1], (long long)tile->windows[1].phases, phases[1]);
    if (!several) opf_tile_line(p, "%s *restrict to = window + (%s) * %s;", opf_tile_word(tile), plane_text(p, phases), plane);
    opf_tile_open(p, "for (int64_t line = line_begin%s; line < line_end%s + %s; line++%s)", times, times, print(p, w->extra), several ? "" : opf_arena_printf(arena_of(p), ", to += %s", pitch));
    if (w->phases > 1) opf_tile_line(p, "const int64_t %s = line * %lld + %s;", name, (long long)w->stride, phases[0]);
    else if (step_of_copy(tile, 0) > 1) opf_tile_line(p, "const int64_t %s = line * %lld;", name, (long long)w->stride);
    else opf_tile_line(p, "const int64_t %s = line;", name);
    if (several) {
        opf_tile_open(p, "%s", walk);
        opf_tile_line(p, "%s *restrict to = window + (%s) * %s + (line - line_begin) * %s;", opf_tile_word(tile), plane_text(p, phases), plane, pitch);
    }
    print_line_copy(p, phases[1], opf_tile_text(p, line_of_copy(tile)));
    if (several) opf_tile_close(p);
    opf_tile_close(p);
    if (tile->turned || !last_unit_is_shorter(p)) return;
    if (several) opf_tile_open(p, "%s", walk);
    const char *behind = opf_arena_printf(arena_of(p), "window + (%s) * %s + (line_end - line_begin + %s) * %s", plane_text(p, phases), plane, print(p, w->extra), pitch);
    print_rest_of_plane(p, phases, several ? behind : "to");
    if (several) opf_tile_close(p);
}

static void print_window(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    const char *phases[2] = {"phase_0", "phase_1"};
    int depth = 0;
    for (int k = opf_tile_first_depth(tile); k < tile->n_axes; k++) {
        if (is_tap(tile, k)) continue;
        opf_tile_open(p, "for (int64_t %s = 0; %s < %s; %s++)", p->names[k], p->names[k], print(p, tile->axes[k].extent), p->names[k]);
        depth++;
    }
    if (tile->windows[0].phases > 1) {
        opf_tile_open(p, "for (int64_t %s = 0; %s < %lld; %s++)", phases[0], phases[0], (long long)tile->windows[0].phases, phases[0]);
        depth++;
    }
    if (tile->n_column == 2) {
        print_planes(p, phases);
    } else {
        opf_tile_line(p, "%s *restrict to = window + (%s) * %s;", opf_tile_word(tile), plane_text(p, phases), print(p, tile->plane));
        opf_tile_line(p, "const int64_t length = column_end - column_begin + %s;", print(p, tile->windows[0].extra));
        print_line_copy(p, phases[0], "length");
        if (last_unit_is_shorter(p)) print_rest_of_plane(p, phases, "to + length");
    }
    while (depth-- > 0) opf_tile_close(p);
}

/* ---- bands ---- */

/* The lines that the unit's columns need, computed; zeros behind them, as behind a window's lines. */
static void print_band(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    const char *lines = print(p, tile->column_chunk), *plane = print(p, tile->plane), *depth = print(p, tile->depth);
    const char *given[] = {"i_band", tile->n_outer ? p->names[0] : "i_outer"};
    opf_tile_open(p, "/* what stands in front of the product, for these lines */");
    if (tile->fill->given.data[0] >= 0) opf_tile_line(p, "const int64_t i_band = line_begin / %s;", lines);
    opf_emit_fill(tile->fill, "window", given, p->indent, p->out);
    opf_tile_close(p);
    opf_dim used = opf_mul(p->pool, tile->column_chunk, tile->pitch);
    if (used != tile->plane) {
        opf_tile_open(p, "for (int64_t k = 0; k < %s; k++)", depth);
        opf_tile_line(p, "for (int64_t i = %s; i < %s; i++) window[k * %s + i] = 0.0f;", print(p, used), plane, plane);
        opf_tile_close(p);
    }
    print_zeros_behind(p);
}

/* ---- a copy of rows ---- */

/* Every load walks along the columns as one axis (loop/tile_operand.c): the last column axis's variable stands for all of them. */
static void print_rows(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    int first = opf_tile_first_column(tile), depth = opf_tile_first_depth(tile), place = tile->n_axes;
    const opf_expr *bind[3 * OPF_MAX_RANK] = {NULL};
    for (int k = first; k < depth; k++) bind[k] = opf_int(p->pool, 0);
    bind[depth - 1] = opf_var(p->pool, place);
    p->names[place] = "column";
    opf_tile_line(p, "%s *restrict to = b_copy;", opf_tile_word(tile));
    for (int k = depth; k < tile->n_axes; k++)
        opf_tile_open(p, "for (int64_t %s = 0; %s < %s; %s++)", p->names[k], p->names[k], print(p, tile->axes[k].extent), p->names[k]);
    print_line(p, "to", opf_expr_bind(p->pool, tile->b.value, tile->n_axes, bind), place, "column_begin", "column_end - column_begin");
    opf_tile_line(p, "for (int64_t i = column_end - column_begin; i < %s; i++) to[i] = %s;", opf_tile_text(p, tile->b.step), opf_tile_zero(tile));
    opf_tile_line(p, "to += %s;", opf_tile_text(p, tile->b.step));
    for (int k = depth; k < tile->n_axes; k++) opf_tile_close(p);
}

/* ---- B ---- */

static void print_tail(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    const char *columns = print(p, tile->columns);
    int64_t known;
    if (opf_is_int(tile->columns, &known)) opf_tile_open(p, "if (column_end == %s)", columns); /* known not to fill it */
    else opf_tile_open(p, "if (column_end == %s && %s %% %d != 0)", columns, columns, p->panel);
    opf_tile_line(p, "/* the last columns do not fill a panel: from a copy with zeros behind them */");
    opf_tile_line(p, "const int64_t c = %s / %d * %d;", columns, p->panel, p->panel);
    for (size_t k = 0; k < opf_tile_sums(p); k++) {
        opf_tile_choose_sum(p, k);
        opf_tile_line(p, "opf_pack_panel(b_tail%s, %d, b_rows%s + c, 1, %s, %s - c, %s);", p->mark, p->panel, p->mark, print(p, p->b->step), columns, print(p, tile->depth));
    }
    opf_tile_close(p);
}

void opf_tile_print_pack_b(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    if (tile->packs_tail) print_tail(p);
    if (tile->b.source == OPF_SOURCE_CONSTANT || tile->b.source == OPF_SOURCE_ROWS) return;
    bool rows_whole = opf_is_value(opf_ceildiv(p->pool, tile->rows, tile->row_chunk), 1);
    open_when(p, rows_whole, "row_begin == 0");
    if (tile->fill) print_band(p);
    else if (tile->b.source == OPF_SOURCE_WINDOW) print_window(p);
    else if (tile->b.source == OPF_SOURCE_COPY) print_rows(p);
    else print_panels(p, &tile->b, "b_panels", "column_begin", "column_end", tile->columns, opf_tile_first_column(tile), tile->n_column, p->panel);
    if (!rows_whole) opf_tile_close(p);
}
