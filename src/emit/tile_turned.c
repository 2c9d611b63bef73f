/* Turned tiles (loop/tile_turned.c): the register tile, whose vectors lie along the rows, the walk along a window's lines, and what turns the sums
 * of a block. */
#include "emit/spelling.h"
#include "emit/tile_internal.h"

static const char *number(opf_tile_printer *p, opf_dim dim) { return opf_tile_operand_text(p, dim); }

static int vectors_of(const opf_nest *nest) { return nest->tile->height / nest->machine->lanes; }
static int64_t stride_of(const opf_tile *tile) { return tile->windows[1].stride; }

static const char *function_of(const opf_nest *nest, int64_t columns) {
    const opf_tile *tile = nest->tile;
    const char *unroll = tile->unroll == OPF_TILE_UNROLL ? "" : opf_arena_printf(opf_pool_arena(nest->pool), "_u%d", tile->unroll);
    const char *apart = stride_of(tile) == 1 ? "" : opf_arena_printf(opf_pool_arena(nest->pool), "_by_%lld", (long long)stride_of(tile));
    return opf_arena_printf(opf_pool_arena(nest->pool), "opf_turned_%lldx%d%s%s", (long long)columns, vectors_of(nest), apart, unroll);
}

/* A line is cut into tiles of one size and, behind them, tiles of one column less. */
typedef struct cuts { int64_t columns, wide, width; } cuts; /* of a wide tile; all wide tiles'; the line's */

static cuts cuts_of(const opf_tile *tile) {
    int64_t width = opf_dim_nominal(tile->pitch), tiles = (width + tile->turned - 1) / tile->turned, columns = (width + tiles - 1) / tiles;
    return (cuts){columns, (width - tiles * (columns - 1)) * columns, width};
}

/* ---- the tile ---- */

static void print_sums(const opf_nest *nest, int64_t columns, const char *format, const char *between, opf_text *out) {
    for (int64_t i = 0; i < columns; i++)
        for (int j = 0; j < vectors_of(nest); j++) {
            const char *at = opf_arena_printf(opf_pool_arena(nest->pool), i || j ? "c + %lld" : "c", (long long)(i * nest->tile->height + j * nest->machine->lanes));
            opf_text_add(out, i || j ? between : "");
            opf_text_printf(out, format, (long long)i, j, at);
        }
}

static void print_step(const opf_nest *nest, int64_t columns, opf_text *out) {
    opf_text_add(out, "        const float *restrict b_row = b + at[k];\n");
    for (int j = 0; j < vectors_of(nest); j++) opf_text_printf(out, "        const opf_vf a%d = opf_vload(%s);\n", j, opf_emit_vector_at("a", 0, NULL, j, opf_pool_arena(nest->pool)));
    for (int64_t i = 0; i < columns; i++) {
        opf_text_printf(out, "        { const opf_vf t = opf_vsplat(b_row[%lld]);", (long long)(i * stride_of(nest->tile)));
        for (int j = 0; j < vectors_of(nest); j++) opf_text_printf(out, " c%lld_%d = opf_vfma(t, a%d, c%lld_%d);", (long long)i, j, j, (long long)i, j);
        opf_text_add(out, " }\n");
    }
    opf_text_printf(out, "        a += %d;\n", nest->tile->height);
}

static void print_function(const opf_nest *nest, int64_t columns, opf_text *out) {
    const char *function = function_of(nest, columns);
    opf_text_printf(out, "#ifndef %s_FUNCTION\n#define %s_FUNCTION\n", function, function);
    opf_text_printf(out, "/* Adds a[k][0..%d vectors] * b[k][0..%lld columns, %lld apart] over `depth` steps k to c, a column behind the other; starts at 0 where\n * `first`. Row k of b is at[k] from b. */\n",
                    vectors_of(nest) - 1, (long long)columns - 1, (long long)stride_of(nest->tile));
    opf_text_printf(out, "OPF_APART void %s(int64_t depth, const float *restrict a, const float *restrict b, const int32_t *restrict at, float *restrict c, int first) {\n    opf_vf ", function);
    print_sums(nest, columns, "c%lld_%d = {0}", ", ", out);
    opf_text_add(out, ";\n    if (!first) {\n        ");
    print_sums(nest, columns, "c%lld_%d = opf_vload(%s);", " ", out);
    opf_text_printf(out, "\n    }\n#pragma GCC unroll %d\n    for (int64_t k = 0; k < depth; k++) {\n", nest->tile->unroll);
    print_step(nest, columns, out);
    opf_text_add(out, "    }\n");
    opf_text_add(out, "    ");
    for (int64_t i = 0; i < columns; i++)
        for (int j = 0; j < vectors_of(nest); j++)
            opf_text_printf(out, "opf_vstore(c + %lld, c%lld_%d);%s", (long long)(i * nest->tile->height + j * nest->machine->lanes), (long long)i, j, i == columns - 1 && j == vectors_of(nest) - 1 ? "\n" : " ");
    opf_text_add(out, "}\n#endif\n");
}

void opf_emit_turned_functions(const opf_nest *nest, opf_text *out) {
    cuts cut = cuts_of(nest->tile);
    print_function(nest, cut.columns, out);
    if (cut.wide < cut.width) print_function(nest, cut.columns - 1, out);
}

/* ---- the walk ---- */

static void print_calls(opf_tile_printer *p, int64_t begin, int64_t end, int64_t columns) {
    const opf_tile *tile = p->tile;
    const char *apart = stride_of(tile) == 1 ? "" : opf_arena_printf(opf_pool_arena(p->pool), " * %lld", (long long)stride_of(tile));
    if (begin == end) return;
    opf_tile_line(p, "for (int64_t c = %lld; c < %lld; c += %lld) %s(steps, a_panel, from + c%s, at + k, to + c * %d, k == 0);", (long long)begin, (long long)end, (long long)columns,
                  function_of(p->nest, columns), apart, tile->height);
}

/* The lines of a block, for each panel of rows. */
void opf_turned_print_tiles(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    cuts cut = cuts_of(tile);
    const char *width = number(p, tile->pitch);
    opf_tile_open(p, "for (int64_t r = rows_begin; r < rows_end; r += %d)", tile->height);
    opf_tile_line(p, "const float *restrict a_panel = a_panels + r * %s + k * %d;", number(p, tile->depth), tile->height);
    opf_tile_open(p, "for (int64_t line = block_begin / %s; line * %s < block_end; line++)", width, width);
    opf_tile_line(p, "const float *restrict from = window + line * %s;", number(p, opf_mul(p->pool, tile->copied_line, opf_int(p->pool, tile->windows[0].stride))));
    opf_tile_line(p, "float *restrict to = turned + (r - rows_begin) * pitch + (line * %s - block_begin) * %d;", width, tile->height);
    print_calls(p, 0, cut.wide, cut.columns);
    print_calls(p, cut.wide, cut.width, cut.columns - 1);
    opf_tile_close(p);
    opf_tile_close(p);
}

void opf_turned_print_sums(opf_tile_printer *p) {
    int height = p->tile->height;
    opf_tile_line(p, "for (int64_t r = rows_begin; r < rows_end; r += %d)", height);
    p->indent++;
    opf_tile_line(p, "opf_transpose_f32(block + (r - rows_begin) * pitch, pitch, turned + (r - rows_begin) * pitch, %d, %d, block_end - block_begin);", height, height);
    p->indent--;
}
