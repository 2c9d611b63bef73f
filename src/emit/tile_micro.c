/* The register tile: one named accumulator for each row and vector, one statement each, the depth loop unrolled.
 * Arrays of accumulators end up in memory in one compiler or the other (docs/design.md section 5). */
#include "emit/tile_internal.h"

static void print_accumulators(int height, int width, bool load, opf_text *out) {
    for (int i = 0; i < height; i++) {
        opf_text_add(out, load ? "        " : "    opf_vf ");
        for (int j = 0; j < width; j++) {
            opf_text_add(out, j ? ", " : "");
            if (load) opf_text_printf(out, "c%d_%d = opf_vload(c + %d * pitch + %d * OPF_LANES)", i, j, i, j);
            else opf_text_printf(out, "c%d_%d = {0}", i, j);
        }
        opf_text_add(out, ";\n");
    }
}

/* B is asked for only where several rows share it: a single stream is best left to the machine's own prefetcher. */
enum { B_AHEAD = 24, ROWS_THAT_SHARE = 4 };

/* Functions that differ from the usual one in how their loop is written differ in their name. */
const char *opf_tile_variant(const opf_tile *tile, opf_arena *arena) {
    const char *unroll = tile->unroll == OPF_TILE_UNROLL ? "" : opf_arena_printf(arena, "_U%d", tile->unroll);
    const char *prefetch = tile->prefetch == opf_tile_usual_prefetch(tile) ? "" : opf_arena_printf(arena, "_P%d", tile->prefetch);
    return opf_arena_printf(arena, "%s%s", unroll, prefetch);
}

/* How a function reads B: rows `step` apart; so, while memory `ahead` is asked for; rows by a table. */
typedef enum b_form { B_ROWS, B_ROWS_AHEAD, B_TABLE, B_FORMS } b_form;
static const struct { const char *suffix, *guard, *parameters, *row, *more; } b_forms[B_FORMS] = {
    [B_ROWS] = {"", "", "int64_t step", "k * step from b", ""},
    [B_ROWS_AHEAD] = {"_ahead", "_AHEAD", "int64_t step, const float *ahead, int64_t ahead_step", "k * step from b", "\n * Asks for what is needed next, `ahead_step` floats a step."},
    [B_TABLE] = {"_at", "_AT", "const int32_t *restrict at", "at[k] from b", ""},
};

static void print_step(int height, int width, int lanes, int prefetch, b_form form, opf_text *out) {
    bool table = form == B_TABLE;
    if (table) opf_text_add(out, "        const float *restrict b_row = b + at[k];\n");
    const char *from = table ? "b_row" : "b";
    for (int j = 0; j < width; j++) opf_text_printf(out, "        const opf_vf b%d = opf_vload(%s + %d * OPF_LANES);\n", j, from, j);
    for (int i = 0; i < height; i++) {
        opf_text_printf(out, "        { const opf_vf t = opf_vsplat(a[%d]);", i);
        for (int j = 0; j < width; j++) opf_text_printf(out, " c%d_%d = opf_vfma(t, b%d, c%d_%d);", i, j, j, i, j);
        opf_text_add(out, " }\n");
    }
    if (form == B_ROWS_AHEAD) opf_text_add(out, "        __builtin_prefetch(ahead, 0, 2);\n        ahead += ahead_step;\n");
    if (prefetch) opf_text_printf(out, "        __builtin_prefetch(a + %d);\n", prefetch);
    for (int j = 0; j < width && form == B_ROWS && height >= ROWS_THAT_SHARE; j += 16 / lanes) /* one for each line of 64 bytes */
        opf_text_printf(out, "        __builtin_prefetch(b + %d * step + %d * OPF_LANES);\n", B_AHEAD, j);
    opf_text_printf(out, "        a += %d;\n", height);
    if (!table) opf_text_add(out, "        b += step;\n");
}

static void print_function(const opf_nest *nest, int width, b_form form, opf_text *out) {
    const opf_tile *tile = nest->tile;
    int height = tile->height;
    const char *guard = b_forms[form].guard, *variant = opf_tile_variant(tile, opf_pool_arena(nest->pool));
    opf_text_printf(out, "#ifndef OPF_TILE_%dX%d%s%s\n#define OPF_TILE_%dX%d%s%s\n", height, width, guard, variant, height, width, guard, variant);
    opf_text_printf(out, "/* Adds a[k][0..%d] * b[k][0..%d vectors] over `depth` steps k to c, whose rows are `pitch` apart; starts at 0 where\n"
                         " * `first`. Row k of b is %s.%s */\n",
                    height - 1, width - 1, b_forms[form].row, b_forms[form].more);
    opf_text_printf(out, "static void opf_tile_%dx%d%s%s(int64_t depth, const float *restrict a, const float *restrict b, %s, float *restrict c, int64_t pitch, int first) {\n",
                    height, width, b_forms[form].suffix, variant, b_forms[form].parameters);
    print_accumulators(height, width, false, out);
    opf_text_add(out, "    if (!first) {\n");
    print_accumulators(height, width, true, out);
    opf_text_printf(out, "    }\n#pragma GCC unroll %d\n    for (int64_t k = 0; k < depth; k++) {\n", tile->unroll);
    print_step(height, width, nest->machine->lanes, tile->prefetch, form, out);
    opf_text_add(out, "    }\n");
    for (int i = 0; i < height; i++) {
        opf_text_add(out, "   ");
        for (int j = 0; j < width; j++) opf_text_printf(out, " opf_vstore(c + %d * pitch + %d * OPF_LANES, c%d_%d);", i, j, i, j);
        opf_text_add(out, "\n");
    }
    opf_text_add(out, "}\n#endif\n");
}

void opf_emit_tile_functions(const opf_nest *nest, opf_text *out) {
    const opf_tile *tile = nest->tile;
    b_form form = tile->b.source == OPF_SOURCE_WINDOW && !tile->winograd ? B_TABLE : opf_tile_asks_ahead(tile) ? B_ROWS_AHEAD : B_ROWS;
    if (tile->winograd) opf_emit_winograd_functions(tile->winograd, out);
    print_function(nest, tile->width, form, out);
    if (tile->tail != tile->width) print_function(nest, tile->tail, form, out);
}
