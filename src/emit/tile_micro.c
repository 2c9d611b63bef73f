/* The register tile: one named accumulator for each row and vector, one statement each, the depth loop unrolled.
 * Arrays of accumulators end up in memory in one compiler or the other (docs/design.md section 5). It stands apart from the kernel: in its midst gcc
 * keeps some of the vectors of B on the stack, and reads them there for each product (decision 0132). */
#include "emit/spelling.h"
#include "emit/tile_internal.h"

/* Vectors of floats, or of words. */
static const char *vector_type(const opf_tile *tile) { return tile->words ? "opf_vi" : "opf_vf"; }
static const char *vector_call(const opf_tile *tile) { return tile->words ? "opf_vi" : "opf_v"; } /* …load, …store, …splat */

/* …load of B. */
static const char *load_of_b(const opf_tile *tile) {
    return tile->half == OPF_FLOAT16 ? "opf_vload_f16" : tile->half == OPF_BFLOAT16 ? "opf_vload_bf16" : tile->words ? "opf_viload" : "opf_vload";
}

static void print_accumulators(const opf_tile *tile, int height, int width, bool load, opf_arena *arena, opf_text *out) {
    for (int i = 0; i < height; i++) {
        if (load) opf_text_add(out, "        ");
        else opf_text_printf(out, "    %s ", vector_type(tile));
        for (int j = 0; j < width; j++) {
            opf_text_add(out, j ? ", " : "");
            if (load) opf_text_printf(out, "c%d_%d = %sload(%s)", i, j, vector_call(tile), opf_emit_vector_at("c", i, "pitch", j, arena));
            else opf_text_printf(out, "c%d_%d = {0}", i, j);
        }
        opf_text_add(out, ";\n");
    }
}

static const char *plus(int n, opf_arena *arena) { return n ? opf_arena_printf(arena, " + %d", n) : ""; }

/* The sums of columns behind the last vector, each a vector along the rows of the tile. */
static void print_extra_accumulators(int height, int width, int extra, bool load, opf_arena *arena, opf_text *out) {
    for (int j = 0; j < extra; j++) {
        if (!load) opf_text_printf(out, "    opf_vf e%d = {0};\n", j);
        else opf_text_printf(out, "        for (int i = 0; i < %d; i++) e%d[i] = c[%s%s];\n", height, j, opf_emit_vector_at("i * pitch", 0, NULL, width, arena), plus(j, arena));
    }
}

static void print_extra_step(int height, int width, int extra, const char *from, opf_arena *arena, opf_text *out) {
    opf_text_printf(out, "        { const opf_vf t = opf_vload_part(a, %d);", height);
    for (int j = 0; j < extra; j++) opf_text_printf(out, " e%d = opf_vfma(t, opf_vsplat(%s[%d * OPF_LANES%s]), e%d);", j, from, width, plus(j, arena), j);
    opf_text_add(out, " }\n");
}

/* How a function reads B: rows `step` apart, while nothing is asked for, or the next panel of columns, or later steps, or memory `ahead`;
 * rows by a table. */
typedef enum b_form { B_ROWS, B_ROWS_PANEL, B_ROWS_STEPS, B_ROWS_AHEAD, B_TABLE, B_FORMS } b_form;
static const struct { const char *suffix, *parameters, *row, *more; } b_forms[B_FORMS] = {
    [B_ROWS] = {"", "int64_t step", "k * step from b", ""},
    [B_ROWS_PANEL] = {"_panel", "int64_t step", "k * step from b", "\n * Asks for the columns behind these, which are needed next."},
    [B_ROWS_STEPS] = {"_steps", "int64_t step, int64_t beside", "k * step from b", "\n * Asks for later steps, behind the last one for the first ones of what is read next, `beside` from b."},
    [B_ROWS_AHEAD] = {"_ahead", "", "k * step from b", "\n * Asks for what is needed next, `ahead_step` floats a step."},
    [B_TABLE] = {"_at", "const int32_t *restrict at", "at[k] from b", ""},
};

static b_form form_of(const opf_tile *tile) {
    if (opf_tile_asks_ahead(tile)) return B_ROWS_AHEAD;
    if (!opf_tile_may_ask_ahead(tile)) return B_TABLE;
    return tile->ahead == OPF_AHEAD_PANEL ? B_ROWS_PANEL : tile->ahead == OPF_AHEAD_STEPS ? B_ROWS_STEPS : B_ROWS;
}

/* Functions that differ in how their loop is written differ in their name. */
const char *opf_tile_function(const opf_tile *tile, int rows, int width, int extra, opf_arena *arena) {
    const char *unroll = tile->unroll == OPF_TILE_UNROLL ? "" : opf_arena_printf(arena, "_u%d", tile->unroll);
    const char *prefetch = tile->prefetch == opf_tile_full_prefetch(tile) ? "" : opf_arena_printf(arena, "_p%d", tile->prefetch);
    const char *behind = extra ? opf_arena_printf(arena, "_and_%d", extra) : "", *of = rows != tile->height ? opf_arena_printf(arena, "_of_%d", tile->height) : "";
    const char *words = !tile->words ? "" : tile->words == 2 ? "_pairs" : tile->a_is_signed ? "_quads_su" : "_quads_us";
    const char *half = tile->half ? opf_arena_printf(arena, "_%s", tile->half == OPF_FLOAT16 ? "f16" : "bf16") : "";
    return opf_arena_printf(arena, "opf_tile_%dx%d%s%s%s%s%s%s%s", rows, width, of, words, half, behind, b_forms[form_of(tile)].suffix, unroll, prefetch);
}

/* One row is a batch of one: a matrix times a vector, where a whole panel would be mostly zeros. */
int opf_tile_few_rows(const opf_tile *tile, int k) {
    static const int few[] = {1, 4};
    bool open = tile->a.source == OPF_SOURCE_PANELS && !tile->winograd && !opf_is_int(tile->rows, NULL);
    return open && k < (int)OPF_COUNT(few) && few[k] < tile->height ? few[k] : 0;
}

static const char *guard_of(const char *function, opf_arena *arena) {
    char *guard = opf_arena_string(arena, function);
    for (char *c = guard; *c; c++) *c = *c >= 'a' && *c <= 'z' && *c != 'x' ? (char)(*c - 'a' + 'A') : *c;
    return guard;
}

/* Is there a panel before the one that the extra columns belong to? */
bool opf_tile_has_whole_panels(const opf_nest *nest) {
    return opf_dim_nominal(nest->tile->columns) / nest->machine->lanes > nest->tile->tail;
}

/* c + t * b, where t is of A. */
static void print_product(const opf_tile *tile, int i, int j, opf_text *out) {
    if (!tile->words) opf_text_printf(out, " c%d_%d = opf_vfma(t, b%d, c%d_%d);", i, j, j, i, j);
    else if (tile->words == 2) opf_text_printf(out, " c%d_%d = opf_vpairs(t, b%d, c%d_%d);", i, j, j, i, j);
    else if (tile->a_is_signed) opf_text_printf(out, " c%d_%d = opf_vquads(b%d, t, c%d_%d);", i, j, j, i, j);
    else opf_text_printf(out, " c%d_%d = opf_vquads(t, b%d, c%d_%d);", i, j, j, i, j);
}

/* `rows` of those that a step of A has, or of this panel's and the next one's. */
static void print_step(const opf_tile *tile, int rows, int width, int extra, int lanes, b_form form, opf_arena *arena, opf_text *out) {
    int height = tile->height, prefetch = tile->prefetch;
    bool table = form == B_TABLE;
    if (table) opf_text_printf(out, "        const %s *restrict b_row = b + at[k];\n", opf_tile_word(tile));
    const char *from = table ? "b_row" : "b";
    for (int j = 0; j < width; j++) opf_text_printf(out, "        const %s b%d = %s(%s);\n", vector_type(tile), j, load_of_b(tile), opf_emit_vector_at(from, 0, NULL, j, arena));
    for (int i = 0; i < rows; i++) {
        opf_text_printf(out, "        { const %s t = %ssplat(%s[%d]);", vector_type(tile), vector_call(tile), i < height ? "a" : "second", i % height);
        for (int j = 0; j < width; j++) print_product(tile, i, j, out);
        opf_text_add(out, " }\n");
    }
    if (extra) print_extra_step(rows, width, extra, from, arena, out);
    if (form == B_ROWS_AHEAD) opf_text_add(out, "        __builtin_prefetch(ahead, 0, 2);\n        ahead += ahead_step;\n");
    if (prefetch) opf_text_printf(out, "        __builtin_prefetch(a + %d);\n", prefetch);
    if (form == B_ROWS_STEPS) opf_text_add(out, "        const int64_t ahead = k < turn ? later : next;\n");
    for (int j = 0; j < width && (form == B_ROWS_PANEL || form == B_ROWS_STEPS); j += 16 / lanes) { /* one for each line of 64 bytes */
        if (form == B_ROWS_PANEL) opf_text_printf(out, "        __builtin_prefetch(b + %d * OPF_LANES);\n", width + j);
        else opf_text_printf(out, "        __builtin_prefetch(%s);\n", opf_emit_vector_at("b + ahead", 0, NULL, j, arena));
    }
    if (form == B_ROWS_STEPS) opf_text_printf(out, "        __builtin_prefetch(b + ahead + %d);\n", width * lanes - 1); /* rows that begin amid a line */
    opf_text_printf(out, "        a += %d;\n", height);
    if (rows > height) opf_text_printf(out, "        second += %d;\n", height);
    if (!table) opf_text_add(out, "        b += step;\n");
}

static void print_function(const opf_nest *nest, int rows, int width, int extra, b_form form, opf_text *out) {
    const opf_tile *tile = nest->tile;
    opf_arena *arena = opf_pool_arena(nest->pool);
    const char *function = opf_tile_function(tile, rows, width, extra, arena), *guard = guard_of(function, arena);
    const char *behind = extra ? opf_arena_printf(arena, " and %d columns", extra) : "";
    opf_text_printf(out, "#ifndef %s\n#define %s\n", guard, guard);
    const char *what = !tile->words ? "" : tile->words == 2 ? "words of two int16, " : tile->a_is_signed ? "words of bytes, a's with sign, b's without, " : "words of bytes, a's without sign, b's with, ";
    if (tile->half) what = tile->half == OPF_FLOAT16 ? "with b in float16, " : "with b in bfloat16, ";
    opf_text_printf(out, "/* Adds %sa[k][0..%d] * b[k][0..%d vectors%s] over `depth` steps k to c, whose rows are `pitch` apart; starts at 0 where\n"
                         " * `first`. Row k of b is %s.%s%s */\n",
                    what, rows - 1, width - 1, behind, b_forms[form].row, rows > tile->height ? opf_arena_printf(arena, " Rows from %d on are of the panel behind a's.", tile->height) : "", b_forms[form].more);
    const char *word = opf_tile_word(tile), *word_of_b = opf_tile_word_of_b(tile), *parameters = b_forms[form].parameters;
    if (form == B_ROWS_AHEAD) parameters = opf_arena_printf(arena, "int64_t step, const %s *ahead, int64_t ahead_step", word_of_b);
    opf_text_printf(out, "OPF_APART void %s(int64_t depth, const %s *restrict a, const %s *restrict b, %s, %s *restrict c, int64_t pitch, int first) {\n",
                    function, word, word_of_b, parameters, word);
    if (rows == 1 && !extra) opf_text_add(out, "    (void)pitch;\n");
    print_accumulators(tile, rows, width, false, arena, out);
    print_extra_accumulators(rows, width, extra, false, arena, out);
    opf_text_add(out, "    if (!first) {\n");
    print_accumulators(tile, rows, width, true, arena, out);
    print_extra_accumulators(rows, width, extra, true, arena, out);
    opf_text_add(out, "    }\n");
    if (rows > tile->height) opf_text_printf(out, "    const %s *restrict second = a + %d * depth; /* the next panel */\n", word, tile->height);
    if (form == B_ROWS_STEPS) opf_text_printf(out, "    const int64_t turn = depth - %d, later = %d * step, next = later - depth * step + beside;\n", OPF_TILE_STEPS_AHEAD, OPF_TILE_STEPS_AHEAD);
    opf_text_printf(out, "#pragma GCC unroll %d\n    for (int64_t k = 0; k < depth; k++) {\n", tile->unroll);
    print_step(tile, rows, width, extra, nest->machine->lanes, form, arena, out);
    opf_text_add(out, "    }\n");
    for (int i = 0; i < rows; i++) {
        opf_text_add(out, "   ");
        for (int j = 0; j < width; j++) opf_text_printf(out, " %sstore(%s, c%d_%d);", vector_call(tile), opf_emit_vector_at("c", i, "pitch", j, arena), i, j);
        opf_text_add(out, "\n");
    }
    for (int j = 0; j < extra; j++) opf_text_printf(out, "    for (int i = 0; i < %d; i++) c[%s%s] = e%d[i];\n", rows, opf_emit_vector_at("i * pitch", 0, NULL, width, arena), plus(j, arena), j);
    opf_text_add(out, "}\n#endif\n");
}

/* Of so many vectors: for whole panels of rows, and for the last one. */
static void print_functions(const opf_nest *nest, int width, int extra, b_form form, opf_text *out) {
    print_function(nest, nest->tile->height, width, extra, form, out);
    for (int k = 0; opf_tile_few_rows(nest->tile, k); k++) print_function(nest, opf_tile_few_rows(nest->tile, k), width, extra, form, out);
}

/* One for whole panels, and one for each number of vectors that the last panel of a unit may have. */
void opf_emit_tile_functions(const opf_nest *nest, opf_text *out) {
    const opf_tile *tile = nest->tile;
    b_form form = form_of(tile);
    if (tile->turned) {
        opf_emit_turned_functions(nest, out);
        return;
    }
    if (tile->winograd) opf_emit_winograd_functions(tile->winograd, out);
    if (!tile->extra || opf_tile_has_whole_panels(nest)) print_functions(nest, tile->width, 0, form, out);
    for (int width = 1; !tile->tail && width < tile->width; width++) print_functions(nest, width, 0, form, out);
    if (tile->pairs_panels) print_function(nest, 2 * tile->height, 1, 0, form, out);
    if (tile->extra || (tile->tail && tile->tail != tile->width)) print_functions(nest, tile->tail, tile->extra, form, out);
}
