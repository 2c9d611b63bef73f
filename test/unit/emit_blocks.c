/* Nests in blocks of rows: attentions with random sizes, layouts, scales and masks, the same with rows so long that the softmax
 * goes by blocks of columns, with columns that whole blocks of rows need not look at, and contractions with the normalisation of their rows. Every kernel against a naive evaluation, in buffers that end at a wall, for one part and for three.
 *
 *   unit_emit_blocks [first seed] [number of seeds]      says which seed it was that failed */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel_case.h"

enum { CASES_A_FILE = 40 };

typedef struct maker { uint32_t seed; opf_text inputs, stages; bool symbolic[8]; int size[8]; } maker;

typedef enum attention_kind { SHORT_ROWS, LONG_ROWS, MASKED_ROWS } attention_kind;

/* The sizes: batch, heads, queries, keys, channels, channels of values. */
static const char letters[] = "BHMNDE";

static int pick(maker *m, int count) { return (int)(next_random(&m->seed) % (uint32_t)count); }
static bool one_in(maker *m, int count) { return pick(m, count) == 0; }

static const char *extent(const maker *m, int letter) {
    static char text[8][16];
    if (m->symbolic[letter]) snprintf(text[letter], sizeof text[0], "%c", letters[letter]);
    else snprintf(text[letter], sizeof text[0], "%d", m->size[letter]);
    return text[letter];
}

/* `long_rows`: so many keys at nominal sizes that a row of scores is long; the runs have some, which fill and exceed the small blocks
 * of columns of the small machine. */
static void random_sizes(maker *m, bool long_rows) {
    static const int most[] = {2, 3, 70, 70, 40, 40};
    for (int k = 0; k < 6; k++) {
        m->size[k] = 1 + pick(m, most[k]);
        if (k > 1 && one_in(m, 3)) m->size[k] = 16 * (1 + pick(m, 3));
        m->symbolic[k] = one_in(m, 3);
        if (k == 3 && long_rows) {
            m->symbolic[k] = true;
            opf_text_printf(&m->inputs, "size %c nominal 65536 %d 16 %d 0\n", letters[k], m->size[k], 32 + pick(m, 40));
        } else if (m->symbolic[k]) opf_text_printf(&m->inputs, "size %c %d %d 1 %d\n", letters[k], m->size[k] < 8 && k > 1 ? 16 : m->size[k], m->size[k], 1 + pick(m, most[k]));
    }
}

/* An operand of three or four axes in any order: its declaration; the load at the indices given by letter. */
static void operand(maker *m, char name, const char *axes, opf_text *load, const char *const *at) {
    int order[4], n = (int)strlen(axes);
    for (int k = 0; k < n; k++) order[k] = k;
    if (one_in(m, 2))
        for (int k = n - 1; k > 0; k--) {
            int other = pick(m, k + 1), keep = order[k];
            order[k] = order[other], order[other] = keep;
        }
    opf_text_printf(&m->inputs, "in %c float32 [", name);
    opf_text_printf(load, "%c[", name);
    for (int k = 0; k < n; k++) {
        int letter = (int)(strchr(letters, axes[order[k]]) - letters);
        opf_text_printf(&m->inputs, "%s%s", k ? ", " : "", extent(m, letter));
        opf_text_printf(load, "%s%s", k ? ", " : "", at[letter]);
    }
    opf_text_add(&m->inputs, "]\n");
    opf_text_add(load, "]");
}

static const char *const at_scores[] = {"b", "h", "m", "n", "d", "e"};

static void softmax_stages(maker *m, const char *scores) {
    char domain[96];
    snprintf(domain, sizeof domain, "[b=%s, h=%s, m=%s", extent(m, 0), extent(m, 1), extent(m, 2));
    opf_text_printf(&m->stages, "stage x float32 %s] max [n=%s] : %s\n", domain, extent(m, 3), scores);
    opf_text_printf(&m->stages, "stage p float32 %s, n=%s] : exp((%s) - x[b, h, m])\n", domain, extent(m, 3), scores);
    opf_text_printf(&m->stages, "stage z float32 %s] sum [n=%s] : p[b, h, m, n]\n", domain, extent(m, 3));
}

/* The result as it is, merged with its heads, or with something added. */
static void finish(maker *m) {
    switch (pick(m, 3)) {
    case 0:
        opf_text_printf(&m->stages, "stage y float32 [b=%s, m=%s, c=%s * %s] : o[b, floordiv(c, %s), m, floormod(c, %s)]\nout y\n", extent(m, 0), extent(m, 2), extent(m, 1),
                        extent(m, 5), extent(m, 5), extent(m, 5));
        break;
    case 1:
        opf_text_printf(&m->inputs, "in r float32 [%s]\n", extent(m, 5));
        opf_text_printf(&m->stages, "stage y float32 [b=%s, h=%s, m=%s, e=%s] : max(o[b, h, m, e] + r[e], 0)\nout y\n", extent(m, 0), extent(m, 1), extent(m, 2),
                        extent(m, 5));
        break;
    default: opf_text_add(&m->stages, "out o\n");
    }
}

static char *whole(maker *m) {
    opf_text_add(&m->inputs, opf_text_string(&m->stages));
    opf_text_free(&m->stages);
    return m->inputs.data;
}

/* Scores that are -inf beyond a diagonal. */
static const char *const masked_scores[] = {"m >= n ? s[b, h, m, n] : -inf", "n > m + 3 ? -inf : s[b, h, m, n] * 0.25", "m - 4 >= n ? s[b, h, m, n] / 3 : -inf",
                                            "m + 2 > n ? tanh(s[b, h, m, n]) : -inf"};

/* In one case of two the operand is infinite, no number, or very large at some places, which may be masked: `where` says so of a number.
 * Not as large as float32 goes: products of 3e38 overflow to infinities of both signs there and make a NaN, where the naive evaluation,
 * which is in double, has none. */
static void spoil(maker *m, opf_text *operand, const char *where) {
    static const char *const by[] = {"-inf", "inf", "0 / 0.0", "1e30"};
    if (one_in(m, 2)) return;
    opf_text spoilt = {0};
    opf_text_printf(&spoilt, "(%s %d ? %s : %s)", where, pick(m, 40), by[pick(m, 4)], operand->data);
    opf_text_free(operand);
    *operand = spoilt;
}

static char *attention(uint32_t seed, attention_kind kind) {
    bool long_rows = kind == LONG_ROWS;
    static const char *const scores[] = {"s[b, h, m, n]", "s[b, h, m, n] * 0.25", "s[b, h, m, n] / 3 + a[b, n]", "m + 5 >= n ? s[b, h, m, n] : -1000", "tanh(s[b, h, m, n]) + a[b, n]",
                                         "m > n ? s[b, h, m, n] : -inf", "n >= 20 ? s[b, h, m, n] : -inf", "n == 17 ? 40 * s[b, h, m, n] : s[b, h, m, n]"};
    maker m = {.seed = seed * 7919u + 17u};
    for (int i = 0; i < 8; i++) next_random(&m.seed);
    opf_text q = {0}, k = {0}, v = {0};
    random_sizes(&m, long_rows);
    const char *score = kind == MASKED_ROWS ? masked_scores[pick(&m, 4)] : scores[pick(&m, long_rows ? 8 : 5)], *at_values[] = {"b", "h", "m", "n", "d", "e"};
    operand(&m, 'q', "BHMD", &q, at_scores);
    operand(&m, 'k', one_in(&m, 3) ? "BND" : "BHND", &k, at_scores);
    operand(&m, 'v', "BHNE", &v, at_values);
    if (kind == MASKED_ROWS) {
        spoil(&m, &k, "n ==");
        spoil(&m, &v, one_in(&m, 2) ? "n ==" : "n + e ==");
    }
    opf_text_printf(&m.inputs, "in a float32 [%s, %s]\n", extent(&m, 0), extent(&m, 3));
    opf_text_printf(&m.stages, "stage s float32 [b=%s, h=%s, m=%s, n=%s] sum [d=%s] : %s%s * %s\n", extent(&m, 0), extent(&m, 1), extent(&m, 2), extent(&m, 3), extent(&m, 4),
                    q.data, one_in(&m, 3) ? " * 0.5" : "", k.data);
    softmax_stages(&m, score);
    opf_text_printf(&m.stages, "stage o float32 [b=%s, h=%s, m=%s, e=%s] sum [n=%s] : %s * %s\n", extent(&m, 0), extent(&m, 1), extent(&m, 2), extent(&m, 5), extent(&m, 3),
                    one_in(&m, 4) ? "p[b, h, m, n]" : "p[b, h, m, n] / z[b, h, m]", v.data);
    finish(&m);
    if (kind == SHORT_ROWS && one_in(&m, 4)) opf_text_printf(&m.stages, "out %s\n", one_in(&m, 2) ? "s" : "p"); /* which the blocks keep for themselves */
    opf_text_free(&q);
    opf_text_free(&k);
    opf_text_free(&v);
    return whole(&m);
}

static char *random_attention(uint32_t seed) { return attention(seed, SHORT_ROWS); }
static char *long_attention(uint32_t seed) { return attention(seed, LONG_ROWS); }
static char *masked_attention(uint32_t seed) { return attention(seed, MASKED_ROWS); }

/* A product, a function, perhaps a second product, a normalisation of rows. */
static char *random_layers(uint32_t seed) {
    maker m = {.seed = seed * 104729u + 5u};
    for (int i = 0; i < 8; i++) next_random(&m.seed);
    random_sizes(&m, false);
    const char *b = extent(&m, 0), *rows = extent(&m, 2), *n = extent(&m, 3), *d = extent(&m, 4), *e = extent(&m, 5);
    bool second = one_in(&m, 2), norm = !second || one_in(&m, 2);
    opf_text_printf(&m.inputs, "in x float32 [%s, %s, %s]\nin w float32 [%s, %s]\nin u float32 [%s]\n", b, rows, d, d, n, n);
    opf_text_printf(&m.stages, "stage s float32 [b=%s, m=%s, n=%s] sum [d=%s] : x[b, m, d] * w[d, n]\n", b, rows, n, d);
    opf_text_printf(&m.stages, "stage t float32 [b=%s, m=%s, n=%s] : %s\n", b, rows, n, one_in(&m, 2) ? "tanh(s[b, m, n] + u[n])" : "s[b, m, n] + u[n]");
    const char *wide = second ? e : n, *value = second ? "o" : "t";
    if (second) {
        opf_text_printf(&m.inputs, "in v float32 [%s, %s]\n", e, n);
        opf_text_printf(&m.stages, "stage o float32 [b=%s, m=%s, e=%s] sum [n=%s] : t[b, m, n] * v[e, n]\n", b, rows, e, n);
    }
    if (norm) {
        opf_text_printf(&m.stages, "stage l float32 [b=%s, m=%s] max [k=%s] : %s[b, m, k]\n", b, rows, wide, value);
        opf_text_printf(&m.stages, "stage y float32 [b=%s, m=%s, k=%s] : %s[b, m, k] - l[b, m]\nout y\n", b, rows, wide, value);
    } else {
        opf_text_add(&m.stages, "out o\n");
    }
    return whole(&m);
}

static opf_machine machine = {.name = "test", .flags = "", .lanes = 4, .vectors = 16, .l1_bytes = 32768, .l2_bytes = 524288, .l3_bytes = 8388608,
                              .flops_per_second = 1e11, .l1_bandwidth = 2e11, .l2_bandwidth = 1e11, .l3_bandwidth = 5e10, .dram_bandwidth = 1e10};

static int products_of(const opf_block *block) {
    int count = 0;
    for (size_t i = 0; i < block->list.count; i++)
        count += (block->list.data[i]->kind == OPF_CODE_PRODUCT) + products_of(&block->list.data[i]->body);
    return count;
}

/* Does the code subtract the largest so far? */
static bool streams(const opf_nest *nest) {
    for (size_t b = 0; b < nest->buffers.count; b++)
        if (nest->buffers.data[b].name && strcmp(nest->buffers.data[b].name, "shift") == 0) return true;
    return false;
}

/* Does the code leave out what is masked? */
static bool leaves_out(const opf_nest *nest) {
    for (size_t k = 0; k < nest->variables.count; k++)
        if (strcmp(nest->variables.data[k].name, "reach") == 0) return true;
    return false;
}

static bool is_as_wanted(const opf_nest *nest, char *(*make)(uint32_t)) {
    return products_of(&nest->code) > 0 && (make != long_attention || streams(nest)) && (make != masked_attention || leaves_out(nest));
}

/* Returns how many of the nests hold products in blocks, of columns too where rows are long, of what is not masked where much is. */
static int run_seeds(uint32_t first, int count, char *(*make)(uint32_t)) {
    static kernel_case cases[CASES_A_FILE];
    static char titles[CASES_A_FILE][32];
    int with_products = 0;
    for (int begin = 0; begin < count; begin += CASES_A_FILE) {
        int n = count - begin < CASES_A_FILE ? count - begin : CASES_A_FILE;
        for (int i = 0; i < n; i++) {
            snprintf(titles[i], sizeof titles[i], "seed %u", first + (uint32_t)(begin + i));
            case_read(&cases[i], titles[i], make(first + (uint32_t)(begin + i)));
            if (opf_nest_schedule(&cases[i].nest, &cases[i].group, &machine) != OPF_OK) case_fail(&cases[i], "no schedule");
            with_products += is_as_wanted(cases[i].nest, make);
        }
        void *library = cases_compile(cases, n, "cc", (const char *const[]){"-O1", "-ftree-vectorize", NULL});
        if (!library) return with_products;
        for (int i = 0; i < n; i++) {
            for (int run = 0; run < cases[i].n_runs; run++) case_run(&cases[i], run);
            free((char *)(uintptr_t)cases[i].text);
            case_free(&cases[i]);
        }
        dlclose(library);
    }
    return with_products;
}

static uint32_t first_seed = 1;
static int seeds = 20;

static void attentions(void **state) {
    (void)state;
    assert_true(run_seeds(first_seed, seeds, random_attention) * 2 >= seeds);
}

static void long_rows(void **state) {
    (void)state;
    machine.l2_bytes = 32768;
    assert_true(run_seeds(first_seed, seeds, long_attention) * 2 >= seeds);
    machine.l2_bytes = 524288;
}

static void masked_rows(void **state) {
    (void)state;
    assert_true(run_seeds(first_seed, seeds, masked_attention) * 2 >= seeds);
}

static void layers(void **state) {
    (void)state;
    assert_true(run_seeds(first_seed, seeds, random_layers) * 2 >= seeds);
}

int main(int argc, char **argv) {
    if (argc > 1) first_seed = (uint32_t)strtoul(argv[1], NULL, 10);
    if (argc > 2) seeds = atoi(argv[2]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(attentions), cmocka_unit_test(long_rows), cmocka_unit_test(masked_rows), cmocka_unit_test(layers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
