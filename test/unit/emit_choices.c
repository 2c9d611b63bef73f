/* Every choice of a schedule, one at a time: each value that a kernel takes gives right numbers, the same bits where it says so, and
 * the same code when what was chosen is asked for again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel_case.h"

typedef struct written_case { const char *title, *text; } written_case;

static const written_case written[] = {
    {"one long loop", "size N 3000 1 0 71\n in x float32 [N]\n stage y float32 [n=N] : x[n] * 2 + 1\n out y"},
    {"a chain of known size", "in x float32 [7, 5, 90]\n in b float32 [5]\n stage y float32 [n=7, c=5, k=90] : max(x[n, c, k] + b[c], 0)\n out y"},
    {"several functions",
     "size N 3 1 2\n in x float32 [N, 700]\n stage a float32 [n=N, k=700] : exp(x[n, k]) + 1\n stage y float32 [n=N, k=700] : tanh(a[n, k]) * erf(x[n, k])\n out y"},
    {"a map over four axes", "in x float32 [3, 4, 5, 40]\n in b float32 [4]\n in d float32 [5, 3]\n in e float32 [40, 3]\n stage y float32 [n=3, c=4, h=5, k=40] : x[n, c, h, k] * b[c] + d[h, n] * e[k, n]\n out y"},
    {"concat", "in a float32 [6, 3, 80]\n in b float32 [6, 4, 80]\n stage y float32 [n=6, c=7, k=80] : c < 3 ? a[n, c, k] : b[n, c - 3, k] + 1\n out y"},
    {"concat of the last axis", "in a float32 [30, 100]\n in b float32 [30, 117]\n stage y float32 [n=30, k=217] : k < 100 ? max(a[n, k], 0) : b[n, k - 100]\n out y"},
    {"three results of several types",
     "size N 40 1 0\n in x float32 [N, 90]\n stage a uint8 [n=N, k=90] : x[n, k] < 0 ? 1 : 2\n stage b int32 [n=N, k=90] : x[n, k] < 1 ? 5 : 7\n stage y float32 [n=N, k=90] : abs(x[n, k])\n"
     " out a\n out b\n out y"},
    {"softmax of rows",
     "size N 40 1 0\n in x float32 [N, 130]\n stage m float32 [n=N, o=1] max [k=130] : x[n, k]\n stage e float32 [n=N, k=130] : exp(x[n, k] - m[n, 0])\n"
     " stage s float32 [n=N, o=1] sum [k=130] : e[n, k]\n stage y float32 [n=N, k=130] : e[n, k] / s[n, 0]\n out y"},
    {"softmax of the middle axis",
     "size N 2 1 0\n size S 130 1 600\n in x float32 [N, 6, S]\n stage m float32 [n=N, o=1, i=S] max [c=6] : x[n, c, i]\n stage e float32 [n=N, c=6, i=S] : exp(x[n, c, i] - m[n, 0, i])\n"
     " stage s float32 [n=N, o=1, i=S] sum [c=6] : e[n, c, i]\n stage y float32 [n=N, c=6, i=S] : e[n, c, i] / s[n, 0, i]\n out y"},
    {"layer norm",
     "size N 15 1 0\n in x float32 [N, 96]\n in g float32 [96]\n stage s float32 [n=N] sum [k=96] : x[n, k]\n stage m float32 [n=N] : s[n] / 96\n"
     " stage d float32 [n=N, k=96] : x[n, k] - m[n]\n stage q float32 [n=N] sum [k=96] : d[n, k] * d[n, k]\n"
     " stage y float32 [n=N, k=96] : d[n, k] / sqrt(q[n] / 96 + 1e-5) * g[k]\n out y"},
    {"transpose", "size A 50 1 0 33\n size B 70 4 3 65\n in x float32 [A, B]\n stage y float32 [b=B, a=A] : x[a, b] * 2\n out y"},
    {"transpose of four axes", "size N 2 1 0\n in x float32 [N, 3, 40, 5]\n stage y float32 [n=N, a=5, b=3, c=40] : x[n, b, c, a]\n out y"},
    {"a window of three by three",
     "in x float32 [4, 20, 70]\n in w float32 [4, 3, 3]\n stage p float32 [c=4, h=22, j=72] : 1 <= h && h < 21 && 1 <= j && j < 71 ? x[c, h - 1, j - 1] : 0\n"
     " stage y float32 [c=4, h=20, j=70] sum [a=3, b=3] : p[c, h + a, j + b] * w[c, a, b]\n out y"},
    {"largest of windows with a stride", "in x float32 [6, 21, 71]\n stage y float32 [c=6, h=10, j=35] max [a=3, b=3] : x[c, h * 2 + a, j * 2 + b]\n out y"},
    {"product of matrices",
     "size M 37 1 0 16 46\n in a float32 [M, 50]\n in b float32 [50, 70]\n in c float32 [70]\n stage s float32 [m=M, n=70] sum [k=50] : a[m, k] * b[k, n]\n"
     " stage y float32 [m=M, n=70] : max(s[m, n] + c[n], 0)\n out y"},
    {"product with a transposed operand", "size M 37 1 0\n in a float32 [M, 50]\n in b float32 [70, 50]\n stage y float32 [m=M, n=70] sum [k=50] : a[m, k] * b[n, k]\n out y"},
    {"convolution",
     "in x float32 [12, 15, 17]\n in w float32 [20, 12, 3, 3]\n in b float32 [20]\n"
     " stage s float32 [o=20, h=15, j=17] sum [c=12, p=3, q=3] : w[o, c, p, q] * (1 <= h + p && h + p < 16 && 1 <= j + q && j + q < 18 ? x[c, h + p - 1, j + q - 1] : 0)\n"
     " stage y float32 [o=20, h=15, j=17] : max(s[o, h, j] + b[o], 0)\n out y"},
    {"depth-wise, then point-wise",
     "in x float32 [2, 7, 24, 20]\n in w float32 [7, 3, 3]\n in u float32 [10, 7]\n in d float32 [10]\n"
     " stage s float32 [n=2, c=7, h=24, v=20] sum [p=3, q=3] : (1 <= h + p && h + p < 25 && 1 <= v + q && v + q < 21 ? x[n, c, h + p - 1, v + q - 1] : 0) * w[c, p, q]\n"
     " stage a float32 [n=2, c=7, h=24, v=20] : min(max(s[n, c, h, v], 0), 6)\n"
     " stage t float32 [n=2, o=10, h=24, v=20] sum [c=7] : a[n, c, h, v] * u[o, c]\n stage y float32 [n=2, o=10, h=24, v=20] : t[n, o, h, v] + d[o]\n out y"},
    {"attention",
     "size S 40 1 17\n in q float32 [2, S, 16]\n in k float32 [2, S, 16]\n in v float32 [2, S, 16]\n stage d float32 [h=2, i=S, j=S] sum [c=16] : q[h, i, c] * k[h, j, c]\n"
     " stage t float32 [h=2, i=S, j=S] : d[h, i, j] * 0.25\n stage m float32 [h=2, i=S] max [j=S] : t[h, i, j]\n stage e float32 [h=2, i=S, j=S] : exp(t[h, i, j] - m[h, i])\n"
     " stage s float32 [h=2, i=S] sum [j=S] : e[h, i, j]\n stage p float32 [h=2, i=S, j=S] : e[h, i, j] / s[h, i]\n"
     " stage y float32 [h=2, i=S, c=16] sum [j=S] : p[h, i, j] * v[h, j, c]\n out y"},
};

enum { WRITTEN = sizeof written / sizeof *written, MOST_CASES = 700 };

/* key=value, one choice a line; those that come in pairs stand together. */
static const char *const asked[] = {
    "algorithm=tile", "algorithm=bands", "algorithm=rows", "algorithm=loops", /* Winograd's products need constants: emit_winograd.c */
    "tile_rows=1 tile_vectors=1", "tile_rows=5 tile_vectors=2", "tile_rows=3 tile_vectors=3", "depth_pass=all", "depth_pass=8", "depth_pass=20",
    "block_rows=4", "block_rows=12", "block_columns=8", "block_columns=24", "unit_rows=4", "unit_rows=12", "unit_columns=1", "unit_columns=4", "unit_columns=24",
    "order=rows-fastest", "order=columns-fastest", "unroll=1", "unroll=4", "prefetch=none", "prefetch=128", "ahead=none", "ahead=panel", "ahead=steps",
    "rows=1", "rows=4", "rows=9", "chunk=16", "chunk=100", "chunk=1024", "share=1", "share=100", "transpose=on", "transpose=off", "split=on", "split=off",
    "second=in-place", "second=packed", "attach=1", "attach=2", "outermost=2", "outermost=3", "innermost=2", "innermost=3", "innermost=2 outermost=2",
    "stores=cached", "stores=non-temporal", "stores=non-temporal chunk=64", "stores=non-temporal chunk=1024",
};
enum { ASKED = sizeof asked / sizeof *asked };

/* A last cache of a kilobyte: every result is larger. */
static const opf_machine machine = {.name = "test", .flags = "", .lanes = 4, .vectors = 16, .l1_bytes = 32768, .l2_bytes = 524288, .l3_bytes = 1024,
                                    .flops_per_second = 1e11, .l1_bandwidth = 2e11, .l2_bandwidth = 1e11, .l3_bandwidth = 5e10, .dram_bandwidth = 1e10};

static kernel_case cases[MOST_CASES];
static int usual[MOST_CASES]; /* the same group by the heuristic */
static int n_cases;
static bool taken[ASKED];     /* some kernel takes it */

static char *body_of(const opf_nest *nest) {
    opf_text text = {0};
    if (opf_emit_kernel_body(nest, &text) != OPF_OK) abort();
    return text.data;
}

/* Asking for all that was chosen gives the same code. */
static void check_chosen(const kernel_case *c) {
    opf_nest *again;
    const char *why = NULL;
    if (!opf_nest_schedule_as(&again, &c->group, &machine, &c->nest->chosen, &why)) case_fail(c, "what was chosen is refused: %s", why);
    char *a = body_of(c->nest), *b = body_of(again);
    if (strcmp(a, b) != 0) case_fail(c, "other code for what was chosen:\n%s\nand\n%s", a, b);
    free(a);
    free(b);
}

static bool is_new(const kernel_case *c, int from) {
    char *body = body_of(c->nest);
    bool found = false;
    for (int i = from; i < n_cases && !found; i++) {
        char *other = body_of(cases[i].nest);
        found = strcmp(body, other) == 0;
        free(other);
    }
    free(body);
    return !found;
}

static void add_choices(const written_case *w, int base) {
    for (int a = 0; a < ASKED; a++) {
        kernel_case *c = &cases[n_cases];
        opf_schedule wanted;
        const char *why = NULL;
        case_read(c, opf_arena_printf(cases[base].arena, "%s, %s", w->title, asked[a]), w->text);
        if (opf_schedule_parse(&wanted, asked[a], c->arena)) case_fail(c, "is no choice");
        bool applies = opf_nest_schedule_as(&c->nest, &c->group, &machine, &wanted, &why);
        if (!applies && (!why || !*why)) case_fail(c, "refused without a reason");
        taken[a] |= applies;
        if (applies) check_chosen(c);
        if (!applies || !is_new(c, base)) {
            case_free(c);
            continue;
        }
        usual[n_cases++] = base;
        if (n_cases == MOST_CASES) case_fail(c, "too many");
    }
}

static int set_up(void **state) {
    (void)state;
    for (int i = 0; i < WRITTEN; i++) {
        int base = n_cases++;
        usual[base] = base;
        case_read(&cases[base], written[i].title, written[i].text);
        if (opf_nest_schedule(&cases[base].nest, &cases[base].group, &machine) != OPF_OK) return 1;
        check_chosen(&cases[base]);
        add_choices(&written[i], base);
    }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (int i = 0; i < n_cases; i++) case_free(&cases[i]);
    return 0;
}

/* Results of run `run`, one buffer each. */
static void results_of(const kernel_case *c, int run, walled *results) {
    naive n = {.c = c};
    for (int i = 0; i < c->n_sizes; i++) n.symbols[c->sizes[i]->index] = c->values[i][run];
    for (int i = 0; i < (int)c->group.stages.inputs.count; i++) naive_input(&n, i, 77u + 31u * (uint32_t)i + (uint32_t)run);
    case_call(&n, 1, results);
    for (size_t i = 0; i < c->group.stages.inputs.count; i++) walled_free(&n.tensors[i]);
}

static void check_bits(const kernel_case *c, const kernel_case *base, int run) {
    walled own[MOST_TENSORS], others[MOST_TENSORS];
    if (!opf_schedule_same_bits(&c->nest->chosen, &base->nest->chosen)) return;
    results_of(c, run, own);
    results_of(base, run, others);
    for (size_t i = 0; i < c->group.results.count; i++) {
        if (memcmp(own[i].data, others[i].data, own[i].bytes) != 0) case_fail(c, "other bits than the heuristic's in result %zu of run %d", i, run);
        walled_free(&own[i]);
        walled_free(&others[i]);
    }
}

static void run_all(const char *compiler, const char *const *flags) {
    void *library = cases_compile(cases, n_cases, compiler, flags);
    if (!library) {
        print_message("%s is not there: skipped\n", compiler);
        return;
    }
    for (int i = 0; i < n_cases; i++)
        for (int run = 0; run < cases[i].n_runs; run++) {
            case_run(&cases[i], run);
            check_bits(&cases[i], &cases[usual[i]], run);
        }
    dlclose(library);
}

static void every_choice_is_taken(void **state) {
    (void)state;
    for (int a = 0; a < ASKED; a++)
        if (!taken[a]) fail_msg("no kernel takes %s", asked[a]);
    opf_schedule schedules[ASKED];
    opf_arena *arena = opf_arena_new();
    bool seen[OPF_KNOBS] = {[OPF_KNOB_CUT] = true, [OPF_KNOB_LANES] = true, [OPF_KNOB_COMPILER] = true}; /* of the group, and of the compilation */
    for (int a = 0; a < ASKED; a++) {
        assert_null(opf_schedule_parse(&schedules[a], asked[a], arena));
        for (int k = 0; k < OPF_KNOBS; k++) seen[k] |= schedules[a].at[k] != 0;
    }
    for (int k = 0; k < OPF_KNOBS; k++)
        if (!seen[k]) fail_msg("%s is not tried", opf_knob_name((opf_knob)k));
    opf_arena_free(arena);
}

static void with_gcc(void **state) {
    (void)state;
    run_all("gcc", (const char *const[]){"-O2", NULL});
}

static void with_clang(void **state) {
    (void)state;
    run_all("clang", (const char *const[]){"-O1", NULL});
}

int main(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]); /* one of them */
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_choice_is_taken), cmocka_unit_test(with_gcc), cmocka_unit_test(with_clang)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
