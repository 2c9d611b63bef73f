/* Contractions by register tiles against a naive evaluation of the same stages: shapes with odd remainders, strides, pads,
 * dilations, groups, batches, symbolic sizes, transposed and constant operands, epilogues and prologues; every instruction
 * set that this CPU runs, both compilers, and the same bits for any number of parts. */
#include "tile_check.h"

static opf_dim n(tile_case *c, int64_t value) { return opf_int(c->pool, value); }
static opf_dim s(tile_case *c, const char *name, int64_t value) { return tile_symbol(c, name, value); }
static const opf_expr *real(tile_case *c, double value) { return opf_real(c->pool, OPF_FLOAT32, value); }

/* A stage over the same points as `tensor` (n_axes of them). */
static int same(tile_case *c, int tensor, const opf_expr *body) {
    const opf_stage *stage = c->group.stages.list.data[tensor - (int)c->group.stages.inputs.count];
    return tile_stage(c, stage->n_axes, 0, stage->extents, stage->axis_names, body);
}
static const opf_expr *relu(tile_case *c, const opf_expr *x) { return opf_binary(c->pool, OPF_OP_MAX, x, real(c, 0)); }
static const opf_expr *add(tile_case *c, const opf_expr *a, const opf_expr *b) { return opf_binary(c->pool, OPF_OP_ADD, a, b); }

/* ---- cases ---- */

typedef struct row { const char *name; void (*build)(tile_case *c); } row;

#define PRODUCT(...) tile_result(c, tile_add_product(c, &(tile_product){__VA_ARGS__}))
static void matmul(tile_case *c) { PRODUCT(.m = n(c, 64), .n = n(c, 96), .k = n(c, 40)); }
static void matmul_odd(tile_case *c) { PRODUCT(.m = n(c, 37), .n = n(c, 53), .k = n(c, 29)); }
static void matmul_deep(tile_case *c) { PRODUCT(.m = n(c, 23), .n = n(c, 33), .k = n(c, 1100)); }
static void matmul_weights(tile_case *c) { PRODUCT(.m = n(c, 40), .n = n(c, 70), .k = n(c, 50), .b_constant = true); }
static void matmul_symbolic(tile_case *c) { PRODUCT(.m = s(c, "M", 31), .n = s(c, "N", 45), .k = s(c, "K", 19)); }
static void matmul_empty_sum(tile_case *c) { PRODUCT(.m = s(c, "M", 5), .n = s(c, "N", 45), .k = tile_symbol_of(c, "K", 0, 40)); }
static void matmul_nothing(tile_case *c) { PRODUCT(.m = tile_symbol_of(c, "M", 0, 40), .n = s(c, "N", 45), .k = s(c, "K", 19)); }
static void matmul_rows_symbolic(tile_case *c) { PRODUCT(.m = s(c, "M", 29), .n = n(c, 64), .k = n(c, 48), .b_constant = true); }
static void matmul_transposed(tile_case *c) { PRODUCT(.m = n(c, 21), .n = n(c, 40), .k = n(c, 36), .a_transposed = true, .b_transposed = true); }
static void matmul_transposed_odd(tile_case *c) { PRODUCT(.m = n(c, 21), .n = s(c, "N", 43), .k = n(c, 37), .b_transposed = true); }
static void gemm_constants(tile_case *c) { PRODUCT(.m = n(c, 26), .n = n(c, 47), .k = n(c, 31), .b_transposed = true, .b_constant = true); }
static void vector_matrix(tile_case *c) { PRODUCT(.m = n(c, 1), .n = n(c, 150), .k = n(c, 65), .b_constant = true); }
static void few_rows(tile_case *c) { PRODUCT(.m = n(c, 3), .n = n(c, 150), .k = n(c, 65), .b_constant = true); }
static void batched(tile_case *c) { PRODUCT(.batch = n(c, 3), .m = n(c, 17), .n = n(c, 35), .k = n(c, 24)); }
static void batched_transposed(tile_case *c) { PRODUCT(.batch = s(c, "B", 3), .m = n(c, 17), .n = n(c, 35), .k = n(c, 24), .b_transposed = true); }
static void batch_of_rows(tile_case *c) { PRODUCT(.batch = n(c, 3), .m = n(c, 10), .n = n(c, 35), .k = n(c, 24), .b_shared = true, .b_constant = true); }
static void shared_left(tile_case *c) { PRODUCT(.batch = n(c, 3), .m = n(c, 10), .n = n(c, 35), .k = n(c, 24), .a_shared = true, .a_constant = true); }
static void batch_of_constants(tile_case *c) { PRODUCT(.batch = n(c, 3), .m = n(c, 10), .n = n(c, 35), .k = n(c, 24), .b_constant = true); }

#define CONV(...) tile_add_conv(c, &(tile_conv){__VA_ARGS__})
#define CONV_SIZES(ic_, h_, w_, oc_, k_) .ic = n(c, ic_), .h = n(c, h_), .w = n(c, w_), .oc = oc_, .kh = k_, .kw = k_
static void conv_1x1(tile_case *c) { tile_result(c, CONV(CONV_SIZES(18, 9, 7, 20, 1))); }
/* a few columns behind the last whole vector: of 16 lanes and 8, in several passes, in a batch, behind panels of fewer vectors */
static void conv_1x1_extra(tile_case *c) { tile_result(c, CONV(CONV_SIZES(33, 7, 7, 29, 1))); }
static void conv_1x1_extra_deep(tile_case *c) { tile_result(c, CONV(CONV_SIZES(1030, 7, 7, 26, 1))); }
static void conv_1x1_extra_many(tile_case *c) { tile_result(c, CONV(.n = n(c, 2), CONV_SIZES(40, 14, 14, 37, 1))); }
static void conv_1x1_extra_square(tile_case *c) { tile_result(c, CONV(CONV_SIZES(24, 10, 10, 60, 1))); }
static void matmul_extra(tile_case *c) { PRODUCT(.m = n(c, 40), .n = n(c, 35), .k = n(c, 50)); }
static void batched_extra(tile_case *c) { PRODUCT(.batch = n(c, 3), .m = n(c, 50), .n = n(c, 68), .k = n(c, 24)); }
static void conv_1x1_wide_symbolic(tile_case *c) {
    tile_result(c, CONV(.n = s(c, "N", 2), .ic = n(c, 24), .h = s(c, "H", 10), .w = s(c, "W", 11), .oc = 40, .kh = 1, .kw = 1));
}
static void conv_1x1_stride(tile_case *c) { tile_result(c, CONV(CONV_SIZES(18, 9, 12, 20, 1), .stride = 2)); }
static void conv_3x3(tile_case *c) { tile_result(c, CONV(CONV_SIZES(5, 11, 14, 18, 3), .pad = 1)); }
static void conv_3x3_no_pad(tile_case *c) { tile_result(c, CONV(CONV_SIZES(5, 11, 14, 18, 3))); }
static void conv_3x3_stride(tile_case *c) { tile_result(c, CONV(CONV_SIZES(6, 13, 12, 18, 3), .pad = 1, .stride = 2)); }
static void conv_3x3_dilated(tile_case *c) { tile_result(c, CONV(CONV_SIZES(4, 15, 14, 18, 3), .pad = 2, .dilation = 2)); }
static void conv_apart(tile_case *c) { tile_result(c, CONV(CONV_SIZES(16, 13, 14, 40, 5), .pad = 2)); }
static void conv_apart_dilated(tile_case *c) { tile_result(c, CONV(.n = n(c, 2), CONV_SIZES(20, 15, 12, 90, 3), .pad = 1, .dilation = 2)); }
static void conv_apart_backwards(tile_case *c) { tile_result(c, CONV(CONV_SIZES(24, 13, 10, 48, 4), .pad = 3, .backwards = true)); }
/* turned tiles where registers are few: of two vectors, and of three; several units, blocks and passes */
static void conv_turned_stride(tile_case *c) { tile_result(c, CONV(CONV_SIZES(70, 33, 31, 40, 3), .pad = 1, .stride = 2)); }
static void conv_turned_deep(tile_case *c) { tile_result(c, CONV(CONV_SIZES(40, 14, 13, 24, 5), .pad = 2)); }
static void conv_turned_dilated(tile_case *c) { tile_result(c, CONV(.n = n(c, 2), CONV_SIZES(32, 19, 24, 32, 3), .pad = 1, .dilation = 2, .groups = 2)); }
static void conv_turned_backwards(tile_case *c) { tile_result(c, CONV(CONV_SIZES(24, 20, 25, 48, 4), .pad = 3, .backwards = true)); }
static void conv_turned_stride_3(tile_case *c) { tile_result(c, CONV(CONV_SIZES(12, 41, 64, 33, 5), .pad = 2, .stride = 3)); }
static void conv_backwards(tile_case *c) { tile_result(c, CONV(CONV_SIZES(4, 15, 14, 18, 4), .pad = 2, .dilation = 2, .backwards = true)); }
static void conv_dilated_strided(tile_case *c) { tile_result(c, CONV(CONV_SIZES(4, 15, 14, 8, 3), .pad = 2, .dilation = 3, .stride = 2)); }
static void conv_5x5_stride_3(tile_case *c) { tile_result(c, CONV(CONV_SIZES(3, 19, 23, 9, 5), .pad = 2, .stride = 3)); }
static void conv_stem(tile_case *c) { tile_result(c, CONV(CONV_SIZES(3, 30, 32, 16, 7), .pad = 3, .stride = 2)); }
static void conv_stride_beyond_kernel(tile_case *c) { tile_result(c, CONV(CONV_SIZES(6, 13, 17, 9, 2), .stride = 3)); }
static void conv_small_map(tile_case *c) { tile_result(c, CONV(CONV_SIZES(9, 3, 3, 21, 3), .pad = 1)); }
static void conv_groups(tile_case *c) { tile_result(c, CONV(CONV_SIZES(12, 8, 9, 18, 3), .pad = 1, .groups = 3)); }
static void conv_batch(tile_case *c) { tile_result(c, CONV(.n = n(c, 3), CONV_SIZES(5, 8, 9, 11, 3), .pad = 1)); }
static void conv_symbolic(tile_case *c) {
    tile_result(c, CONV(.n = s(c, "N", 2), .ic = n(c, 5), .h = s(c, "H", 9), .w = s(c, "W", 13), .oc = 11, .kh = 3, .kw = 3, .pad = 1, .stride = 2));
}
static void conv_1x1_symbolic(tile_case *c) {
    tile_result(c, CONV(.n = s(c, "N", 2), .ic = n(c, 8), .h = s(c, "H", 9), .w = s(c, "W", 5), .oc = 11, .kh = 1, .kw = 1));
}
static void conv_runtime_weights(tile_case *c) { tile_result(c, CONV(CONV_SIZES(5, 11, 14, 18, 3), .pad = 1, .runtime = true)); }
static void conv_deep(tile_case *c) { tile_result(c, CONV(CONV_SIZES(130, 5, 6, 30, 3), .pad = 1)); }
static void conv_row_kernel(tile_case *c) {
    tile_result(c, CONV(.ic = n(c, 6), .h = n(c, 7), .w = n(c, 20), .oc = 14, .kh = 1, .kw = 5, .pad = 0));
}
static void conv_column_kernel(tile_case *c) {
    tile_result(c, CONV(.ic = n(c, 6), .h = n(c, 17), .w = n(c, 20), .oc = 14, .kh = 5, .kw = 1, .pad = 0));
}

static void conv_1d(tile_case *c) { /* [1, 5, 300], kernel 4, stride 2 */
    int x = tile_input(c, "x", false, 2, (opf_dim[]){n(c, 5), n(c, 300)}), w = tile_input(c, "w", true, 3, (opf_dim[]){n(c, 12), n(c, 5), n(c, 4)});
    const opf_expr *position = opf_add(c->pool, opf_mul(c->pool, tile_var(c, 1), n(c, 2)), opf_sub(c->pool, tile_var(c, 3), n(c, 1)));
    const opf_expr *value = tile_load(c, x, 2, (const opf_expr *[]){tile_var(c, 2), position});
    const opf_expr *inside = opf_binary(c->pool, OPF_OP_AND, opf_binary(c->pool, OPF_OP_LE, n(c, 0), position), opf_binary(c->pool, OPF_OP_LT, position, n(c, 300)));
    value = opf_select(c->pool, inside, value, real(c, 0));
    const opf_expr *weight = tile_load(c, w, 3, (const opf_expr *[]){tile_var(c, 0), tile_var(c, 2), tile_var(c, 3)});
    tile_result(c, tile_stage(c, 2, 2, (opf_dim[]){n(c, 12), n(c, 150), n(c, 5), n(c, 4)}, (const char *[]){"oc", "ow", "ic", "kw"}, tile_mul(c, value, weight)));
}

/* y = relu(conv + bias[oc] + residual); the sum with its bias is a result too */
static void conv_epilogue(tile_case *c) {
    int bias = tile_input(c, "bias", true, 1, (opf_dim[]){n(c, 18)});
    int residual = tile_input(c, "r", false, 4, (opf_dim[]){n(c, 1), n(c, 18), n(c, 11), n(c, 14)});
    int sum = CONV(CONV_SIZES(5, 11, 14, 18, 3), .pad = 1);
    int biased = same(c, sum, add(c, tile_load_same(c, sum, 4), tile_load(c, bias, 1, (const opf_expr *[]){tile_var(c, 1)})));
    int all = same(c, biased, add(c, tile_load_same(c, biased, 4), tile_load_same(c, residual, 4)));
    int y = same(c, all, relu(c, tile_load_same(c, all, 4)));
    tile_result(c, biased);
    tile_result(c, y);
}
static void conv_1x1_epilogue(tile_case *c) {
    int bias = tile_input(c, "bias", true, 1, (opf_dim[]){n(c, 20)});
    int residual = tile_input(c, "r", false, 4, (opf_dim[]){n(c, 1), n(c, 20), n(c, 9), n(c, 7)});
    int sum = CONV(CONV_SIZES(18, 9, 7, 20, 1));
    int biased = same(c, sum, add(c, tile_load_same(c, sum, 4), tile_load(c, bias, 1, (const opf_expr *[]){tile_var(c, 1)})));
    int all = same(c, biased, add(c, tile_load_same(c, biased, 4), tile_load_same(c, residual, 4)));
    tile_result(c, same(c, all, relu(c, tile_load_same(c, all, 4))));
}
/* Gelu(a * b + bias[n]) and the plain sum as a second result */
static void matmul_gelu(tile_case *c) {
    int bias = tile_input(c, "bias", true, 1, (opf_dim[]){n(c, 70)});
    int sum = tile_add_product(c, &(tile_product){.m = s(c, "M", 25), .n = n(c, 70), .k = n(c, 33), .b_constant = true});
    int x = same(c, sum, add(c, tile_load_same(c, sum, 2), tile_load(c, bias, 1, (const opf_expr *[]){tile_var(c, 1)})));
    const opf_expr *v = tile_load_same(c, x, 2);
    const opf_expr *erf = opf_unary(c->pool, OPF_OP_ERF, tile_mul(c, v, real(c, 0.70710678)));
    tile_result(c, same(c, x, tile_mul(c, tile_mul(c, v, real(c, 0.5)), add(c, erf, real(c, 1)))));
    tile_result(c, sum);
}
/* columns on two axes whose epilogue cannot walk them as one: + per-column vector */
static void conv_1x1_by_column(tile_case *c) {
    int w = tile_input(c, "v", false, 1, (opf_dim[]){n(c, 7)});
    int sum = CONV(CONV_SIZES(18, 9, 7, 20, 1));
    tile_result(c, same(c, sum, add(c, tile_load_same(c, sum, 4), tile_load(c, w, 1, (const opf_expr *[]){tile_var(c, 3)}))));
}
/* operands computed on the way: relu(x) in front of a convolution, a + a2 in front of a product */
static void conv_prologue(tile_case *c) {
    tile_input(c, "unused", false, 1, (opf_dim[]){n(c, 1)});
    int x = tile_input(c, "x", false, 3, (opf_dim[]){n(c, 5), n(c, 10), n(c, 12)}), w = tile_input(c, "w", true, 4, (opf_dim[]){n(c, 14), n(c, 5), n(c, 3), n(c, 3)});
    int first = tile_stage(c, 3, 0, (opf_dim[]){n(c, 5), n(c, 10), n(c, 12)}, (const char *[]){"c", "h", "w"}, relu(c, tile_load_same(c, x, 3)));
    const opf_expr *h = opf_sub(c->pool, opf_add(c->pool, tile_var(c, 1), tile_var(c, 4)), n(c, 1)), *v = opf_sub(c->pool, opf_add(c->pool, tile_var(c, 2), tile_var(c, 5)), n(c, 1));
    const opf_expr *inside = opf_binary(c->pool, OPF_OP_AND, opf_binary(c->pool, OPF_OP_LE, n(c, 0), h), opf_binary(c->pool, OPF_OP_LT, h, n(c, 10)));
    inside = opf_binary(c->pool, OPF_OP_AND, inside, opf_binary(c->pool, OPF_OP_LE, n(c, 0), v));
    inside = opf_binary(c->pool, OPF_OP_AND, inside, opf_binary(c->pool, OPF_OP_LT, v, n(c, 12)));
    const opf_expr *value = opf_select(c->pool, inside, tile_load(c, first, 3, (const opf_expr *[]){tile_var(c, 3), h, v}), real(c, 0));
    const opf_expr *weight = tile_load(c, w, 4, (const opf_expr *[]){tile_var(c, 0), tile_var(c, 3), tile_var(c, 4), tile_var(c, 5)});
    opf_dim extents[] = {n(c, 14), n(c, 10), n(c, 12), n(c, 5), n(c, 3), n(c, 3)};
    tile_result(c, tile_stage(c, 3, 3, extents, (const char *[]){"oc", "oh", "ow", "ic", "kh", "kw"}, tile_mul(c, value, weight)));
}
/* relu(x[b, c, h, w] * s[c] + t[c]) in front of a convolution of 1 x 1 taps, from a copy of its rows; `by_column`: s is one number a column
 * instead, and the lines are no longer alike */
static void scaled_1x1(tile_case *c, opf_dim batch, opf_dim channels, opf_dim h, opf_dim w, int64_t oc, bool by_column) {
    opf_dim extents[] = {batch, channels, h, w}, many = by_column ? w : channels;
    int x = tile_input(c, "x", false, 4, extents), weights = tile_input(c, "w", true, 2, (opf_dim[]){n(c, oc), channels});
    int s = tile_input(c, "s", false, 1, &many), t = tile_input(c, "t", false, 1, &channels);
    const opf_expr *scaled = tile_mul(c, tile_load_same(c, x, 4), tile_load(c, s, 1, (const opf_expr *[]){tile_var(c, by_column ? 3 : 1)}));
    const opf_expr *shifted = add(c, scaled, tile_load(c, t, 1, (const opf_expr *[]){tile_var(c, 1)}));
    int front = tile_stage(c, 4, 0, extents, (const char *[]){"b", "c", "h", "w"}, relu(c, shifted));
    const opf_expr *value = tile_load(c, front, 4, (const opf_expr *[]){tile_var(c, 0), tile_var(c, 4), tile_var(c, 2), tile_var(c, 3)});
    const opf_expr *weight = tile_load(c, weights, 2, (const opf_expr *[]){tile_var(c, 1), tile_var(c, 4)});
    opf_dim points[] = {batch, n(c, oc), h, w, channels};
    int sum = tile_stage(c, 4, 1, points, (const char *[]){"b", "oc", "oh", "ow", "ic"}, tile_mul(c, value, weight));
    tile_result(c, same(c, sum, relu(c, tile_load_same(c, sum, 4))));
}
static void scaled_1x1_small(tile_case *c) { scaled_1x1(c, n(c, 1), n(c, 40), n(c, 7), n(c, 7), 22, false); }
static void scaled_1x1_wide(tile_case *c) { scaled_1x1(c, n(c, 2), n(c, 36), n(c, 19), n(c, 23), 37, false); }
static void scaled_1x1_deep(tile_case *c) { scaled_1x1(c, n(c, 1), n(c, 1100), n(c, 6), n(c, 11), 18, false); }
/* a few columns behind the last whole vector, in a copy of more than L2 */
static void scaled_1x1_extra(tile_case *c) { scaled_1x1(c, n(c, 1), n(c, 2048), n(c, 14), n(c, 14), 24, false); }
static void scaled_1x1_symbolic(tile_case *c) { scaled_1x1(c, s(c, "N", 2), n(c, 24), s(c, "H", 9), s(c, "W", 13), 20, false); }
static void scaled_1x1_by_column(tile_case *c) { scaled_1x1(c, n(c, 1), n(c, 24), n(c, 9), n(c, 13), 20, true); }
static void product_prologue(tile_case *c) {
    opf_dim m = n(c, 22), k = n(c, 301), columns = n(c, 41);
    int a = tile_input(c, "a", false, 2, (opf_dim[]){m, k}), scale = tile_input(c, "s", false, 1, (opf_dim[]){k}), b = tile_input(c, "b", false, 2, (opf_dim[]){columns, k});
    int left = tile_stage(c, 2, 0, (opf_dim[]){m, k}, (const char *[]){"m", "k"}, tile_mul(c, tile_load_same(c, a, 2), tile_load(c, scale, 1, (const opf_expr *[]){tile_var(c, 1)})));
    int right = tile_stage(c, 2, 0, (opf_dim[]){columns, k}, (const char *[]){"n", "k"}, relu(c, tile_load_same(c, b, 2)));
    const opf_expr *body = tile_mul(c, tile_load(c, left, 2, (const opf_expr *[]){tile_var(c, 0), tile_var(c, 2)}), tile_load(c, right, 2, (const opf_expr *[]){tile_var(c, 1), tile_var(c, 2)}));
    tile_result(c, tile_stage(c, 2, 1, (opf_dim[]){m, columns, k}, (const char *[]){"m", "n", "k"}, body));
}
/* heads taken out of one tensor by index maps: q[t, h * 8 + d] * k[u, h * 8 + d] */
static void attention_scores(tile_case *c) {
    opf_dim tokens = n(c, 19);
    int qkv = tile_input(c, "qkv", false, 2, (opf_dim[]){tokens, n(c, 72)});
    const opf_expr *column = opf_add(c->pool, opf_mul(c->pool, tile_var(c, 0), n(c, 8)), tile_var(c, 3));
    const opf_expr *q = tile_load(c, qkv, 2, (const opf_expr *[]){tile_var(c, 1), column});
    const opf_expr *k = tile_load(c, qkv, 2, (const opf_expr *[]){tile_var(c, 2), opf_add(c->pool, column, n(c, 24))});
    int sum = tile_stage(c, 3, 1, (opf_dim[]){n(c, 3), tokens, tokens, n(c, 8)}, (const char *[]){"h", "t", "u", "d"}, tile_mul(c, q, k));
    tile_result(c, same(c, sum, tile_mul(c, tile_load_same(c, sum, 3), real(c, 0.125))));
}

/* Transposed convolution, stride 2: y[oc, oh, ow] = sum x[ic, (oh + pad) / 2 - t, …] * w[ic, oc, (oh + pad) % 2 + 2 t, …] */
static void transposed(tile_case *c, opf_dim h, opf_dim w, int64_t oc, int64_t taps, int64_t pad) {
    opf_pool *pool = c->pool;
    opf_dim ic = n(c, 7), two = n(c, 2), sizes[2] = {h, w};
    int x = tile_input(c, "x", false, 3, (opf_dim[]){ic, h, w}), weights = tile_input(c, "w", true, 4, (opf_dim[]){ic, n(c, oc), n(c, 2 * taps), n(c, 2 * taps)});
    const opf_expr *x_at[3] = {opf_var(pool, 3)}, *w_at[4] = {opf_var(pool, 3), opf_var(pool, 0)}, *inside = NULL;
    for (int k = 0; k < 2; k++) {
        const opf_expr *out = opf_add(pool, opf_var(pool, 1 + k), n(c, pad)), *tap = taps == 1 ? n(c, 0) : opf_var(pool, 4 + k);
        x_at[1 + k] = opf_sub(pool, opf_floordiv(pool, out, two), tap);
        w_at[2 + k] = opf_add(pool, opf_floormod(pool, out, two), opf_mul(pool, tap, two));
        if (taps == 1) continue;
        const opf_expr *here = opf_binary(pool, OPF_OP_AND, opf_binary(pool, OPF_OP_LE, n(c, 0), x_at[1 + k]), opf_binary(pool, OPF_OP_LT, x_at[1 + k], sizes[k]));
        inside = inside ? opf_binary(pool, OPF_OP_AND, inside, here) : here;
    }
    const opf_expr *value = tile_load(c, x, 3, x_at);
    if (inside) value = opf_select(pool, inside, value, real(c, 0));
    opf_dim extents[] = {n(c, oc), opf_mul(pool, h, two), opf_mul(pool, w, two), ic, n(c, taps), n(c, taps)};
    int sum = tile_stage(c, 3, 3, extents, (const char *[]){"oc", "oh", "ow", "ic", "th", "tw"}, tile_mul(c, value, tile_load(c, weights, 4, w_at)));
    tile_result(c, same(c, sum, relu(c, tile_load_same(c, sum, 3))));
}
static void transposed_2x2(tile_case *c) { transposed(c, n(c, 9), n(c, 11), 5, 1, 0); }
static void transposed_2x2_symbolic(tile_case *c) { transposed(c, s(c, "H", 9), s(c, "W", 11), 5, 1, 0); }
static void transposed_4x4(tile_case *c) { transposed(c, n(c, 9), n(c, 11), 6, 2, 1); }
/* the heads of an attention, put beside each other on the way: a[h, m, k % 8] with h = k / 8 */
static void heads_joined(tile_case *c) {
    int a = tile_input(c, "a", false, 3, (opf_dim[]){n(c, 4), n(c, 19), n(c, 8)}), b = tile_input(c, "b", true, 2, (opf_dim[]){n(c, 32), n(c, 45)});
    const opf_expr *k = tile_var(c, 2), *eight = n(c, 8);
    const opf_expr *left = tile_load(c, a, 3, (const opf_expr *[]){opf_floordiv(c->pool, k, eight), tile_var(c, 0), opf_floormod(c->pool, k, eight)});
    const opf_expr *right = tile_load(c, b, 2, (const opf_expr *[]){k, tile_var(c, 1)});
    tile_result(c, tile_stage(c, 2, 1, (opf_dim[]){n(c, 19), n(c, 45), n(c, 32)}, (const char *[]){"m", "n", "k"}, tile_mul(c, left, right)));
}

#define ROW(f) {#f, f}
static const row rows[] = {
    ROW(matmul), ROW(matmul_odd), ROW(matmul_deep), ROW(matmul_weights), ROW(matmul_symbolic), ROW(matmul_empty_sum), ROW(matmul_nothing), ROW(matmul_rows_symbolic),
    ROW(matmul_transposed), ROW(matmul_transposed_odd), ROW(gemm_constants), ROW(vector_matrix), ROW(few_rows), ROW(batched),
    ROW(batched_transposed), ROW(batch_of_rows), ROW(shared_left), ROW(batch_of_constants),
    ROW(conv_1x1_extra), ROW(conv_1x1_extra_deep), ROW(conv_1x1_extra_many), ROW(conv_1x1_extra_square), ROW(matmul_extra), ROW(batched_extra), ROW(conv_1x1_wide_symbolic),
    ROW(conv_1x1), ROW(conv_1x1_stride), ROW(conv_3x3), ROW(conv_3x3_no_pad), ROW(conv_3x3_stride), ROW(conv_3x3_dilated), ROW(conv_backwards),
    ROW(conv_turned_stride), ROW(conv_turned_deep), ROW(conv_turned_dilated), ROW(conv_turned_backwards), ROW(conv_turned_stride_3),
    ROW(conv_apart), ROW(conv_apart_dilated), ROW(conv_apart_backwards),
    ROW(conv_dilated_strided), ROW(conv_5x5_stride_3), ROW(conv_stem), ROW(conv_stride_beyond_kernel), ROW(conv_small_map), ROW(conv_groups),
    ROW(conv_batch), ROW(conv_symbolic), ROW(conv_1x1_symbolic), ROW(conv_runtime_weights), ROW(conv_deep), ROW(conv_row_kernel),
    ROW(conv_column_kernel), ROW(conv_1d), ROW(conv_epilogue), ROW(conv_1x1_epilogue), ROW(matmul_gelu), ROW(conv_1x1_by_column),
    ROW(conv_prologue), ROW(product_prologue), ROW(scaled_1x1_small), ROW(scaled_1x1_wide), ROW(scaled_1x1_deep), ROW(scaled_1x1_extra),
    ROW(scaled_1x1_symbolic), ROW(scaled_1x1_by_column), ROW(attention_scores), ROW(transposed_2x2),
    ROW(transposed_2x2_symbolic), ROW(transposed_4x4), ROW(heads_joined),
};

/* ---- the check ---- */

static void check_all(const char *machine, const char *compiler, const char *more) {
    tile_case *cases[OPF_COUNT(rows)];
    for (size_t i = 0; i < OPF_COUNT(rows); i++) {
        const char *why = "";
        cases[i] = tile_case_new();
        rows[i].build(cases[i]);
        if (!tile_schedule(cases[i], machine, &why)) fail_msg("%s: %s", rows[i].name, why);
    }
    assert_true(tile_compile(cases, OPF_COUNT(rows), compiler, more));
    for (size_t i = 0; i < OPF_COUNT(rows); i++) {
        check_case(rows[i].name, cases[i], 3e-6);
        tile_case_free(cases[i]);
    }
}

static void every_instruction_set(void **state) {
    (void)state;
    bool has_clang = system("clang --version > /dev/null 2>&1") == 0;
    for (size_t i = 0; i < opf_machine_count(); i++) {
        const opf_machine *machine = opf_machine_at(i);
        if (!opf_machine_runs(machine)) continue;
        check_all(machine->name, "cc", "");
        if (has_clang) check_all(machine->name, "clang", "");
        has_clang = false; /* once: the other rows differ in numbers only */
    }
}

/* What is no contraction is left to other schedules, with a reason. */
static void depthwise(tile_case *c) { tile_result(c, CONV(CONV_SIZES(8, 9, 9, 8, 3), .pad = 1, .groups = 8)); }
static void squares(tile_case *c) {
    int x = tile_input(c, "x", false, 2, (opf_dim[]){n(c, 9), n(c, 30)});
    const opf_expr *v = tile_load_same(c, x, 2);
    tile_result(c, tile_stage(c, 1, 1, (opf_dim[]){n(c, 9), n(c, 30)}, (const char *[]){"m", "k"}, tile_mul(c, v, v)));
}
static void plain_sum(tile_case *c) {
    int x = tile_input(c, "x", false, 2, (opf_dim[]){n(c, 9), n(c, 30)});
    tile_result(c, tile_stage(c, 1, 1, (opf_dim[]){n(c, 9), n(c, 30)}, (const char *[]){"m", "k"}, tile_load_same(c, x, 2)));
}
static void outer_product(tile_case *c) { PRODUCT(.m = n(c, 30), .n = n(c, 30), .k = n(c, 2)); }
static void refused(void **state) {
    (void)state;
    const row others[] = {ROW(depthwise), ROW(squares), ROW(plain_sum), ROW(outer_product)};
    for (size_t i = 0; i < OPF_COUNT(others); i++) {
        tile_case *c = tile_case_new();
        const char *why = NULL;
        others[i].build(c);
        assert_false(tile_schedule(c, "generic", &why));
        assert_non_null(why);
        assert_null(c->nest.tile);
        tile_case_free(c);
    }
}

/* A handful of steps asks for nothing. */
static void asks_ahead(void **state) {
    (void)state;
    static const struct { int64_t depth; opf_ahead ahead; } lengths[] = {{16, OPF_AHEAD_NONE}, {64, OPF_AHEAD_STEPS}, {512, OPF_AHEAD_STEPS}};
    for (size_t i = 0; i < OPF_COUNT(lengths); i++) {
        tile_case *c = tile_case_new();
        const char *why = NULL;
        PRODUCT(.m = n(c, 64), .n = n(c, 3072), .k = n(c, lengths[i].depth));
        assert_true(tile_schedule(c, "x86-64-v4", &why));
        assert_int_equal(c->nest.chosen.at[OPF_KNOB_AHEAD], lengths[i].ahead);
        tile_case_free(c);
    }
}

/* Copies for each tap, where lines would waste many columns otherwise, and only there. */
static void apart(void **state) {
    (void)state;
    const struct { void (*build)(tile_case *c); bool apart; } windows[] = {
        {conv_apart, true}, {conv_apart_dilated, true}, {conv_apart_backwards, true}, {conv_3x3_stride, false}, {conv_symbolic, false}};
    for (size_t i = 0; i < OPF_COUNT(windows); i++) {
        tile_case *c = tile_case_new();
        const char *why = NULL;
        windows[i].build(c);
        assert_true(tile_schedule(c, "x86-64-v4", &why));
        const opf_tile *tile = c->nest.tile;
        assert_int_equal(tile->windows[1].apart, windows[i].apart);
        assert_true(!windows[i].apart || tile->pitch == tile->axes[tile->windows[1].column].extent);
        tile_case_free(c);
    }
}

/* Vectors along the rows of a window's weights: where registers are few, sizes known and weights constant. */
static void turned(void **state) {
    (void)state;
    const struct { void (*build)(tile_case *c); const char *machine; int columns, vectors; } windows[] = {
        {conv_turned_stride, "x86-64-v3", 6, 2}, {conv_turned_deep, "x86-64-v3", 4, 3}, {conv_turned_dilated, "x86-64-v3", 6, 2}, {conv_turned_backwards, "x86-64-v3", 6, 2},
        {conv_turned_stride, "x86-64-v4", 0, 0}, {conv_turned_stride, "generic", 0, 0}, {conv_runtime_weights, "x86-64-v3", 0, 0}, {conv_symbolic, "x86-64-v3", 0, 0}};
    for (size_t i = 0; i < OPF_COUNT(windows); i++) {
        tile_case *c = tile_case_new();
        const char *why = NULL;
        windows[i].build(c);
        assert_true(tile_schedule(c, windows[i].machine, &why));
        const opf_tile *tile = c->nest.tile;
        assert_int_equal(tile->turned, windows[i].columns);
        if (tile->turned) assert_int_equal(tile->height, windows[i].vectors * c->nest.machine->lanes);
        tile_case_free(c);
    }
}

/* Lines and columns of each phase, with the phases between them, read windows of one copy: no copy a tap. */
static void transposed_window(void **state) {
    (void)state;
    tile_case *c = tile_case_new();
    const char *why = NULL;
    transposed_4x4(c);
    assert_true(tile_schedule(c, "x86-64-v4", &why));
    const opf_tile *tile = c->nest.tile;
    assert_int_equal(tile->n_column, 2);
    assert_int_equal(tile->n_outer, 2);
    for (int k = 0; k < 2; k++) assert_true(tile->windows[k].tap >= 0 && tile->windows[k].backwards && tile->windows[k].phases == 1);
    tile_case_free(c);
}

/* 49 columns are three vectors of 16 and one of whose sums each tile of rows has a vector; 55 are four. */
static void extra_columns(void **state) {
    (void)state;
    static const struct { int64_t columns; int extra; } wanted[] = {{49, 1}, {100, 4}, {196, 4}, {55, 0}, {64, 0}, {784, 0}};
    for (size_t i = 0; i < OPF_COUNT(wanted); i++) {
        tile_case *c = tile_case_new();
        const char *why = NULL;
        PRODUCT(.m = n(c, 96), .n = n(c, wanted[i].columns), .k = n(c, 64), .a_constant = true);
        assert_true(tile_schedule(c, "x86-64-v4", &why));
        assert_int_equal(c->nest.tile->extra, wanted[i].extra);
        assert_true(!wanted[i].extra || !c->nest.tile->packs_tail);
        tile_case_free(c);
    }
}

/* A tile stores the sums of its extra columns at one place, behind its panel: nothing may cut the columns, however large the copy of B. */
static void extra_columns_are_not_cut(void **state) {
    (void)state;
    static const int64_t depths[] = {16, 256, 600, 1000, 1300, 2048, 5000}, widths[] = {33, 81, 129, 193, 225, 241, 244};
    int extra = 0;
    for (size_t m = 0; m < opf_machine_count(); m++)
        for (size_t i = 0; i < OPF_COUNT(depths) * OPF_COUNT(widths); i++) {
            int64_t columns = widths[i % OPF_COUNT(widths)], known = 0;
            tile_case *c = tile_case_new();
            const char *why = NULL;
            scaled_1x1(c, n(c, 1), n(c, depths[i / OPF_COUNT(widths)]), n(c, 1), n(c, columns), 64, false);
            if (tile_schedule(c, opf_machine_at(m)->name, &why) && c->nest.tile->extra) {
                extra++;
                assert_true(opf_is_int(c->nest.tile->column_chunk, &known) && known >= columns);
                assert_true(c->nest.tile->block_columns >= columns);
            }
            tile_case_free(c);
        }
    assert_true(extra > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extra_columns), cmocka_unit_test(extra_columns_are_not_cut),
        cmocka_unit_test(refused),
        cmocka_unit_test(asks_ahead),
        cmocka_unit_test(transposed_window),
        cmocka_unit_test(apart),
        cmocka_unit_test(turned),
        cmocka_unit_test(every_instruction_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
