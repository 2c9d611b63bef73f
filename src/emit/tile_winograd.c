/* The kernel of a 3x3 convolution by Winograd's products: a unit is some lines of tiles. Their input is transformed once, then
 * for a few rows (output channels) at a time each of a tile's elements is a small contraction over the input channels, and
 * the products are transformed back and go through the epilogue while they are in the cache. */
#include "emit/tile_internal.h"
#include "loop/winograd.h"

static const char *print(opf_tile_printer *p, const opf_expr *e) { return opf_tile_operand_text(p, e); }

static int products_of(const opf_tile *tile) {
    int side = opf_winograd_form_of(tile->winograd)->inputs;
    return side * side;
}

static const opf_expr *rounded(opf_pool *pool, const opf_expr *e, int64_t to) { return opf_mul(pool, opf_ceildiv(pool, e, opf_int(pool, to)), opf_int(pool, to)); }

void opf_winograd_print_scratch(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    const struct { opf_dim floats; const char *name; } parts[] = {
        {tile->window_floats, "window"}, {tile->b_floats, "transformed"}, {tile->product_floats, "products"}, {tile->block_floats, "block"},
    };
    const opf_expr *offset = opf_int(p->pool, 0);
    opf_tile_line(p, "float *scratch = (float *)(void *)(args->scratch + (size_t)part * args->scratch_stride);");
    for (size_t i = 0; i < OPF_COUNT(parts); i++) {
        opf_tile_line(p, "float *restrict %s = %s;", parts[i].name, opf_tile_place(p, "scratch", offset));
        offset = opf_add(p->pool, offset, parts[i].floats);
    }
}

/* Spare lanes behind the last line and the last tile are never read as results; but left-over bits may be denormal numbers,
 * which are slow. */
void opf_winograd_print_clear(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    opf_pool *pool = p->pool;
    int64_t chunk = opf_dim_nominal(tile->column_chunk), lines = chunk / tile->winograd;
    opf_dim copied = opf_mul(pool, opf_int(pool, (chunk + 2) * tile->batch), tile->pitch);
    opf_tile_line(p, "for (int64_t i = %s; i < %s; i++) window[i] = 0.0f;", opf_tile_text(p, copied), print(p, tile->window_floats));
    opf_dim one = opf_int(pool, 1), units = opf_ceildiv(pool, tile->tile_lines, opf_int(pool, lines));
    opf_dim fewest = opf_sub(pool, tile->tile_lines, opf_mul(pool, opf_sub(pool, units, one), opf_int(pool, lines))); /* of the last unit */
    opf_dim written = opf_add(pool, opf_mul(pool, opf_sub(pool, fewest, one), tile->tile_columns), rounded(pool, tile->tile_columns, p->nest->machine->lanes));
    if (opf_expr_prove_le(pool, tile->tile_pitch, written, (opf_domain){0, NULL})) return;
    opf_tile_open(p, "for (int64_t i = 0; i < %d * %s; i++)", products_of(tile), print(p, tile->depth));
    opf_tile_line(p, "float *row = transformed + i / %s * %s + i %% %s * %s;", print(p, tile->depth), print(p, tile->plane), print(p, tile->depth), print(p, tile->tile_pitch));
    opf_tile_line(p, "for (int64_t t = %s; t < %s; t++) row[t] = 0.0f;", opf_tile_text(p, written), print(p, tile->tile_pitch));
    opf_tile_close(p);
}

/* Panel 0 of the first product's filters: the outer axes that A walks along come first. */
static void print_filters(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    const opf_expr *offset = opf_int(p->pool, 0);
    for (int k = 0; k < tile->n_outer; k++)
        if (opf_expr_has_var(tile->a.value, k)) offset = opf_add(p->pool, opf_mul(p->pool, offset, tile->axes[k].extent), opf_var(p->pool, k));
    const opf_expr *size = opf_mul(p->pool, rounded(p->pool, tile->rows, tile->block_rows), tile->depth);
    offset = opf_mul(p->pool, offset, opf_mul(p->pool, size, opf_int(p->pool, products_of(tile))));
    const char *packed = opf_arena_printf(opf_pool_arena(p->pool), "p%d", p->n_inputs + (int)p->group->results.count + tile->a.packed);
    opf_tile_line(p, "const float *restrict filters = %s;", opf_tile_place(p, packed, offset));
}

static void print_input(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    int m = tile->winograd, depth = opf_tile_first_depth(tile);
    const char *pitch = print(p, tile->pitch), *line = p->names[opf_tile_first_column(tile)], *channel = p->names[depth];
    const char *columns = print(p, tile->tile_columns), *tile_pitch = print(p, tile->tile_pitch), *channels = print(p, tile->depth);
    bool rows_whole = opf_is_value(opf_ceildiv(p->pool, tile->rows, tile->row_chunk), 1);
    if (!rows_whole) opf_tile_open(p, "if (unit == span.begin || row_begin == 0)");
    opf_tile_open(p, "for (int64_t batch = 0; batch < %s; batch += %lld)", channels, (long long)tile->batch);
    opf_tile_line(p, "const int64_t batch_end = opf_min_i64(batch + %lld, %s);", (long long)tile->batch, channels);
    opf_tile_line(p, "float *restrict to = window;");
    opf_tile_line(p, "for (int64_t %s = batch; %s < batch_end; %s++)", channel, channel, channel);
    p->indent++;
    opf_tile_open(p, "for (int64_t line = line_begin; line < line_begin + tile_lines * %d + 2; line++, to += %s)", m, pitch);
    opf_tile_line(p, "const int64_t %s = line;", line);
    opf_tile_print_line_copy(p, pitch);
    opf_tile_close(p);
    p->indent--;
    opf_tile_line(p, "const float *restrict from = window;");
    opf_tile_open(p, "for (int64_t %s = batch; %s < batch_end; %s++, from += (tile_lines * %d + 2) * %s)", channel, channel, channel, m, pitch);
    opf_tile_line(p, "for (int64_t t = 0; t < tile_lines; t++)");
    p->indent++;
    opf_tile_line(p, "opf_winograd_input_%d(transformed + %s * %s + t * %s, %s, from + t * %d * %s, %s, %s, %s - t * %s);", m, channel, tile_pitch, columns,
                  print(p, tile->plane), m, pitch, pitch, columns, tile_pitch, columns);
    p->indent--;
    opf_tile_close(p);
    opf_tile_close(p);
    if (!rows_whole) opf_tile_close(p);
}

/* The products of one element, of tiles from c on, for as many panels of rows from r on as the function takes. */
static void print_product(opf_tile_printer *p, int rows, int width) {
    const opf_tile *tile = p->tile;
    const char *tile_pitch = print(p, tile->tile_pitch), *channels = print(p, tile->depth);
    opf_tile_line(p, "%s(%s, filters + (rows_begin * %d + element * %lld + r - rows_begin) * %s, transformed + element * %s + c, %s%s, products + (element * %lld + r - rows_begin) * %s + c, %s, 1);",
                  opf_tile_function(tile, rows, width, 0, opf_pool_arena(p->pool)), channels, products_of(tile), (long long)tile->block_rows, channels, print(p, tile->plane), tile_pitch, opf_tile_beside(p), (long long)tile->block_rows, tile_pitch, tile_pitch);
}

static void print_products(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    opf_tile_open(p, "for (int64_t element = 0; element < %d; element++)", products_of(tile));
    opf_tile_open(p, "for (int64_t c = 0; c < tiles; c += %d)", p->panel);
    if (tile->pairs_panels) {
        opf_tile_line(p, "int64_t r = rows_begin;");
        opf_tile_line(p, "for (; tiles - c <= OPF_LANES && r + %d <= rows_end; r += %d)", 2 * tile->height, 2 * tile->height);
        p->indent++;
        print_product(p, 2 * tile->height, 1);
        p->indent--;
    }
    opf_tile_line(p, "for (%s; r < rows_end; r += %d)", tile->pairs_panels ? "" : "int64_t r = rows_begin", tile->height);
    p->indent++;
    print_product(p, tile->height, tile->width);
    p->indent--;
    opf_tile_close(p);
    opf_tile_close(p);
}

static void print_output(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    const char *width = print(p, tile->axes[opf_tile_first_depth(tile) - 1].extent), *tile_pitch = print(p, tile->tile_pitch);
    opf_tile_open(p, "for (int64_t r = rows_begin; r < rows_end; r++)");
    opf_tile_line(p, "for (int64_t t = 0; t < tile_lines; t++)");
    p->indent++;
    opf_tile_line(p, "opf_winograd_output_%d(block + t * %d * %s, %s, products + (r - rows_begin) * %s + t * %s, %lld * %s, %s);", tile->winograd, tile->winograd, width,
                  width, tile_pitch, print(p, tile->tile_columns), (long long)tile->block_rows, tile_pitch, width);
    p->indent--;
    opf_tile_print_row_epilogue(p);
    opf_tile_close(p);
}

void opf_winograd_print_unit(opf_tile_printer *p) {
    const opf_tile *tile = p->tile;
    opf_tile_line(p, "const int64_t tile_lines = (line_end - line_begin + %d) / %d, tiles = tile_lines * %s;", tile->winograd - 1, tile->winograd, print(p, tile->tile_columns));
    print_filters(p);
    print_input(p);
    opf_tile_open(p, "for (int64_t rows_begin = row_begin; rows_begin < row_end; rows_begin += %lld)", (long long)tile->block_rows);
    opf_tile_line(p, "const int64_t rows_end = opf_min_i64(rows_begin + %lld, row_end);", (long long)tile->block_rows);
    print_products(p);
    print_output(p);
    opf_tile_close(p);
}
