/* Contractions with random shapes, strides, pads, groups, constants, symbolic sizes and epilogues against a naive evaluation.
 *   OPF_SEED=N unit_emit_tile_random     another seed; prints it where something is wrong */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tile_case.h"

enum { CASES = 28 };

static uint64_t state_of_random;

static int64_t between(int64_t low, int64_t high) {
    state_of_random ^= state_of_random << 13;
    state_of_random ^= state_of_random >> 7;
    state_of_random ^= state_of_random << 17;
    return low + (int64_t)(state_of_random % (uint64_t)(high - low + 1));
}
static bool one_in(int64_t n) { return between(1, n) == 1; }

/* A size, now and then known only when the kernel runs, and then expected to be something else. */
static opf_dim size(tile_case *c, const char *name, int64_t value) {
    return one_in(4) ? tile_symbol_of(c, name, value, one_in(2) ? value : between(1, 80)) : opf_int(c->pool, value);
}

static int add_conv(tile_case *c, int64_t outputs, int64_t groups) {
    int64_t kh = between(1, 5), kw = between(1, 5), dilation = between(1, 2), high = (kh - 1) * dilation + 1, wide = (kw - 1) * dilation + 1;
    return tile_add_conv(c, &(tile_conv){.n = size(c, "N", between(1, 3)), .ic = opf_int(c->pool, groups * between(1, 12)),
                                         .h = size(c, "H", between(high, high + 20)), .w = size(c, "W", between(wide, wide + 40)), .oc = outputs,
                                         .kh = kh, .kw = kw, .stride = between(1, 3), .pad = between(0, 3), .dilation = dilation,
                                         .groups = groups, .runtime = one_in(3)});
}

static int add_product(tile_case *c, opf_dim columns, bool batch) {
    bool a_constant = one_in(4);
    return tile_add_product(c, &(tile_product){.batch = batch ? size(c, "B", between(1, 3)) : NULL, .m = size(c, "M", between(1, 60)), .n = columns,
                                               .k = size(c, "K", between(1, 500)), .a_constant = a_constant, .b_constant = !a_constant && one_in(2),
                                               .a_transposed = one_in(2), .b_transposed = one_in(2), .a_shared = batch && one_in(4), .b_shared = batch && one_in(2)});
}

static int same(tile_case *c, int tensor, const opf_expr *body) {
    const opf_stage *stage = c->group.stages.list.data[tensor - (int)c->group.stages.inputs.count];
    return tile_stage(c, stage->n_axes, 0, stage->extents, stage->axis_names, body);
}

/* Nothing; + bias; relu(+ bias); both as results. */
static void build(tile_case *c) {
    int epilogue = (int)between(0, 3), bias = -1;
    bool conv = one_in(2), batch = one_in(2);
    int64_t groups = one_in(4) ? between(2, 3) : 1, outputs = groups * between(1, 20);
    opf_dim columns = size(c, "C", between(1, 120)), walked = conv ? opf_int(c->pool, outputs) : columns;
    if (epilogue) bias = tile_input(c, "bias", true, 1, &walked);
    int sum = conv ? add_conv(c, outputs, groups) : add_product(c, columns, batch), rank = conv ? 4 : 2 + batch;
    if (epilogue) {
        const opf_expr *along = opf_var(c->pool, conv ? 1 : rank - 1);
        sum = same(c, sum, opf_binary(c->pool, OPF_OP_ADD, tile_load_same(c, sum, rank), tile_load(c, bias, 1, &along)));
        if (epilogue == 3) tile_result(c, sum);
        if (epilogue > 1) sum = same(c, sum, opf_binary(c->pool, OPF_OP_MAX, tile_load_same(c, sum, rank), opf_real(c->pool, OPF_FLOAT32, 0)));
    }
    tile_result(c, sum);
}

/* An operand's load; its axes, the last two perhaps exchanged, start with the batch where it has one. */
typedef struct lying { int input, rank; const opf_expr *at[3]; } lying;

static lying operand(tile_case *c, const char *name, bool constant, opf_dim batch, opf_dim first, opf_dim second, int v_first, int v_second, bool turned) {
    lying l = {.rank = 2 + (batch != NULL)};
    opf_dim dims[3] = {batch, turned ? second : first, turned ? first : second};
    const opf_expr *at[3] = {opf_var(c->pool, 0), opf_var(c->pool, turned ? v_second : v_first), opf_var(c->pool, turned ? v_first : v_second)};
    memcpy(l.at, at + 3 - l.rank, (size_t)l.rank * sizeof *at);
    l.input = tile_input(c, name, constant, l.rank, dims + 3 - l.rank);
    return l;
}

/* Two to four products of one operand: each a result, or joined. */
static void build_sums(tile_case *c) {
    bool batch = one_in(2), joined = one_in(2), constant = one_in(2), shared = !batch || one_in(2);
    int count = (int)between(2, 4), rank = 2 + batch, m = batch, n = batch + 1, k = batch + 2;
    opf_dim b = batch ? size(c, "B", between(1, 3)) : NULL, rows = size(c, "M", between(2, 40)), columns = size(c, "C", between(8, 90));
    opf_dim depth = size(c, "K", between(4, 300)), extents[4] = {b, rows, columns, depth};
    static const char *const names[] = {"b", "m", "n", "k"};
    lying first = operand(c, "a", false, b, rows, depth, m, k, one_in(3)), second[4];
    static const char *const seconds[] = {"b", "c", "d", "e"};
    for (int i = 0; i < count; i++) second[i] = operand(c, seconds[i], constant, shared ? NULL : b, depth, columns, k, n, constant && one_in(3));
    int bias = tile_input(c, "bias", true, 1, &columns), sums[4];
    for (int i = 0; i < count; i++)
        sums[i] = tile_stage(c, rank, 1, extents + !batch, names + !batch,
                             tile_mul(c, tile_load(c, first.input, first.rank, first.at), tile_load(c, second[i].input, second[i].rank, second[i].at)));
    const opf_expr *along = opf_var(c->pool, rank - 1), *all = NULL;
    for (int i = 0; i < count; i++) {
        const opf_expr *sum = tile_load_same(c, sums[i], rank);
        if (i) sum = opf_binary(c->pool, OPF_OP_ADD, sum, tile_load(c, bias, 1, &along));
        all = all && joined ? tile_mul(c, all, sum) : sum;
        if (!joined) tile_result(c, i ? same(c, sums[i], all) : sums[0]);
    }
    if (joined) tile_result(c, same(c, sums[0], all));
}

static void check_result(const char *schedule, const float *got, const float *expected, size_t count) {
    double largest = 1e-3, worst = 0;
    for (size_t i = 0; i < count; i++) {
        if (fabs((double)expected[i]) > largest) largest = fabs((double)expected[i]);
        double error = fabs((double)got[i] - (double)expected[i]);
        if (!(error <= worst)) worst = error;
    }
    if (!(worst <= 4e-6 * largest)) fail_msg("%s: error %g, largest value %g", schedule, worst, largest);
}

static void check_case(tile_case *c) {
    float **expected = tile_evaluate(c, &c->group.stages, c->inputs);
    tile_buffers b = tile_buffers_new(c, 3, false);
    for (int parts = 1; parts <= 3; parts += 2) {
        for (int k = 0; k < b.n_results; k++) memset(b.p[b.first_result + k], 0xff, b.result_bytes[k]);
        tile_run(c, &b, parts);
        for (int k = 0; k < b.n_results; k++)
            check_result(c->nest.schedule, b.p[b.first_result + k], expected[(int)c->group.stages.inputs.count + c->group.results.data[k].stage], b.result_bytes[k] / 4);
    }
    for (size_t i = 0; i < c->group.stages.list.count; i++) free(expected[c->group.stages.inputs.count + i]);
    free(expected);
    tile_buffers_free(&b);
}

static void random_contractions(void **state) {
    (void)state;
    const char *given = getenv("OPF_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : 1;
    for (size_t m = 0; m < opf_machine_count(); m++) {
        const opf_machine *machine = opf_machine_at(m);
        if (!opf_machine_runs(machine)) continue;
        tile_case *cases[CASES];
        int n = 0;
        state_of_random = (seed * 16 + m + 1) * UINT64_C(0x9e3779b97f4a7c15);
        for (int i = 0; i < CASES; i++) {
            const char *why = "";
            cases[n] = tile_case_new();
            (i % 4 == 3 ? build_sums : build)(cases[n]);
            if (tile_schedule(cases[n], machine->name, &why)) n++;
            else tile_case_free(cases[n]);
        }
        print_message("seed %llu, %s: %d contractions\n", (unsigned long long)seed, machine->name, n);
        assert_true(n > CASES / 2);
        assert_true(tile_compile(cases, n, "cc", ""));
        for (int i = 0; i < n; i++) {
            check_case(cases[i]);
            tile_case_free(cases[i]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_contractions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
