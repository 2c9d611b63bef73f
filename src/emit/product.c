/* Products of a block of rows: a register tile whose rows are read where they lie, a few rows by a few vectors.
 *
 * The tile is printed flat, one named accumulator for each row and vector. The last tile of rows overlaps the one before
 * it, so that no row is computed by a narrower tile than it must; fewer rows than a tile has are computed one by one. */
#include "emit/spelling.h"
#include "emit/tile.h"

#include <string.h>

/* ---- one tile ---- */

static void print_row_pointers(int height, opf_arena *arena, opf_text *out) {
    for (int i = 1; i < height; i++) opf_text_printf(out, "    const float *restrict a%d = %s;\n", i, opf_emit_vector_at("a0", i, "a_pitch", 0, arena));
}

static void print_step(int height, int width, opf_arena *arena, opf_text *out) {
    for (int j = 0; j < width; j++) opf_text_printf(out, "        const opf_vf b%d = opf_vload(%s);\n", j, opf_emit_vector_at("b", 0, NULL, j, arena));
    for (int i = 0; i < height; i++) {
        opf_text_printf(out, "        { const opf_vf t = opf_vsplat(a%d[k]);", i);
        for (int j = 0; j < width; j++) opf_text_printf(out, " c%d_%d = opf_vfma(t, b%d, c%d_%d);", i, j, j, i, j);
        opf_text_add(out, " }\n");
    }
}

static void print_tile(int height, int width, opf_arena *arena, opf_text *out) {
    opf_text_printf(out, "#ifndef OPF_ROW_TILE_%dX%d\n#define OPF_ROW_TILE_%dX%d\n", height, width, height, width);
    opf_text_printf(out, "/* c[r][0..%d vectors] = sum over k of a[r][k] * b[k], for %d row%s; rows lie a_pitch, b_step and c_pitch apart. */\n", width - 1, height, height > 1 ? "s" : "");
    opf_text_printf(out, "static void opf_row_tile_%dx%d(int64_t depth, const float *restrict a0, int64_t a_pitch, const float *restrict b, int64_t b_step, float *restrict c, int64_t c_pitch) {\n",
                    height, width);
    if (height == 1) opf_text_add(out, "    (void)a_pitch;\n    (void)c_pitch;\n");
    print_row_pointers(height, arena, out);
    for (int i = 0; i < height; i++) {
        opf_text_add(out, "    opf_vf ");
        for (int j = 0; j < width; j++) opf_text_printf(out, "%sc%d_%d = {0}", j ? ", " : "", i, j);
        opf_text_add(out, ";\n");
    }
    opf_text_add(out, "#pragma GCC unroll 2\n    for (int64_t k = 0; k < depth; k++, b += b_step) {\n");
    print_step(height, width, arena, out);
    opf_text_add(out, "    }\n");
    for (int i = 0; i < height; i++) {
        opf_text_add(out, "   ");
        for (int j = 0; j < width; j++) opf_text_printf(out, " opf_vstore(%s, c%d_%d);", opf_emit_vector_at("c", i, "c_pitch", j, arena), i, j);
        opf_text_add(out, "\n");
    }
    opf_text_add(out, "}\n#endif\n");
}

/* ---- all tiles of a product ---- */

static void print_columns(int height, int width, opf_text *out) {
    opf_text_printf(out, "        int64_t r = 0;\n");
    if (height > 1)
        opf_text_printf(out,
                        "        for (; r + %d <= rows; r += %d) opf_row_tile_%dx%d(depth, a + r * a_pitch, a_pitch, b + j, b_step, c + r * c_pitch + j, c_pitch);\n"
                        "        if (r < rows && rows >= %d) {\n"
                        "            r = rows - %d;\n"
                        "            opf_row_tile_%dx%d(depth, a + r * a_pitch, a_pitch, b + j, b_step, c + r * c_pitch + j, c_pitch);\n"
                        "            r = rows;\n"
                        "        }\n",
                        height, height, height, width, height, height, height, width);
    opf_text_printf(out, "        for (; r < rows; r++) opf_row_tile_1x%d(depth, a + r * a_pitch, a_pitch, b + j, b_step, c + r * c_pitch + j, c_pitch);\n", width);
}

static void print_function(int height, int width, opf_arena *arena, opf_text *out) {
    for (int w = 1; w <= width; w++) {
        if (height > 1) print_tile(height, w, arena, out);
        print_tile(1, w, arena, out);
    }
    opf_text_printf(out, "#ifndef OPF_ROWS_%dX%d\n#define OPF_ROWS_%dX%d\n", height, width, height, width);
    opf_text_printf(out, "/* c[r][j] = sum over k of a[r][k] * b[k][j], by tiles of %d rows and %d vectors; whole vectors behind the last column. */\n", height, width);
    opf_text_printf(out, "static void opf_rows_%dx%d(int64_t rows, int64_t columns, int64_t depth, const float *restrict a, int64_t a_pitch, const float *restrict b, int64_t b_step, float *restrict c, int64_t c_pitch) {\n",
                    height, width);
    opf_text_add(out, "    int64_t j = 0;\n");
    opf_text_printf(out, "    for (; %s < columns; %s) {\n", opf_emit_vector_at("j", 0, NULL, width - 1, arena), opf_arena_printf(arena, width > 1 ? "j += %d * OPF_LANES" : "j += OPF_LANES", width));
    print_columns(height, width, out);
    opf_text_add(out, "    }\n");
    for (int w = width - 1; w >= 1; w--) {
        opf_text_printf(out, "    if (%s < columns) {\n", opf_emit_vector_at("j", 0, NULL, w - 1, arena));
        print_columns(height, w, out);
        opf_text_printf(out, w > 1 ? "        j += %d * OPF_LANES;\n    }\n" : "        j += OPF_LANES;\n    }\n", w);
    }
    opf_text_add(out, "}\n#endif\n");
}

/* Terms that begin with 0 are 0, but of what is not finite NaN. */
static void print_zero_terms(opf_text *out) {
    opf_text_add(out,
                 "#ifndef OPF_ZERO_TERMS\n#define OPF_ZERO_TERMS\n"
                 "/* c[r][j] += sum over k = from … to-1 of 0 * b[k][j]: nothing, or NaN; whole vectors behind the last column. */\n"
                 "static void opf_zero_terms(int64_t rows, int64_t columns, int64_t from, int64_t to, const float *restrict b, int64_t b_step, float *restrict c, int64_t c_pitch) {\n"
                 "    const opf_vf zero = {0};\n"
                 "    for (int64_t j = 0; j < columns; j += OPF_LANES) {\n"
                 "        opf_vf even = zero, odd = zero;\n"
                 "        for (int64_t k = from; k + 1 < to; k += 2) {\n"
                 "            even += zero * opf_vload(b + k * b_step + j);\n"
                 "            odd += zero * opf_vload(b + (k + 1) * b_step + j);\n"
                 "        }\n"
                 "        if (from < to) odd += zero * opf_vload(b + (to - 1) * b_step + j);\n"
                 "        even += odd;\n"
                 "        if (opf_vany_nan(opf_vunordered(even, even)))\n"
                 "            for (int64_t r = 0; r < rows; r++) opf_vstore(c + r * c_pitch + j, opf_vload(c + r * c_pitch + j) + even);\n"
                 "    }\n"
                 "}\n#endif\n");
}

static void visit(const opf_block *block, opf_arena *arena, opf_text *out) {
    for (size_t i = 0; i < block->list.count; i++) {
        const opf_code *code = block->list.data[i];
        if (code->kind == OPF_CODE_PRODUCT) print_function(code->height, code->width, arena, out);
        if (code->kind == OPF_CODE_PRODUCT && code->zeros) print_zero_terms(out);
        visit(&code->body, arena, out);
    }
}

void opf_emit_product_functions(const opf_nest *nest, opf_text *out) { visit(&nest->code, opf_pool_arena(nest->pool), out); }
