/* One candidate beside the heuristic's kernel, in a process of its own: nothing here is freed. */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/order.h"
#include "opf_threads.h"
#include "run/runner.h"
#include "tune/race_internal.h"

enum { FEWEST_TURNS = 5, MOST_SECONDS = 20, SWEEP = 8 << 20, HOPELESS_TURNS = 4 };
static const double HOPELESS = 1.4, WORK_OF_PART = 30000; /* opf_main.h */

/* One nest, ready to be called. */
typedef struct callable {
    const opf_nest *nest;
    opf_kernel kernel;
    opf_args args;
    int parts;
} callable;

typedef struct runnable {
    int count;
    callable calls[OPF_MOST_CHAIN];
    void **results;
} runnable;

typedef struct child {
    const opf_race_call *call;
    opf_arena *arena;
    opf_threads *threads;
    char *sweep;
    size_t sweep_bytes;
} child;

const char *opf_race_table(int number, opf_arena *arena) { return opf_arena_printf(arena, "opf_candidate_%d", number); }

static void *memory(size_t bytes) {
    void *block = opf_runner_memory(bytes ? bytes : 1);
    if (!block) _exit(1);
    memset(block, 0, bytes);
    return block;
}

/* ---- making ready ---- */

static size_t evaluated(const child *c, opf_dim dim) {
    int64_t value;
    return opf_dim_eval(dim, c->call->tunable->symbols, &value) && value > 0 ? (size_t)value : 0;
}

/* Where a value of the chain lies: an operand of the kernel, one of its results, or what the first half leaves for the second. */
static void *place_of(const child *c, runnable *r, int half, const opf_value *value) {
    const opf_tunable *t = c->call->tunable;
    for (size_t i = 0; i < t->group->stages.inputs.count; i++)
        if (strcmp(t->group->stages.inputs.data[i]->name, value->name) == 0) return (void *)(uintptr_t)t->inputs[i].data;
    for (size_t k = 0; k < t->group->results.count; k++)
        if (strcmp(t->group->results.data[k].value->name, value->name) == 0) return r->results[k];
    for (int h = 0; h < half; h++) {
        const opf_group *before = r->calls[h].nest->group;
        for (size_t k = 0; k < before->results.count; k++)
            if (strcmp(before->results.data[k].value->name, value->name) == 0) return r->calls[h].args.p[before->stages.inputs.count + k];
    }
    return NULL;
}

static void *result_place(const child *c, runnable *r, int half, const opf_result *result) {
    void *place = place_of(c, r, half, result->value);
    if (place) return place;
    opf_dim elements = opf_stage_elements(r->calls[half].nest->group->stages.list.data[result->stage], r->calls[half].nest->pool);
    return memory(opf_dtype_bytes(result->value->dtype, (int64_t)evaluated(c, elements)));
}

static int parts_of(const child *c, const opf_nest *nest) {
    double worth = 1 + (nest->flops + (double)nest->bytes) / WORK_OF_PART;
    size_t units = evaluated(c, nest->units);
    int parts = opf_threads_count(c->threads);
    if ((size_t)parts > units) parts = (int)units;
    if ((double)parts > worth) parts = (int)worth;
    return parts < 1 ? 1 : parts;
}

/* Packs a constant as the program's `prepare` does. */
static void *packed(opf_kernel pack, const void *constant, const opf_packed *what) {
    void **p = memory(2 * sizeof *p);
    p[0] = (void *)(uintptr_t)constant;
    p[1] = memory((size_t)what->bytes);
    pack(&(opf_args){.p = p}, 0, 1);
    return p[1];
}

/* Takes the functions of one nest from the table: those that pack, then the kernel. */
static void ready(const child *c, runnable *r, int half, const opf_kernel *functions) {
    callable *call = &r->calls[half];
    const opf_nest *nest = call->nest;
    const opf_group *group = nest->group;
    size_t n = group->stages.inputs.count, m = group->results.count, at = 0;
    void **p = memory((n + m + nest->packed.count + 1) * sizeof *p);
    for (; at < n; at++) p[at] = place_of(c, r, half, group->stages.inputs.data[at]);
    for (size_t k = 0; k < m; k++) p[at++] = result_place(c, r, half, &group->results.data[k]);
    for (size_t k = 0; k < nest->packed.count; k++) p[at++] = packed(functions[k], p[nest->packed.data[k].input], &nest->packed.data[k]);
    const opf_symbol *const *symbols;
    int n_symbols = opf_nest_symbols(nest, &symbols);
    int64_t *d = memory((size_t)(n_symbols + 1) * sizeof *d);
    for (int k = 0; k < n_symbols; k++) d[k] = c->call->tunable->symbols[symbols[k]->index];
    size_t stride = (evaluated(c, nest->scratch_bytes) + 63) / 64 * 64;
    call->parts = parts_of(c, nest);
    call->kernel = functions[nest->packed.count];
    call->args = (opf_args){.p = p, .d = d, .scratch = memory(stride * (size_t)call->parts), .scratch_stride = stride};
}

static runnable open_candidate(const child *c, const char *object, const opf_candidate *candidate, int number) {
    const opf_tunable *t = c->call->tunable;
    runnable r = {.count = candidate->n_nests};
    void *handle = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    const opf_kernel *functions = handle ? (const opf_kernel *)dlsym(handle, opf_race_table(number, c->arena)) : NULL;
    if (!functions) _exit(1);
    r.results = memory((t->group->results.count + 1) * sizeof *r.results);
    for (size_t k = 0; k < t->group->results.count; k++) r.results[k] = memory(t->result_bytes[k]);
    for (int half = 0; half < r.count; half++) {
        r.calls[half].nest = candidate->nests[half];
        ready(c, &r, half, functions);
        functions += candidate->nests[half]->packed.count + 1;
    }
    return r;
}

/* ---- running ---- */

static void run(const child *c, const runnable *r) {
    for (int half = 0; half < r->count; half++) {
        const callable *call = &r->calls[half];
        if (call->parts > 1) opf_threads_parallel(c->threads, call->kernel, &call->args, call->parts);
        else call->kernel(&call->args, 0, 1);
    }
}

/* Reads a line of each 64 bytes. */
static char walk(const void *data, size_t bytes) {
    char sum = 0;
    for (size_t i = 0; i < bytes; i += 64) sum = (char)(sum + ((const volatile char *)data)[i]);
    return sum;
}

/* As the other kernels leave the caches. */
static void settle(const child *c) {
    const opf_tunable *t = c->call->tunable;
    walk(c->sweep, c->sweep_bytes);
    for (size_t i = 0; i < t->group->stages.inputs.count; i++)
        if (!t->inputs[i].constant) walk(t->inputs[i].data, t->inputs[i].bytes);
}

static double timed(const child *c, const runnable *r) {
    settle(c);
    int64_t begun = opf_clock_now();
    run(c, r);
    return (double)(opf_clock_now() - begun);
}

static void take_turns(const child *c, const runnable *base, const runnable *own, opf_race_result *out) {
    int most = c->call->turns, done = 0;
    double *ratios = memory((size_t)(most + 1) * sizeof *ratios), least = INFINITY, own_least = INFINITY;
    int64_t begun = opf_clock_now();
    for (; done < most; done++) {
        if (done >= FEWEST_TURNS && opf_clock_now() - begun > c->call->most_nanoseconds) break;
        if (done >= HOPELESS_TURNS && own_least > HOPELESS * least) break;
        double first = done % 2 ? timed(c, own) : timed(c, base), second = done % 2 ? timed(c, base) : timed(c, own);
        double b = done % 2 ? second : first, o = done % 2 ? first : second;
        ratios[done] = o / (b > 0 ? b : 1);
        least = b < least ? b : least;
        own_least = o < own_least ? o : own_least;
    }
    qsort(ratios, (size_t)done, sizeof *ratios, opf_ascending);
    double typical = ratios[done / 2], best = own_least / (least > 0 ? least : 1);
    out->ratio = typical > best ? typical : best; /* both must be better */
}

/* ---- numbers ---- */

static bool same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

/* Each is within its bound of the exact value: so far may they be apart. */
static bool within(const opf_value *value, const void *a, const void *b, const opf_tensor *base, const opf_tensor *own) {
    for (int64_t i = 0; i < base->elements; i++) {
        double x = opf_dtype_load(value->dtype, a, (size_t)i), y = opf_dtype_load(value->dtype, b, (size_t)i);
        double bound = opf_tensor_get(base, i) + opf_tensor_get(own, i);
        if (!same(x, y) && !(isfinite(bound) && fabs(x - y) <= bound)) return false;
    }
    return true;
}

static opf_race_verdict judge(const child *c, const runnable *base, const runnable *own, opf_race_result *out) {
    const opf_tunable *t = c->call->tunable;
    const opf_race_bounds *bounds = c->call->bounds;
    out->same_bits = true;
    for (size_t k = 0; k < t->group->results.count; k++) {
        if (memcmp(base->results[k], own->results[k], t->result_bytes[k]) == 0) continue;
        out->same_bits = false;
        if (opf_group_is_exact(t->group)) return OPF_RACE_WRONG;
        if (!bounds) {
            out->differs = true;
            return OPF_RACE_UNTRIED;
        }
        const opf_tensor *a = bounds->base ? bounds->base[k] : NULL, *b = bounds->own ? bounds->own[k] : NULL;
        if (!a || !b || !within(t->group->results.data[k].value, base->results[k], own->results[k], a, b)) return OPF_RACE_WRONG;
    }
    return OPF_RACE_DONE;
}

void opf_race_measure(const opf_race_call *call, opf_race_result *out) {
    child c = {.call = call, .arena = opf_arena_new()};
    alarm(MOST_SECONDS);
    c.threads = opf_threads_new(call->options->threads);
    c.sweep_bytes = call->options->bytes < SWEEP ? call->options->bytes : SWEEP;
    if (c.sweep_bytes < (size_t)call->options->machine->l2_bytes / 2) c.sweep_bytes = 0; /* all of the model stays close */
    c.sweep = memory(c.sweep_bytes);
    runnable base = open_candidate(&c, call->base_object, call->base, 0), own = open_candidate(&c, call->object, call->candidate, call->number);
    run(&c, &base);
    run(&c, &own);
    opf_race_verdict verdict = judge(&c, &base, &own, out);
    if (verdict == OPF_RACE_DONE) take_turns(&c, &base, &own, out);
    out->verdict = verdict;
}
