/* Convolutions by Winograd's products against a naive evaluation: both forms, tiles that the map does not fill, no padding,
 * padding on one side, batches, groups, symbolic sizes, epilogues and prologues; every instruction set that this CPU runs, the
 * same bits for any number of parts. And which convolutions are refused, with what reason. */
#include "tile_check.h"
#include "loop/winograd.h"

static opf_dim n(tile_case *c, int64_t value) { return opf_int(c->pool, value); }

#define CONV(...) tile_add_conv(c, &(tile_conv){.kh = 3, .kw = 3, __VA_ARGS__})
#define SIZES(ic_, h_, w_, oc_) .ic = n(c, ic_), .h = n(c, h_), .w = n(c, w_), .oc = oc_

static int same(tile_case *c, int tensor, const opf_expr *body) {
    const opf_stage *stage = c->group.stages.list.data[tensor - (int)c->group.stages.inputs.count];
    return tile_stage(c, stage->n_axes, 0, stage->extents, stage->axis_names, body);
}
static const opf_expr *add(tile_case *c, const opf_expr *a, const opf_expr *b) { return opf_binary(c->pool, OPF_OP_ADD, a, b); }

static void whole_tiles(tile_case *c) { tile_result(c, CONV(SIZES(64, 8, 16, 64), .pad = 1)); }
static void odd_map(tile_case *c) { tile_result(c, CONV(SIZES(65, 11, 13, 69), .pad = 1)); }
static void wide_map(tile_case *c) { tile_result(c, CONV(SIZES(48, 3, 75, 49), .pad = 1)); }
static void small_map(tile_case *c) { tile_result(c, CONV(SIZES(96, 7, 7, 96), .pad = 1)); }
static void no_pad(tile_case *c) { tile_result(c, CONV(SIZES(64, 10, 15, 64))); }
static void wide_pad(tile_case *c) { tile_result(c, CONV(SIZES(64, 8, 13, 64), .pad = 2)); }
static void batch(tile_case *c) { tile_result(c, CONV(.n = n(c, 2), SIZES(64, 4, 15, 64), .pad = 1)); }
static void groups(tile_case *c) { tile_result(c, CONV(SIZES(96, 8, 15, 96), .pad = 1, .groups = 2)); }
static void backwards(tile_case *c) { tile_result(c, CONV(SIZES(64, 9, 15, 64), .pad = 1, .backwards = true)); }
static void symbolic(tile_case *c) {
    tile_result(c, CONV(.n = tile_symbol(c, "N", 2), .ic = n(c, 48), .h = tile_symbol_of(c, "H", 9, 64), .w = tile_symbol_of(c, "W", 14, 64), .oc = 50, .pad = 1));
}
static void larger_than_nominal(tile_case *c) {
    tile_result(c, CONV(.ic = n(c, 64), .h = tile_symbol_of(c, "H", 6, 4), .w = tile_symbol_of(c, "W", 37, 12), .oc = 65, .pad = 1));
}

/* relu(conv + bias[oc] + residual), the biased sum being a result too */
static void epilogue(tile_case *c) {
    int bias = tile_input(c, "bias", true, 1, (opf_dim[]){n(c, 65)});
    int residual = tile_input(c, "r", false, 4, (opf_dim[]){n(c, 1), n(c, 65), n(c, 7), n(c, 18)});
    int sum = CONV(SIZES(64, 7, 18, 65), .pad = 1);
    int biased = same(c, sum, add(c, tile_load_same(c, sum, 4), tile_load(c, bias, 1, (const opf_expr *[]){tile_var(c, 1)})));
    int all = same(c, biased, add(c, tile_load_same(c, biased, 4), tile_load_same(c, residual, 4)));
    tile_result(c, biased);
    tile_result(c, same(c, all, opf_binary(c->pool, OPF_OP_MAX, tile_load_same(c, all, 4), opf_real(c->pool, OPF_FLOAT32, 0))));
}

/* What is added changes along the column, so that lines are walked one by one. */
static void epilogue_by_column(tile_case *c) {
    int more = tile_input(c, "more", false, 1, (opf_dim[]){n(c, 18)});
    int sum = CONV(SIZES(64, 7, 18, 65), .pad = 1);
    tile_result(c, same(c, sum, add(c, tile_load_same(c, sum, 4), tile_load(c, more, 1, (const opf_expr *[]){tile_var(c, 3)}))));
}

typedef struct row { const char *name; void (*build)(tile_case *c); } row;
#define ROW(f) {#f, f}
static const row rows[] = {
    ROW(whole_tiles), ROW(odd_map), ROW(wide_map), ROW(small_map), ROW(no_pad), ROW(wide_pad), ROW(batch), ROW(groups), ROW(backwards), ROW(symbolic), ROW(larger_than_nominal),
    ROW(epilogue), ROW(epilogue_by_column),
};

/* ---- results ---- */

static float **expected[OPF_COUNT(rows)]; /* the same for every machine: inputs are seeded */

static void check_all(const char *machine, opf_accuracy accuracy, int most_outputs) {
    tile_case *cases[OPF_COUNT(rows)];
    int largest = 0;
    for (size_t i = 0; i < OPF_COUNT(rows); i++) {
        const char *why = "";
        cases[i] = tile_case_new();
        cases[i]->module->accuracy = accuracy;
        rows[i].build(cases[i]);
        if (!tile_schedule(cases[i], machine, &why)) fail_msg("%s: %s", rows[i].name, why);
        int outputs = cases[i]->nest.tile->winograd;
        if (!outputs || outputs > most_outputs) fail_msg("%s, %s: %s", machine, rows[i].name, cases[i]->nest.schedule);
        if (outputs > largest) largest = outputs;
    }
    assert_int_equal(largest, most_outputs);
    assert_true(tile_compile(cases, OPF_COUNT(rows), "cc", ""));
    for (size_t i = 0; i < OPF_COUNT(rows); i++) {
        if (!expected[i]) expected[i] = tile_evaluate(cases[i], &cases[i]->group.stages, cases[i]->inputs);
        check_results(rows[i].name, cases[i], expected[i], cases[i]->nest.tile->winograd == 2 ? 3e-6 : 6e-6);
        tile_case_free(cases[i]);
    }
}

static void every_instruction_set(void **state) {
    (void)state;
    for (size_t i = 0; i < opf_machine_count(); i++) {
        if (!opf_machine_runs(opf_machine_at(i))) continue;
        check_all(opf_machine_at(i)->name, OPF_ACCURACY_NORMAL, 4);
        if (i == 0) check_all(opf_machine_at(i)->name, OPF_ACCURACY_TIGHT, 2); /* the other rows differ in numbers only */
    }
}

static int free_all(void **state) {
    (void)state;
    for (size_t i = 0; i < OPF_COUNT(rows); i++) {
        if (!expected[i]) continue;
        tile_case *c = tile_case_new();
        rows[i].build(c);
        free_expected(c, expected[i]);
        tile_case_free(c);
    }
    return 0;
}

/* ---- refusals ---- */

static void stride(tile_case *c) { tile_result(c, CONV(SIZES(32, 16, 24, 40), .pad = 1, .stride = 2)); }
static void dilation(tile_case *c) { tile_result(c, CONV(SIZES(32, 16, 24, 40), .pad = 2, .dilation = 2)); }
static void few_channels(tile_case *c) { tile_result(c, CONV(SIZES(1, 56, 56, 16), .pad = 1)); }
static void weights_of_a_run(tile_case *c) { tile_result(c, CONV(SIZES(32, 16, 24, 40), .pad = 1, .runtime = true)); }

/* ---- which form ---- */

static void small_map_many_channels(tile_case *c) { tile_result(c, CONV(SIZES(64, 13, 13, 256), .pad = 1)); }

/* Four times the weights pay on a small map where the model's constants are few enough to stay in the last cache, and not where
 * each run reads them from memory. */
static void weights_from_memory(void **state) {
    (void)state;
    for (int large = 0; large < 2; large++) {
        tile_case *c = tile_case_new();
        const char *why = "";
        if (large) {
            static const opf_use somewhere;
            int others = tile_input(c, "others", true, 2, (opf_dim[]){opf_int(c->pool, 4096), opf_int(c->pool, 4096)});
            OPF_PUSH(c->arena, &c->group.stages.inputs.data[others]->uses, somewhere);
        }
        small_map_many_channels(c);
        assert_true(tile_schedule(c, "x86-64-v4", &why));
        assert_int_equal(c->nest.tile->winograd, large ? 2 : 4);
        tile_case_free(c);
    }
}

static void refused(void **state) {
    (void)state;
    const struct { row row; opf_accuracy accuracy; const char *why; } others[] = {
        {ROW(stride), OPF_ACCURACY_NORMAL, "winograd: stride 2"},
        {ROW(dilation), OPF_ACCURACY_NORMAL, "winograd: dilation 2"},
        {ROW(few_channels), OPF_ACCURACY_NORMAL, "winograd: "},
        {ROW(weights_of_a_run), OPF_ACCURACY_NORMAL, "winograd: "},
        {ROW(whole_tiles), OPF_ACCURACY_EXACT, "winograd: --accuracy=exact"},
    };
    for (size_t i = 0; i < OPF_COUNT(others); i++) {
        tile_case *c = tile_case_new();
        const char *why = "";
        c->module->accuracy = others[i].accuracy;
        others[i].row.build(c);
        assert_true(tile_schedule(c, "generic", &why));
        assert_int_equal(c->nest.tile->winograd, 0);
        if (!strstr(c->nest.schedule, others[i].why)) fail_msg("%s: %s", others[i].row.name, c->nest.schedule);
        tile_case_free(c);
    }
}

/* ---- the filters ---- */

/* Three inputs that are 1 at one place each give the filter back: y_k = sum over i of p_i^k u_i v_i, in double. */
static void forms_are_identities(void **state) {
    (void)state;
    for (int outputs = 2; outputs <= 4; outputs += 2) {
        const opf_winograd_form *form = opf_winograd_form_of(outputs);
        int finite = form->inputs - 1;
        for (int at = 0; at < form->inputs; at++)     /* the input is 1 here, else 0 */
            for (int tap = 0; tap < 3; tap++)         /* and so is the filter */
                for (int k = 0; k < outputs; k++) {
                    double y = 0;
                    for (int i = 0; i < form->inputs; i++) {
                        double polynomial[8] = {1}; /* coefficients of the product over the other points */
                        int degree = 0;
                        for (int j = 0; j < finite; j++) {
                            if (j == i) continue;
                            for (int d = ++degree; d >= 0; d--) polynomial[d] = (d ? polynomial[d - 1] : 0) - form->points[j] * polynomial[d];
                        }
                        double power = i == finite ? k == outputs - 1 : pow(form->points[i], k);
                        y += power * opf_winograd_filter(form, i, tap) * polynomial[at];
                    }
                    assert_true(fabs(y - (at == k + tap)) < 1e-12);
                }
    }
    assert_null(opf_winograd_form_of(3));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_identities),
        cmocka_unit_test(refused),
        cmocka_unit_test(weights_from_memory),
        cmocka_unit_test(every_instruction_set),
    };
    return cmocka_run_group_tests(tests, NULL, free_all);
}
