/* Random groups of stages: element-wise work, broadcasts, transposes, reshapes, slices, pads, concats, windows, gathers and
 * reductions, piled upon each other, of random and of symbolic sizes. Every kernel against a naive evaluation.
 *
 *   unit_emit_random [first seed] [number of seeds]      says which seed it was that failed */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel_case.h"

enum { MOST_RANK = 4, MOST_MADE = 16, CASES_A_FILE = 60, DIM = 32 };

typedef struct made { char name[8]; int rank; char dims[MOST_RANK][DIM]; } made;

typedef struct maker {
    uint32_t seed;
    opf_text inputs, stages, sizes;
    int n_inputs, n_stages, n_tensors;
    made tensors[MOST_MADE * 2];
    bool is_input[MOST_MADE * 2];
} maker;

/* snprintf that may cut: callers have looked at the lengths. */
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wformat-truncation"
#endif

static int pick(maker *m, int count) { return (int)(next_random(&m->seed) % (uint32_t)count); }

static void random_dim(maker *m, char *dim) {
    static const char *const dims[] = {"1", "2", "3", "5", "7", "8", "16", "17", "20", "33", "N", "N", "M"};
    strcpy(dim, dims[pick(m, (int)(sizeof dims / sizeof *dims))]);
}

static made *new_tensor(maker *m, char letter, int number) {
    made *t = &m->tensors[m->n_tensors++];
    snprintf(t->name, sizeof t->name, "%c%d", letter, number);
    return t;
}

static void print_dims(opf_text *out, const made *t) {
    opf_text_add(out, "[");
    for (int i = 0; i < t->rank; i++) opf_text_printf(out, "%s%s", i ? ", " : "", t->dims[i]);
    opf_text_add(out, "]");
}

static made *add_input(maker *m, int rank, char dims[MOST_RANK][DIM]) {
    made *t = new_tensor(m, 'x', m->n_inputs++);
    t->rank = rank;
    for (int i = 0; i < rank; i++) strcpy(t->dims[i], dims[i]);
    m->is_input[m->n_tensors - 1] = true;
    opf_text_printf(&m->inputs, "in %s float32 ", t->name);
    print_dims(&m->inputs, t);
    opf_text_add(&m->inputs, "\n");
    return t;
}

static made *random_input(maker *m) {
    char dims[MOST_RANK][DIM];
    int rank = 1 + pick(m, MOST_RANK);
    for (int i = 0; i < rank; i++) random_dim(m, dims[i]);
    if (rank == 4) strcpy(dims[0], pick(m, 2) ? "1" : "2");
    return add_input(m, rank, dims);
}

/* "stage s3 float32 [a=…, b=…]" for a tensor of the given dims. */
static made *begin_stage(maker *m, int rank, char dims[MOST_RANK][DIM]) {
    made *t = new_tensor(m, 's', m->n_stages++);
    t->rank = rank;
    opf_text_printf(&m->stages, "stage %s float32 [", t->name);
    for (int i = 0; i < rank; i++) {
        strcpy(t->dims[i], dims[i]);
        opf_text_printf(&m->stages, "%s%c=%s", i ? ", " : "", 'a' + i, dims[i]);
    }
    opf_text_add(&m->stages, "]");
    return t;
}

static void load(opf_text *out, const made *t, const char *const *indices) {
    opf_text_printf(out, "%s[", t->name);
    for (int i = 0; i < t->rank; i++) opf_text_printf(out, "%s%s", i ? ", " : "", indices[i]);
    opf_text_add(out, "]");
}

static const char *const letters[] = {"a", "b", "c", "d", "e", "f", "g", "h"};

static void apply(maker *m, opf_text *out, const made *t, const char *const *indices) {
    static const char *const forms[] = {"%s * 0.5 + 1", "max(%s, 0)", "exp(min(%s, 1))", "tanh(%s)", "sqrt(abs(%s))", "1 / (1 + exp(-(%s)))", "min(max(%s, -1), 2) - 0.25", "abs(%s)", "erf(%s)", "-(%s)"};
    opf_text inner = {0};
    load(&inner, t, indices);
    const char *form = forms[pick(m, (int)(sizeof forms / sizeof *forms))], *at = strstr(form, "%s");
    opf_text_add_n(out, form, (size_t)(at - form));
    opf_text_add(out, inner.data);
    opf_text_add(out, at + 2);
    opf_text_free(&inner);
}

static made *pick_tensor(maker *m) {
    int from = pick(m, 3) && m->n_tensors > 2 ? m->n_tensors - 2 : 0; /* mostly what came last */
    return &m->tensors[from + pick(m, m->n_tensors - from)];
}

static void unary(maker *m, made *t) {
    begin_stage(m, t->rank, t->dims);
    opf_text_add(&m->stages, " : ");
    apply(m, &m->stages, t, letters);
    opf_text_add(&m->stages, "\n");
}

/* With another tensor of the same dims, or one that lacks some of them. */
static void binary(maker *m, made *t) {
    static const char *const joins[] = {" + ", " * ", " - "};
    made *other = NULL;
    for (int i = 0; i < m->n_tensors; i++) {
        made *o = &m->tensors[i];
        bool same = o != t && o->rank == t->rank;
        for (int k = 0; same && k < t->rank; k++) same = strcmp(o->dims[k], t->dims[k]) == 0;
        if (same && pick(m, 2)) other = o;
    }
    const char *indices[MOST_RANK];
    for (int i = 0; i < t->rank; i++) indices[i] = letters[i];
    if (!other) {
        char dims[MOST_RANK][DIM];
        for (int i = 0; i < t->rank; i++) {
            bool one = pick(m, 2);
            strcpy(dims[i], one ? "1" : t->dims[i]);
            if (one) indices[i] = "0";
        }
        other = add_input(m, t->rank, dims);
    }
    begin_stage(m, t->rank, t->dims);
    opf_text_add(&m->stages, " : ");
    apply(m, &m->stages, t, letters);
    opf_text_add(&m->stages, joins[pick(m, 3)]);
    load(&m->stages, other, indices);
    opf_text_add(&m->stages, "\n");
}

static void transpose(maker *m, made *t) {
    int order[MOST_RANK];
    char dims[MOST_RANK][DIM];
    const char *indices[MOST_RANK];
    for (int i = 0; i < t->rank; i++) order[i] = i;
    for (int i = t->rank - 1; i > 0; i--) {
        int j = pick(m, i + 1), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    for (int i = 0; i < t->rank; i++) {
        strcpy(dims[i], t->dims[order[i]]);
        indices[order[i]] = letters[i];
    }
    begin_stage(m, t->rank, dims);
    opf_text_add(&m->stages, " : ");
    load(&m->stages, t, indices);
    opf_text_add(&m->stages, "\n");
}

static bool is_number(const char *dim) { return strspn(dim, "0123456789") == strlen(dim); }

static void multiply_dims(char *out, const char *a, const char *b) {
    if (is_number(a) && is_number(b)) snprintf(out, DIM, "%d", atoi(a) * atoi(b));
    else snprintf(out, DIM, "(%.10s)*(%.10s)", a, b);
}

/* Two neighbouring axes become one. */
static void merge(maker *m, made *t) {
    if (t->rank < 2) return;
    int at = pick(m, t->rank - 1);
    if (strlen(t->dims[at]) + strlen(t->dims[at + 1]) > 12) return;
    char dims[MOST_RANK][DIM], quotient[64], rest[64];
    const char *indices[MOST_RANK];
    for (int i = 0, k = 0; i < t->rank; i++, k++) {
        if (i == at) multiply_dims(dims[k], t->dims[i], t->dims[i + 1]), i++;
        else strcpy(dims[k], t->dims[i]);
    }
    for (int i = 0; i < t->rank; i++) indices[i] = letters[i <= at ? i : i - 1];
    snprintf(quotient, sizeof quotient, "floordiv(%s, %s)", letters[at], t->dims[at + 1]);
    snprintf(rest, sizeof rest, "floormod(%s, %s)", letters[at], t->dims[at + 1]);
    indices[at] = quotient;
    indices[at + 1] = rest;
    begin_stage(m, t->rank - 1, dims);
    opf_text_add(&m->stages, " : ");
    load(&m->stages, t, indices);
    opf_text_add(&m->stages, "\n");
}

/* An axis of even length becomes two. */
static void split(maker *m, made *t) {
    int at = pick(m, t->rank), length = atoi(t->dims[at]);
    if (t->rank == MOST_RANK || length < 2 || length % 2 || strpbrk(t->dims[at], "NM*")) return;
    char dims[MOST_RANK][DIM], index[64];
    const char *indices[MOST_RANK];
    for (int i = 0, k = 0; i < t->rank; i++) {
        indices[i] = letters[i <= at ? i : i + 1];
        if (i == at) {
            snprintf(dims[k++], DIM, "%d", length / 2);
            strcpy(dims[k++], "2");
        }
        if (i != at) strcpy(dims[k++], t->dims[i]);
    }
    snprintf(index, sizeof index, "%s * 2 + %s", letters[at], letters[at + 1]);
    indices[at] = index;
    begin_stage(m, t->rank + 1, dims);
    opf_text_add(&m->stages, " : ");
    load(&m->stages, t, indices);
    opf_text_add(&m->stages, "\n");
}

/* a + b as a dim; numbers are added, since the text form would take their sum for a float. */
static void add_dims(char *out, const char *a, const char *b) {
    char sum[DIM];
    if (is_number(a) && is_number(b)) snprintf(sum, sizeof sum, "%d", atoi(a) + atoi(b));
    else snprintf(sum, sizeof sum, "(%.12s + %.12s)", a, b);
    strcpy(out, sum);
}

static void pad(maker *m, made *t) {
    int at = pick(m, t->rank), before = pick(m, 3), behind = pick(m, 3);
    char dims[MOST_RANK][DIM], index[64];
    const char *indices[MOST_RANK];
    if (strlen(t->dims[at]) > 10) return;
    for (int i = 0; i < t->rank; i++) {
        strcpy(dims[i], t->dims[i]);
        indices[i] = letters[i];
    }
    char more[8];
    snprintf(more, sizeof more, "%d", before + behind);
    add_dims(dims[at], t->dims[at], more);
    snprintf(index, sizeof index, "%s - %d", letters[at], before);
    indices[at] = index;
    begin_stage(m, t->rank, dims);
    opf_text_printf(&m->stages, " : %d <= %s && %s - %d < %s ? ", before, letters[at], letters[at], before, t->dims[at]);
    apply(m, &m->stages, t, indices);
    opf_text_printf(&m->stages, " : %d\n", pick(m, 2));
}

static void concat(maker *m, made *t) {
    int at = pick(m, t->rank);
    char dims[MOST_RANK][DIM], index[64];
    const char *indices[MOST_RANK];
    if (strlen(t->dims[at]) > 8) return;
    for (int i = 0; i < t->rank; i++) strcpy(dims[i], t->dims[i]);
    random_dim(m, dims[at]);
    made *other = add_input(m, t->rank, dims);
    add_dims(dims[at], t->dims[at], dims[at]);
    for (int i = 0; i < t->rank; i++) indices[i] = letters[i];
    begin_stage(m, t->rank, dims);
    opf_text_printf(&m->stages, " : %s < %s ? ", letters[at], t->dims[at]);
    apply(m, &m->stages, t, indices);
    snprintf(index, sizeof index, "%s - %s", letters[at], t->dims[at]);
    indices[at] = index;
    opf_text_add(&m->stages, " : ");
    apply(m, &m->stages, other, indices);
    opf_text_add(&m->stages, "\n");
}

static void reverse(maker *m, made *t) {
    int at = pick(m, t->rank);
    const char *indices[MOST_RANK];
    char index[64];
    for (int i = 0; i < t->rank; i++) indices[i] = letters[i];
    snprintf(index, sizeof index, "%s - %s - 1", t->dims[at], letters[at]);
    indices[at] = index;
    begin_stage(m, t->rank, t->dims);
    opf_text_add(&m->stages, " : ");
    apply(m, &m->stages, t, indices);
    opf_text_add(&m->stages, "\n");
}

/* A mask over two axes. */
static void triangle(maker *m, made *t) {
    if (t->rank < 2) return;
    int one = pick(m, t->rank), other = pick(m, t->rank);
    begin_stage(m, t->rank, t->dims);
    opf_text_printf(&m->stages, " : %s + %d < %s ? ", letters[one], pick(m, 3), letters[other]);
    apply(m, &m->stages, t, letters);
    opf_text_add(&m->stages, pick(m, 2) ? " : 0.5\n" : " : ");
    if (m->stages.data[m->stages.length - 1] == '\n') return;
    apply(m, &m->stages, t, letters);
    opf_text_add(&m->stages, "\n");
}

/* Every second element of an axis of even length. */
static void stride(maker *m, made *t) {
    int at = pick(m, t->rank), length = is_number(t->dims[at]) ? atoi(t->dims[at]) : 0;
    char dims[MOST_RANK][DIM], index[64];
    const char *indices[MOST_RANK];
    if (length < 2 || length % 2) return;
    for (int i = 0; i < t->rank; i++) {
        strcpy(dims[i], t->dims[i]);
        indices[i] = letters[i];
    }
    snprintf(dims[at], DIM, "%d", length / 2);
    snprintf(index, sizeof index, "%s * 2 + %d", letters[at], pick(m, 2));
    indices[at] = index;
    begin_stage(m, t->rank, dims);
    opf_text_add(&m->stages, " : ");
    apply(m, &m->stages, t, indices);
    opf_text_add(&m->stages, "\n");
}

/* Elements of an axis picked by an input of indices. */
static void gather_along(maker *m, made *t) {
    int at = pick(m, t->rank), length = is_number(t->dims[at]) ? atoi(t->dims[at]) : 0, number = m->n_inputs++;
    char dims[MOST_RANK][DIM], index[64];
    const char *indices[MOST_RANK];
    if (length < 1) return;
    for (int i = 0; i < t->rank; i++) {
        strcpy(dims[i], t->dims[i]);
        indices[i] = letters[i];
    }
    random_dim(m, dims[at]);
    opf_text_printf(&m->inputs, "in x%d int64 [%s] below %d\n", number, dims[at], length);
    snprintf(index, sizeof index, "x%d[%s]", number, letters[at]);
    indices[at] = index;
    begin_stage(m, t->rank, dims);
    opf_text_add(&m->stages, " : ");
    apply(m, &m->stages, t, indices);
    opf_text_add(&m->stages, "\n");
}

/* Where the extreme of an axis lies, as a number. */
static void arg_extreme(maker *m, made *t) {
    int at = pick(m, t->rank);
    char dims[MOST_RANK][DIM];
    const char *indices[MOST_RANK];
    int rank = 0;
    if (m->n_stages + 1 >= MOST_MADE) return;
    for (int i = 0; i < t->rank; i++) {
        indices[i] = i == at ? "k" : letters[rank];
        if (i != at) strcpy(dims[rank++], t->dims[i]);
    }
    made source = *t;
    snprintf(m->tensors[m->n_tensors].name, sizeof source.name, "s%d", m->n_stages);
    opf_text_printf(&m->stages, "stage s%d int64 [", m->n_stages);
    for (int i = 0; i < rank; i++) opf_text_printf(&m->stages, "%s%s=%s", i ? ", " : "", letters[i], dims[i]);
    opf_text_printf(&m->stages, "] %s [k=%s] : ", pick(m, 2) ? "argmax" : "argmin_last", source.dims[at]);
    load(&m->stages, &source, indices);
    opf_text_printf(&m->stages, "\nsecond : k\n");
    made index = {.rank = rank};
    snprintf(index.name, sizeof index.name, "s%d", m->n_stages++);
    begin_stage(m, rank, dims);
    opf_text_add(&m->stages, " : float32(");
    load(&m->stages, &index, letters);
    opf_text_add(&m->stages, ") * 0.1\n");
}

/* A window of three along one axis, with borders or without. */
static void window(maker *m, made *t) {
    static const char *const combiners[] = {"sum", "max", "min"};
    int at = pick(m, t->rank), kind = pick(m, 3), taps = 2 + pick(m, 3);
    char index[64];
    const char *indices[MOST_RANK];
    for (int i = 0; i < t->rank; i++) indices[i] = letters[i];
    snprintf(index, sizeof index, "%s + q - 1", letters[at]);
    indices[at] = index;
    begin_stage(m, t->rank, t->dims);
    opf_text_printf(&m->stages, " %s [q=%d] : 1 <= %s + q && %s + q - 1 < %s ? ", combiners[kind], taps, letters[at], letters[at], t->dims[at]);
    load(&m->stages, t, indices);
    opf_text_printf(&m->stages, " : %s\n", kind == 0 ? "0" : kind == 1 ? "-inf" : "inf");
}

/* Some axes reduced; kept as extents of 1 or dropped. */
static void reduce(maker *m, made *t, bool spread) {
    static const char *const combiners[] = {"sum", "max", "min"};
    bool gone[MOST_RANK] = {false}, keep = pick(m, 2);
    const char *indices[MOST_RANK], *back[MOST_RANK];
    char dims[MOST_RANK][DIM];
    int rank = 0, n = 0;
    gone[pick(m, t->rank)] = true;
    if (pick(m, 3) == 0) gone[pick(m, t->rank)] = true;
    for (int i = 0; i < t->rank; i++) {
        if (gone[i] && !keep) continue;
        strcpy(dims[rank], gone[i] ? "1" : t->dims[i]);
        if (!gone[i]) indices[i] = letters[rank];
        back[rank] = gone[i] ? "0" : letters[i];
        rank++;
    }
    made source = *t;
    made *r = begin_stage(m, rank, dims);
    opf_text_printf(&m->stages, " %s [", combiners[pick(m, 3)]);
    for (int i = 0; i < source.rank; i++) {
        if (!gone[i]) continue;
        opf_text_printf(&m->stages, "%s%s=%s", n++ ? ", " : "", letters[4 + i], source.dims[i]);
        indices[i] = letters[4 + i];
    }
    opf_text_add(&m->stages, "] : ");
    apply(m, &m->stages, &source, indices);
    opf_text_add(&m->stages, "\n");
    if (!spread) return;
    made reduced = *r;
    begin_stage(m, source.rank, source.dims);
    opf_text_add(&m->stages, " : ");
    apply(m, &m->stages, &source, letters);
    opf_text_add(&m->stages, pick(m, 2) ? " - " : " * ");
    load(&m->stages, &reduced, back);
    opf_text_add(&m->stages, "\n");
}

static void step(maker *m) {
    made t = *pick_tensor(m);
    if (t.rank == 0) return;
    switch (pick(m, 17)) {
    case 0: case 1: unary(m, &t); break;
    case 2: case 3: binary(m, &t); break;
    case 4: transpose(m, &t); break;
    case 5: merge(m, &t); break;
    case 6: split(m, &t); break;
    case 7: pad(m, &t); break;
    case 8: concat(m, &t); break;
    case 9: reverse(m, &t); break;
    case 10: window(m, &t); break;
    case 11: reduce(m, &t, false); break;
    case 12: triangle(m, &t); break;
    case 13: stride(m, &t); break;
    case 14: gather_along(m, &t); break;
    case 15: arg_extreme(m, &t); break;
    default: reduce(m, &t, true); break;
    }
}

static char *random_case(uint32_t seed) {
    maker m = {.seed = seed * 7919u + 17u};
    for (int i = 0; i < 8; i++) next_random(&m.seed);
    random_input(&m);
    if (pick(&m, 2)) random_input(&m);
    int stages = 2 + pick(&m, 8);
    for (int tries = 0; m.n_stages < stages && tries < 40; tries++) step(&m);
    opf_text text = {0};
    opf_text_add(&text, "size N 6 1 19 0\nsize M 3 4 1 2\n");
    opf_text_add(&text, m.inputs.data);
    opf_text_add(&text, opf_text_string(&m.stages));
    opf_text_printf(&text, "out s%d\n", m.n_stages - 1);
    for (int i = 0; i + 1 < m.n_stages; i++)
        if (pick(&m, 5) == 0) opf_text_printf(&text, "out s%d\n", i);
    opf_text_free(&m.inputs);
    opf_text_free(&m.stages);
    return text.data;
}

static opf_machine machine = {.name = "test", .flags = "", .lanes = 4, .vectors = 16, .l1_bytes = 32768, .l2_bytes = 524288, .l3_bytes = 8388608,
                              .flops_per_second = 1e11, .l1_bandwidth = 2e11, .l2_bandwidth = 1e11, .l3_bandwidth = 5e10, .dram_bandwidth = 1e10};

static void run_seeds(uint32_t first, int count) {
    static kernel_case cases[CASES_A_FILE];
    static char titles[CASES_A_FILE][32];
    for (int begin = 0; begin < count; begin += CASES_A_FILE) {
        int n = count - begin < CASES_A_FILE ? count - begin : CASES_A_FILE;
        for (int i = 0; i < n; i++) {
            snprintf(titles[i], sizeof titles[i], "seed %u", first + (uint32_t)(begin + i));
            char *text = random_case(first + (uint32_t)(begin + i));
            case_read(&cases[i], titles[i], text);
            if (opf_nest_schedule(&cases[i].nest, &cases[i].group, &machine) != OPF_OK) case_fail(&cases[i], "no schedule");
        }
        void *library = cases_compile(cases, n, "cc", (const char *const[]){"-O1", "-ftree-vectorize", NULL});
        if (!library) return;
        for (int i = 0; i < n; i++) {
            for (int run = 0; run < cases[i].n_runs; run++) case_run(&cases[i], run);
            free((char *)(uintptr_t)cases[i].text);
            case_free(&cases[i]);
        }
        dlclose(library);
    }
}

/* Seeds that have found something. */
static const uint32_t remembered[] = {9, 31, 21440};

static uint32_t first_seed = 1;
static int seeds = 177;

static void random_groups(void **state) {
    (void)state;
    run_seeds(first_seed, seeds);
    for (size_t i = 0; i < OPF_COUNT(remembered); i++) run_seeds(remembered[i], 1);
}

int main(int argc, char **argv) {
    if (argc > 1) first_seed = (uint32_t)strtoul(argv[1], NULL, 10);
    if (argc > 2) seeds = atoi(argv[2]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_groups)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
