/* The register tile: one named accumulator for each row and vector, one statement each, the depth loop unrolled by two.
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

/* Packed weights come from beyond L2 once: a line or two ahead of each step. B is asked for only where several rows share it:
 * a single stream is best left to the machine's own prefetcher. */
enum { A_AHEAD = 512, B_AHEAD = 8, ROWS_THAT_SHARE = 4 };

static void print_step(int height, int width, int lanes, bool table, opf_text *out) {
    if (table) opf_text_add(out, "        const float *restrict b_row = b + at[k];\n");
    const char *from = table ? "b_row" : "b";
    for (int j = 0; j < width; j++) opf_text_printf(out, "        const opf_vf b%d = opf_vload(%s + %d * OPF_LANES);\n", j, from, j);
    for (int i = 0; i < height; i++) {
        opf_text_printf(out, "        { const opf_vf t = opf_vsplat(a[%d]);", i);
        for (int j = 0; j < width; j++) opf_text_printf(out, " c%d_%d = opf_vfma(t, b%d, c%d_%d);", i, j, j, i, j);
        opf_text_add(out, " }\n");
    }
    opf_text_printf(out, "        __builtin_prefetch(a + %d);\n", A_AHEAD);
    for (int j = 0; j < width && !table && height >= ROWS_THAT_SHARE; j += 16 / lanes) /* one for each line of 64 bytes */
        opf_text_printf(out, "        __builtin_prefetch(b + %d * step + %d * OPF_LANES);\n", B_AHEAD, j);
    opf_text_printf(out, "        a += %d;\n", height);
    if (!table) opf_text_add(out, "        b += step;\n");
}

static void print_function(int height, int width, int lanes, bool table, opf_text *out) {
    const char *suffix = table ? "_at" : "";
    opf_text_printf(out, "#ifndef OPF_TILE_%dX%d%s\n#define OPF_TILE_%dX%d%s\n", height, width, table ? "_AT" : "", height, width, table ? "_AT" : "");
    opf_text_printf(out, "/* Adds a[k][0..%d] * b[k][0..%d vectors] over `depth` steps k to c, whose rows are `pitch` apart; starts at 0 where\n"
                         " * `first`. Row k of b is %s. */\n",
                    height - 1, width - 1, table ? "at[k] from b" : "k * step from b");
    opf_text_printf(out, "static void opf_tile_%dx%d%s(int64_t depth, const float *restrict a, const float *restrict b, %s, float *restrict c, int64_t pitch, int first) {\n",
                    height, width, suffix, table ? "const int32_t *restrict at" : "int64_t step");
    print_accumulators(height, width, false, out);
    opf_text_add(out, "    if (!first) {\n");
    print_accumulators(height, width, true, out);
    opf_text_add(out, "    }\n#pragma GCC unroll 2\n    for (int64_t k = 0; k < depth; k++) {\n");
    print_step(height, width, lanes, table, out);
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
    bool table = tile->b.source == OPF_SOURCE_WINDOW && !tile->winograd;
    if (tile->winograd) opf_emit_winograd_functions(tile->winograd, out);
    print_function(tile->height, tile->width, nest->machine->lanes, table, out);
    if (tile->tail != tile->width) print_function(tile->height, tile->tail, nest->machine->lanes, table, out);
}
