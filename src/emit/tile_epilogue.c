/* What follows a contraction's sums, on a block of them while it is in the cache: plain loops that the compiler vectorises. */
#include <string.h>

#include "emit/roundings.h"
#include "emit/tile_internal.h"
#include "loop/machine.h"

static const char *print(opf_tile_printer *p, const opf_expr *e) { return opf_tile_operand_text(p, e); }

/* ---- can the columns be walked as one? ---- */

static bool walks_flat(opf_tile_printer *p, const opf_value *value, const opf_expr *const *indices) {
    const opf_expr *outer, *inner, *rest;
    int first = opf_tile_first_column(p->tile);
    const opf_expr *offset = opf_tile_offset(p, value, indices);
    if (!opf_expr_affine(p->pool, offset, first, &outer, &rest) || !opf_expr_affine(p->pool, rest, first + 1, &inner, &rest)) return false;
    return outer == opf_mul(p->pool, inner, p->tile->axes[first + 1].extent);
}

static bool body_is_flat(opf_tile_printer *p, const opf_expr *e);

/* What is picked by an element walks as that element is read. */
static bool load_is_flat(opf_tile_printer *p, const opf_expr *load) {
    if (!opf_expr_picks(load)) return walks_flat(p, p->group->stages.inputs.data[load->index], load->args);
    for (int k = 0; k < load->n_args; k++)
        if (!body_is_flat(p, load->args[k])) return false;
    return true;
}

/* Column variables stand in loads' indices only, and there as one flat index. */
static bool body_is_flat(opf_tile_printer *p, const opf_expr *e) {
    if (e->kind == OPF_EXPR_LOAD) return e->index >= p->n_inputs || load_is_flat(p, e);
    if (e->kind == OPF_EXPR_VAR) return e->index < opf_tile_first_column(p->tile);
    if (e->kind < OPF_EXPR_UNARY) return true;
    for (int k = 0; k < e->n_args; k++)
        if (!body_is_flat(p, e->args[k])) return false;
    return true;
}

bool opf_tile_columns_are_flat(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    if (tile->n_column < 2) return true;
    bool between = tile->b.source == OPF_SOURCE_WINDOW && tile->pitch != tile->axes[opf_tile_first_depth(tile) - 1].extent;
    if (between && !tile->winograd) return false;
    for (size_t i = 0; i < tile->epilogue.count; i++) {
        const opf_tile_stage *stage = &tile->epilogue.data[i];
        if (!body_is_flat(p, stage->body)) return false;
        if (stage->result >= 0 && !walks_flat(p, p->group->results.data[stage->result].value, p->tile->point)) return false;
    }
    return true;
}

/* ---- the body ---- */

/* Where the stage's result goes, at the column that is being computed. */
static const opf_expr *offset_of(opf_tile_printer *p, const opf_tile_stage *stage) {
    const opf_value *value = p->group->results.data[stage->result].value;
    const opf_expr *offset = opf_tile_offset(p, value, p->tile->point);
    if (!p->flat_columns || p->tile->n_column != 2) return offset;
    const opf_expr *bind[3 * OPF_MAX_RANK] = {NULL};
    bind[opf_tile_first_column(p->tile)] = opf_int(p->pool, 0);
    return opf_expr_bind(p->pool, offset, opf_tile_first_column(p->tile) + 1, bind);
}

static const char *place_of(opf_tile_printer *p, const opf_tile_stage *stage) {
    return opf_arena_printf(opf_pool_arena(p->pool), "p%d[%s]", p->n_inputs + stage->result, opf_tile_text(p, offset_of(p, stage)));
}

static bool is_other_load(const opf_expr *e, void *data) { return e->kind != OPF_EXPR_LOAD || e->index != *(const int *)data; }

/* Does a later stage read stage i? */
static bool is_read_on(const opf_tile_printer *p, const opf_expr *const *bodies, size_t i) {
    int tensor = p->n_inputs + p->tile->epilogue.data[i].stage;
    for (size_t k = i + 1; k < p->tile->epilogue.count; k++)
        if (!opf_expr_visit(p->pool, bodies[k], is_other_load, &tensor)) return true;
    return false;
}

static void print_element(opf_tile_printer *p, const opf_expr *const *bodies) {
    for (size_t i = 0; i < p->tile->epilogue.count; i++) {
        const opf_tile_stage *stage = &p->tile->epilogue.data[i];
        if (p->part_of && p->part_of[stage->stage] != p->part) continue;
        bool narrow = opf_emit_is_narrow(stage->dtype);
        if (p->stores_line && i + 1 == p->tile->epilogue.count) { /* rounded when the line is stored */
            opf_tile_line(p, "sums[i] = %s;", opf_tile_text(p, opf_emit_unrounded(bodies[i])));
            continue;
        }
        if (narrow && stage->result >= 0 && !is_read_on(p, bodies, i)) { /* rounded once, to the code */
            opf_tile_line(p, "%s = %s;", place_of(p, stage), opf_tile_code_text(p, bodies[i]));
            continue;
        }
        opf_tile_line(p, "const %s t%d = %s;", opf_emit_local_ctype(stage->dtype, bodies[i]), stage->stage, opf_tile_text(p, bodies[i]));
        if (stage->result < 0) continue;
        if (narrow) opf_tile_line(p, "%s = opf_f32_to_%s(t%d);", place_of(p, stage), opf_emit_suffix(stage->dtype), stage->stage);
        else opf_tile_line(p, "%s = t%d;", place_of(p, stage), stage->stage);
    }
}

/* ---- what does not change along a row ---- */

typedef struct hoisting {
    opf_tile_printer *p;
    int inner;                 /* the first variable that changes along a row */
    OPF_VEC(const opf_expr *) values; /* of the locals h0, h1, … */
} hoisting;

static bool is_steady(const hoisting *h, const opf_expr *e) {
    if (e->kind == OPF_EXPR_LOAD && e->index >= h->p->n_inputs) return false;
    if (e->kind == OPF_EXPR_VAR) return e->index < h->inner;
    for (int k = 0; k < e->n_args; k++)
        if (!is_steady(h, e->args[k])) return false;
    return true;
}

static const opf_expr *local_of(hoisting *h, const opf_expr *e) {
    opf_pool *pool = h->p->pool;
    size_t k = 0;
    while (k < h->values.count && h->values.data[k] != e) k++;
    if (k == h->values.count) OPF_PUSH(opf_pool_arena(pool), &h->values, e);
    return opf_load(pool, (opf_dtype)e->dtype, OPF_TILE_HOISTED + (int)k, 0, NULL);
}

/* `e` with every largest part that loads something and stays the same along a row replaced by a local. The sides of a
 * select that changes stay: they may read only where its condition holds. */
static const opf_expr *hoisted(hoisting *h, const opf_expr *e) {
    opf_pool *pool = h->p->pool;
    const opf_expr *args[3];
    if (e->kind < OPF_EXPR_LOAD || !opf_expr_has_load(e)) return e;
    if (is_steady(h, e)) return local_of(h, e);
    if (e->kind == OPF_EXPR_LOAD) return e;
    for (int k = 0; k < e->n_args; k++) args[k] = e->kind == OPF_EXPR_SELECT && k ? e->args[k] : hoisted(h, e->args[k]);
    switch ((opf_expr_kind)e->kind) {
    case OPF_EXPR_UNARY: return opf_unary(pool, (opf_scalar_op)e->op, args[0]);
    case OPF_EXPR_BINARY: return opf_binary(pool, (opf_scalar_op)e->op, args[0], args[1]);
    case OPF_EXPR_SELECT: return opf_select(pool, args[0], args[1], args[2]);
    case OPF_EXPR_CAST: return opf_cast(pool, (opf_dtype)e->dtype, args[0]);
    default: return e;
    }
}

/* Prints the locals of a row; the bodies in terms of them. */
static const opf_expr *const *print_steady(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    const opf_expr **bodies = OPF_ARRAY(opf_pool_arena(p->pool), const opf_expr *, tile->epilogue.count);
    hoisting h = {.p = p, .inner = opf_tile_first_column(tile) - (tile->interleave > 1)};
    for (size_t i = 0; i < tile->epilogue.count; i++) bodies[i] = hoisted(&h, tile->epilogue.data[i].body);
    for (size_t k = 0; k < h.values.count; k++)
        opf_tile_line(p, "const %s h%zu = %s;", opf_emit_value_ctype((opf_dtype)h.values.data[k]->dtype), k, opf_tile_text(p, h.values.data[k]));
    return bodies;
}

/* ---- parts of an epilogue that share no stage ---- */

typedef struct joining { opf_tile_printer *p; int stage; } joining;

static bool join_parts(const opf_expr *e, void *data) {
    const joining *j = data;
    int *part_of = j->p->part_of, from = e->index - j->p->n_inputs, count = (int)j->p->group->stages.list.count;
    if (e->kind != OPF_EXPR_LOAD || from < 0 || e->index >= OPF_TILE_HOISTED) return true;
    for (int s = 0, gone = part_of[from]; s < count; s++)
        if (part_of[s] == gone) part_of[s] = part_of[j->stage];
    return true;
}

/* part_of[s]: a number that the stages have in common which stage s is connected with. Sums that nothing joins, as queries, keys and
 * values, get a loop each: one over all of them walks along too many rows at once. */
static void find_parts(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    size_t count = p->group->stages.list.count;
    if (!tile->siblings.count) return;
    p->part_of = OPF_ARRAY(opf_pool_arena(p->pool), int, count);
    for (size_t s = 0; s < count; s++) p->part_of[s] = (int)s;
    for (size_t i = 0; i < tile->epilogue.count; i++) {
        joining j = {p, tile->epilogue.data[i].stage};
        opf_expr_visit(p->pool, tile->epilogue.data[i].body, join_parts, &j);
    }
}

/* Is there a stage of part `part`? */
static bool has_part(const opf_tile_printer *p, int part) {
    for (size_t i = 0; i < p->tile->epilogue.count; i++)
        if (p->part_of[p->tile->epilogue.data[i].stage] == part) return true;
    return false;
}

/* ---- the loops ---- */

static void print_row_variables(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    int first = opf_tile_first_row(tile), last = first + tile->n_row - 1;
    const char *rest = "r";
    if (tile->interleave > 1) { /* the last row axis is walked inside */
        rest = opf_arena_printf(opf_pool_arena(p->pool), "r / %d", tile->interleave);
        if (last-- == first) return;
    }
    for (int k = last; k > first; k--) {
        opf_tile_line(p, "const int64_t %s = %s %% %s;", p->names[k], rest, print(p, tile->axes[k].extent));
        rest = opf_arena_printf(opf_pool_arena(p->pool), "%s / %s", rest, print(p, tile->axes[k].extent));
    }
    if (tile->n_row) opf_tile_line(p, "const int64_t %s = %s;", p->names[first], rest);
}

/* The body for one column of one row, or of the rows whose results lie between each other in memory: all in one body, which
 * the compiler then stores as whole vectors. */
static void print_elements(opf_tile_printer *p, const opf_expr *const *bodies) {
    const opf_tile *tile = p->tile;
    int last = opf_tile_first_column(tile) - 1;
    p->sums = "sums[i]";
    if (tile->interleave < 2) {
        print_element(p, bodies);
        return;
    }
    const char *name = p->names[last];
    for (int row = 0; row < tile->interleave; row++) {
        p->names[last] = opf_arena_printf(opf_pool_arena(p->pool), "%d", row);
        p->sums = row ? opf_arena_printf(opf_pool_arena(p->pool), "sums[i + %d * pitch]", row) : "sums[i]";
        opf_tile_open(p, "/* %s = %d */", name, row);
        print_element(p, bodies);
        opf_tile_close(p);
    }
    p->names[last] = name;
}

static bool picks(const opf_tile_printer *p) {
    for (size_t i = 0; i < p->tile->epilogue.count; i++)
        if (opf_expr_picks(p->tile->epilogue.data[i].body)) return true;
    return false;
}

/* Columns do not wait for each other: each stores its own elements of the results. Where several sums and results are walked along, the
 * compiler would have to compare so many addresses to see this that it leaves the loop scalar; so it does where an element picks the
 * address of another. */
static void print_independence(opf_tile_printer *p) {
    if (p->tile->siblings.count || picks(p)) opf_tile_line(p, "OPF_INDEPENDENT");
}

/* ---- lines of float16 ---- */

static const opf_tile_stage *last_stage(const opf_tile_printer *p) { return &p->tile->epilogue.data[p->tile->epilogue.count - 1]; }

/* A float16 result whose columns lie side by side: the floats take the place of the sums, and are then made float16 line by line. */
static bool may_store_line(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    const opf_expr *step, *rest;
    if (!tile->epilogue.count || tile->siblings.count || tile->interleave > 1 || tile->words) return false;
    const opf_tile_stage *last = last_stage(p);
    return last->result >= 0 && last->dtype == OPF_FLOAT16 && opf_expr_affine(p->pool, offset_of(p, last), opf_tile_first_depth(tile) - 1, &step, &rest) && opf_is_value(step, 1);
}

/* Are the sums what is stored? */
static bool stores_sums(const opf_tile_printer *p, const opf_expr *const *bodies) {
    const opf_expr *value = opf_emit_unrounded(bodies[p->tile->epilogue.count - 1]);
    return p->stores_line && p->tile->epilogue.count == 1 && value->kind == OPF_EXPR_LOAD && value->index == p->n_inputs + p->tile->anchor;
}

/* ---- rounded line by line ---- */

typedef struct passes {
    opf_tile_printer *p;
    opf_roundings roundings;
    const opf_expr **stages;  /* by stage: what stands for it */
    const char *first;        /* the line's first column */
} passes;

static const opf_expr *stand_in(opf_pool *pool, const opf_expr *leaf, void *data) {
    passes *a = data;
    opf_tile_printer *p = a->p;
    (void)pool;
    if (leaf->kind != OPF_EXPR_LOAD || leaf->index >= OPF_TILE_PACKED) return NULL;
    return leaf->index >= p->n_inputs ? a->stages[leaf->index - p->n_inputs] : NULL;
}

static void print_pass(passes *a, const char *target, const opf_expr *value) {
    opf_tile_printer *p = a->p;
    const char *name = p->names[opf_tile_first_depth(p->tile) - 1], *text = opf_tile_text(p, value);
    opf_tile_open(p, "for (int64_t i = piece; i < piece_end; i++)");
    if (strstr(text, name)) opf_tile_line(p, "const int64_t %s = %s%si;", name, a->first, *a->first ? " + " : "");
    opf_tile_line(p, "%s = %s;", target, text);
    opf_tile_close(p);
}

/* Nothing but the last stage is stored. */
static bool stores_last_alone(const opf_tile_printer *p) {
    for (size_t i = 0; i + 1 < p->tile->epilogue.count; i++)
        if (p->tile->epilogue.data[i].result >= 0) return false;
    return p->stores_line;
}

/* Elements in loops of their own between roundings; with many vector registers, in one loop. */
static bool print_passes(opf_tile_printer *p, const opf_expr *const *bodies, const char *first, const char *count) {
    const opf_tile *tile = p->tile;
    if (!opf_machine_has_few_vectors(p->nest->machine) || !stores_last_alone(p)) return false;
    const opf_stage *anchor = p->group->stages.list.data[tile->anchor];
    passes a = {.p = p, .roundings = {.pool = p->pool, .first = OPF_TILE_ROUNDED + 1}, .first = first};
    a.stages = OPF_ARRAY(opf_pool_arena(p->pool), const opf_expr *, p->group->stages.list.count);
    bool rounds_sum = anchor->dtype == OPF_FLOAT16;
    if (rounds_sum) a.stages[tile->anchor] = opf_load(p->pool, OPF_FLOAT16, OPF_TILE_ROUNDED, 0, NULL);
    const opf_expr *value = NULL;
    for (size_t i = 0; i < tile->epilogue.count; i++) {
        value = opf_expr_map(p->pool, bodies[i], stand_in, &a);
        bool last = i + 1 == tile->epilogue.count;
        a.stages[tile->epilogue.data[i].stage] = value = opf_roundings_take(&a.roundings, last ? opf_emit_unrounded(value) : value);
    }
    if (!rounds_sum && !a.roundings.values.count) return false;
    opf_tile_open(p, "for (int64_t piece = 0; piece < %s; piece += %d)", count, OPF_ELEMENTS_OF_PIECE);
    opf_tile_line(p, "const int64_t piece_end = opf_min_i64(%s, piece + %d);", count, OPF_ELEMENTS_OF_PIECE);
    if (rounds_sum) opf_tile_line(p, "opf_round_line_f16(sums + piece, piece_end - piece);");
    for (size_t k = 0; k < a.roundings.values.count; k++) {
        opf_tile_line(p, "_Alignas(64) float line_%zu[%d];", k + 1, OPF_ELEMENTS_OF_PIECE);
        print_pass(&a, opf_arena_printf(opf_pool_arena(p->pool), "line_%zu[i - piece]", k + 1), a.roundings.values.data[k]);
        opf_tile_line(p, "opf_round_line_f16(line_%zu, piece_end - piece);", k + 1);
    }
    print_pass(&a, "sums[i]", value);
    opf_tile_close(p);
    return true;
}

/* The loop over the columns of a line, the first of them `first`, and what comes behind it. Where a line is stored, elements may do without the column's number. */
static void print_columns(opf_tile_printer *p, const opf_expr *const *bodies, const char *first, const char *count) {
    int column = opf_tile_first_depth(p->tile) - 1;
    const char *name = p->names[column];
    p->sums = "sums[i]";
    if (!stores_sums(p, bodies) && !print_passes(p, bodies, first, count)) {
        print_independence(p);
        opf_tile_open(p, "for (int64_t i = 0; i < %s; i++)", count);
        opf_text elements = {0}, *out = p->out;
        p->out = &elements;
        print_elements(p, bodies);
        p->out = out;
        if (strstr(opf_text_string(&elements), name)) opf_tile_line(p, "const int64_t %s = %s%si;", name, first, *first ? " + " : "");
        opf_text_add(p->out, opf_text_string(&elements));
        opf_text_free(&elements);
        opf_tile_close(p);
    }
    if (!p->stores_line) return;
    const opf_expr *bind[3 * OPF_MAX_RANK] = {NULL}, *offset = offset_of(p, last_stage(p));
    bind[column] = opf_int(p->pool, 0);
    if (*first) p->names[column] = first;
    else offset = opf_expr_bind(p->pool, offset, column + 1, bind);
    opf_tile_line(p, "opf_store_line_f16(p%d + %s, sums, %s);", p->n_inputs + last_stage(p)->result, opf_tile_text(p, offset), count);
    p->names[column] = name;
}

/* ---- the sums ---- */

static bool is_in_part(const opf_tile_printer *p, size_t sum) {
    const opf_tile *tile = p->tile;
    return !p->part_of || p->part_of[sum ? tile->siblings.data[sum - 1].anchor : tile->anchor] == p->part;
}

static void print_sums(opf_tile_printer *p, const char *offset) {
    for (size_t k = 0; k < opf_tile_sums(p); k++) {
        if (!is_in_part(p, k)) continue;
        opf_tile_choose_sum(p, k);
        opf_tile_line(p, "%s%s *restrict sums%s = block%s + %s;", p->stores_line ? "" : "const ", opf_tile_word(p->tile), p->mark, p->mark, offset);
    }
}

static void print_flat_columns(opf_tile_printer *p, const opf_expr *const *bodies) {
    const opf_tile *tile = p->tile;
    bool window = tile->b.source == OPF_SOURCE_WINDOW;
    print_sums(p, "(r - rows_begin) * pitch");
    const char *begin = !window ? "" : tile->n_column < 2 ? " + column_begin" : opf_arena_printf(opf_pool_arena(p->pool), " + line_begin * %s", print(p, tile->pitch));
    print_columns(p, bodies, opf_arena_printf(opf_pool_arena(p->pool), "block_begin%s", begin), "block_end - block_begin");
}

static void print_lines(opf_tile_printer *p, const opf_expr *const *bodies) {
    const opf_tile *tile = p->tile;
    int first = opf_tile_first_column(tile);
    bool window = tile->b.source == OPF_SOURCE_WINDOW;
    const char *pitch = print(p, tile->pitch), *width = print(p, tile->axes[first + 1].extent);
    opf_tile_open(p, "for (int64_t line = block_begin / %s; line * %s < block_end; line++)", pitch, pitch);
    opf_tile_line(p, "const int64_t %s = line%s, before = line * %s - block_begin;", p->names[first], window ? " + line_begin" : "", pitch);
    opf_tile_line(p, "const int64_t begin = opf_max_i64(-before, 0), end = opf_min_i64(block_end - block_begin - before, %s);", width);
    print_sums(p, "(r - rows_begin) * pitch + before + begin");
    print_columns(p, bodies, "begin", "end - begin");
    opf_tile_close(p);
}

void opf_tile_print_epilogue(opf_tile_printer *p) {
    p->flat_columns = opf_tile_columns_are_flat(p);
    p->stores_line = may_store_line(p);
    if (p->tile->interleave > 1) opf_tile_open(p, "for (int64_t r = rows_begin; r < rows_end; r += %d)", p->tile->interleave);
    else opf_tile_open(p, "for (int64_t r = rows_begin; r < rows_end; r++)");
    print_row_variables(p);
    const opf_expr *const *bodies = print_steady(p);
    find_parts(p);
    for (p->part = 0; p->part < (p->part_of ? (int)p->group->stages.list.count : 1); p->part++) {
        if (p->part_of && !has_part(p, p->part)) continue;
        if (p->flat_columns) print_flat_columns(p, bodies);
        else print_lines(p, bodies);
    }
    opf_tile_close(p);
    p->flat_columns = p->stores_line = false;
    p->part_of = NULL;
}

void opf_tile_print_row_epilogue(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    int first = opf_tile_first_column(tile);
    const char *width = print(p, tile->axes[first + 1].extent);
    p->flat_columns = opf_tile_columns_are_flat(p);
    p->stores_line = may_store_line(p);
    print_row_variables(p);
    const opf_expr *const *bodies = print_steady(p);
    const char *type = p->stores_line ? "float" : "const float";
    if (p->flat_columns) {
        opf_tile_line(p, "%s *restrict sums = block;", type);
        print_columns(p, bodies, opf_arena_printf(opf_pool_arena(p->pool), "line_begin * %s", width), opf_arena_printf(opf_pool_arena(p->pool), "(line_end - line_begin) * %s", width));
    } else {
        opf_tile_open(p, "for (int64_t line = line_begin; line < line_end; line++)");
        opf_tile_line(p, "const int64_t %s = line;", p->names[first]);
        opf_tile_line(p, "%s *restrict sums = block + (line - line_begin) * %s;", type, width);
        print_columns(p, bodies, "", width);
        opf_tile_close(p);
    }
    p->flat_columns = p->stores_line = false;
}
