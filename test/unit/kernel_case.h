/* Groups of stages written as text, their kernels compiled, run and compared with a naive evaluation. One case:
 *
 *   size N 5 1 0                            a symbol and its values, run by run; the first is its nominal size
 *   size N nominal 4096 5 1 0               the same with a nominal size that no run has
 *   in x float32 [N, 64]                    an input; `below 30` behind it: integers 0 … 29; `special`: with NaN and infinities
 *   stage m float32 [n=N] max [k=64] : x[n, k]
 *   stage y float32 [n=N, k=64] : x[n, k] - m[n]
 *   out y
 *
 * A stage's axes and reduce axes name the variables of its body. Pairs have `second : <index>` on the next line.
 * Buffers end at a page that cannot be touched, so that a read or write beyond them is seen. */
#ifndef OPF_TEST_KERNEL_CASE_H
#define OPF_TEST_KERNEL_CASE_H

#include <ctype.h>
#include <dlfcn.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/process.h"
#include "emit/emit.h"
#include "opf_abi.h"

enum { MOST_TENSORS = 64, MOST_RUNS = 8, MOST_SIZES = 8 };

typedef struct case_tensor { const char *name; int number; opf_dtype dtype; int rank; int below; bool special; } case_tensor;

typedef struct kernel_case {
    const char *title, *text;
    opf_diags *diags;
    opf_module *module;
    opf_pool *pool;
    opf_arena *arena;
    opf_group group;
    opf_nest *nest;
    int n_sizes, n_runs;
    const opf_symbol *sizes[MOST_SIZES];
    int64_t values[MOST_SIZES][MOST_RUNS];
    int n_tensors;
    case_tensor tensors[MOST_TENSORS];
    opf_stage *stage;              /* being read: its axes are in scope */
    char name[32];
    opf_kernel kernel;
} kernel_case;

static inline void case_fail(const kernel_case *c, const char *format, ...) {
    va_list arguments;
    fprintf(stderr, "case '%s': ", c->title);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n");
    abort();
}

/* ---- reading ---- */

static inline const opf_expr *case_lookup(void *data, const char *name) {
    kernel_case *c = data;
    for (int i = 0; c->stage && i < c->stage->n_axes + c->stage->n_reduce; i++)
        if (strcmp(c->stage->axis_names[i], name) == 0) return opf_var(c->pool, i);
    for (int i = 0; i < c->n_tensors; i++)
        if (strcmp(c->tensors[i].name, name) == 0) return opf_load(c->pool, c->tensors[i].dtype, c->tensors[i].number, 0, NULL);
    for (int i = 0; i < c->n_sizes; i++)
        if (strcmp(c->sizes[i]->name, name) == 0) return opf_sym(c->pool, c->sizes[i]);
    return NULL;
}

static inline const opf_expr *case_parse(kernel_case *c, const char *text, opf_dtype dtype) {
    opf_expr_scope scope = {.lookup = case_lookup, .data = c, .dtype = dtype};
    const char *error = NULL;
    const opf_expr *e = opf_expr_parse(c->pool, text, &scope, &error);
    if (!e) case_fail(c, "%s in '%s'", error, text);
    return e;
}

/* "[a=N, b=64]" → names and dims; the text behind it. */
static inline char *case_axes(kernel_case *c, char *text, const char **names, opf_dim *dims, int *count) {
    char *end = strchr(text, ']');
    if (*text != '[' || !end) case_fail(c, "axes expected at '%s'", text);
    *end = '\0';
    char *rest = NULL;
    for (char *part = strtok_r(text + 1, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
        char *equals = strchr(part, '=');
        while (isspace((unsigned char)*part)) part++;
        if (equals) *equals = '\0';
        if (names) names[*count] = opf_arena_string(c->arena, part);
        dims[(*count)++] = case_parse(c, equals ? equals + 1 : part, OPF_INT64);
    }
    end++;
    while (isspace((unsigned char)*end)) end++;
    return end;
}

static inline void case_input(kernel_case *c, char *line) {
    char name[32], type[32];
    int used;
    if (sscanf(line, "in %31s %31s %n", name, type, &used) < 2) case_fail(c, "bad line '%s'", line);
    if (c->group.stages.list.count) case_fail(c, "inputs come before stages");
    opf_value *value = opf_value_new(c->module->graph, name);
    opf_dim dims[OPF_MAX_RANK];
    value->rank = 0;
    char *rest = case_axes(c, line + used, NULL, dims, &value->rank);
    value->dtype = opf_dtype_parse(type);
    value->dims = opf_arena_copy(c->arena, dims, (size_t)value->rank * sizeof *dims);
    case_tensor tensor = {opf_arena_string(c->arena, name), (int)c->group.stages.inputs.count, value->dtype, value->rank, 0, strstr(rest, "special") != NULL};
    sscanf(rest, "below %d", &tensor.below);
    c->tensors[c->n_tensors++] = tensor;
    OPF_PUSH(c->arena, &c->group.stages.inputs, value);
}

static inline opf_combiner case_combiner(const char *name) {
    static const char *const names[OPF_COMBINE_COUNT] = {"", "sum", "prod", "min", "max", "and", "or", "argmin", "argmax", "argmin_last", "argmax_last"};
    for (int i = 1; i < OPF_COMBINE_COUNT; i++)
        if (strcmp(names[i], name) == 0) return (opf_combiner)i;
    return OPF_COMBINE_NONE;
}

static inline void case_stage(kernel_case *c, char *line) {
    char name[32], type[32], combiner[32];
    int used;
    if (sscanf(line, "stage %31s %31s %n", name, type, &used) < 2) case_fail(c, "bad line '%s'", line);
    opf_stage *stage = OPF_NEW(c->arena, opf_stage);
    stage->name = opf_arena_string(c->arena, name);
    stage->extents = OPF_ARRAY(c->arena, opf_dim, 2 * OPF_MAX_RANK);
    stage->axis_names = OPF_ARRAY(c->arena, const char *, 2 * OPF_MAX_RANK);
    c->stage = NULL;
    char *rest = case_axes(c, line + used, stage->axis_names, stage->extents, &stage->n_axes);
    stage->dtype = opf_dtype_parse(type);
    if (sscanf(rest, "%31s %n", combiner, &used) == 1 && case_combiner(combiner)) {
        int all = stage->n_axes;
        stage->combiner = case_combiner(combiner);
        rest = case_axes(c, rest + used, stage->axis_names, stage->extents, &all);
        stage->n_reduce = all - stage->n_axes;
    }
    if (*rest != ':') case_fail(c, "':' expected at '%s'", rest);
    c->stage = stage;
    stage->body = case_parse(c, rest + 1, stage->combiner >= OPF_COMBINE_ARGMIN ? OPF_FLOAT32 : stage->dtype);
    stage->accumulator = (opf_dtype)stage->body->dtype;
    case_tensor tensor = {stage->name, -1, stage->dtype, stage->n_axes, 0, false};
    tensor.number = (int)(c->group.stages.inputs.count + c->group.stages.list.count);
    c->tensors[c->n_tensors++] = tensor;
    OPF_PUSH(c->arena, &c->group.stages.list, stage);
}

static inline void case_result(kernel_case *c, const char *name) {
    for (int i = 0; i < c->n_tensors; i++) {
        if (strcmp(c->tensors[i].name, name) != 0) continue;
        int number = c->tensors[i].number - (int)c->group.stages.inputs.count;
        const opf_stage *stage = c->group.stages.list.data[number];
        opf_value *value = opf_value_new(c->module->graph, NULL);
        value->dtype = stage->dtype;
        value->rank = stage->n_axes;
        value->dims = opf_arena_copy(c->arena, stage->extents, (size_t)stage->n_axes * sizeof *stage->extents);
        OPF_PUSH(c->arena, &c->group.results, (opf_result){value, number});
        return;
    }
    case_fail(c, "no tensor '%s'", name);
}

static inline void case_size(kernel_case *c, char *line) {
    char name[32];
    int used;
    if (sscanf(line, "size %31s %n", name, &used) < 1) case_fail(c, "bad line '%s'", line);
    int runs = 0, index = c->n_sizes++, skipped = 0;
    long long nominal = -1;
    if (sscanf(line + used, "nominal %lld %n", &nominal, &skipped) == 1) used += skipped;
    char *at = line + used;
    for (char *end; runs < MOST_RUNS; at = end) {
        long long value = strtoll(at, &end, 10);
        if (end == at) break;
        c->values[index][runs++] = value;
    }
    c->sizes[index] = opf_symbol_new(c->pool, name, 0, INT64_MAX, nominal < 0 ? c->values[index][0] : nominal);
    if (c->n_runs == 0) c->n_runs = runs;
    if (runs != c->n_runs) case_fail(c, "%s has %d values and not %d", name, runs, c->n_runs);
}

static inline void case_read(kernel_case *c, const char *title, const char *text) {
    *c = (kernel_case){.title = title, .text = text};
    c->diags = opf_diags_new();
    c->module = opf_module_new(c->diags, "test");
    c->module->graph = opf_graph_new(c->module, "test", NULL);
    c->pool = c->module->pool;
    c->arena = c->module->arena;
    char *copy = opf_arena_string(c->arena, text), *rest = NULL;
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        while (isspace((unsigned char)*line)) line++;
        if (strncmp(line, "size ", 5) == 0) case_size(c, line);
        else if (strncmp(line, "in ", 3) == 0) case_input(c, line);
        else if (strncmp(line, "stage ", 6) == 0) case_stage(c, line);
        else if (strncmp(line, "second :", 8) == 0) c->stage->second = case_parse(c, line + 8, OPF_INT64);
        else if (strncmp(line, "out ", 4) == 0) case_result(c, line + 4);
        else if (*line) case_fail(c, "bad line '%s'", line);
    }
    if (c->n_runs == 0) c->n_runs = 1;
    const char *wrong = opf_stages_check(&c->group.stages, c->arena);
    if (wrong) case_fail(c, "%s", wrong);
}

static inline void case_free(kernel_case *c) {
    opf_module_free(c->module);
    opf_diags_free(c->diags);
}

/* ---- memory that ends at a wall ---- */

typedef struct walled { char *map; size_t mapped; void *data; size_t bytes; } walled;

static inline walled walled_new(size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;
    walled w = {.mapped = whole + 2 * page, .bytes = bytes};
    w.map = mmap(NULL, w.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (w.map == MAP_FAILED) abort();
    if (whole && mprotect(w.map + page, whole, PROT_READ | PROT_WRITE) != 0) abort();
    w.data = w.map + page + whole - bytes;
    return w;
}

static inline void walled_free(walled *w) { munmap(w->map, w->mapped); }

/* ---- naive evaluation ---- */

typedef union scalar { double real; int64_t integer; } scalar;

typedef struct naive {
    const kernel_case *c;
    int64_t symbols[64];
    walled tensors[MOST_TENSORS];      /* by tensor number: inputs, then stages */
    int64_t vars[2 * OPF_MAX_RANK];
} naive;

static inline int64_t naive_size(const naive *n, opf_dim dim) {
    int64_t value;
    if (!opf_dim_eval(dim, n->symbols, &value)) case_fail(n->c, "a size overflows");
    return value;
}

static inline bool is_real(opf_dtype dtype) { return opf_dtype_is_float(dtype); }
static inline double as_real(opf_dtype dtype, scalar s) { return is_real(dtype) ? s.real : dtype == OPF_UINT64 ? (double)(uint64_t)s.integer : (double)s.integer; }

static inline int tensor_rank(const naive *n, int number, const opf_dim **dims) {
    int inputs = (int)n->c->group.stages.inputs.count;
    if (number < inputs) {
        *dims = n->c->group.stages.inputs.data[number]->dims;
        return n->c->group.stages.inputs.data[number]->rank;
    }
    *dims = n->c->group.stages.list.data[number - inputs]->extents;
    return n->c->group.stages.list.data[number - inputs]->n_axes;
}

static inline scalar naive_eval(naive *n, const opf_expr *e) {
    scalar r = {0};
    switch ((opf_expr_kind)e->kind) {
    case OPF_EXPR_INT: r.integer = e->integer; break;
    case OPF_EXPR_FLOAT: r.real = e->real; break;
    case OPF_EXPR_VAR: r.integer = n->vars[e->index]; break;
    case OPF_EXPR_SYMBOL: r.integer = n->symbols[e->symbol->index]; break;
    case OPF_EXPR_LOAD: {
        const opf_dim *dims;
        int rank = tensor_rank(n, e->index, &dims);
        int64_t flat = 0;
        for (int i = 0; i < rank; i++) {
            int64_t index = naive_eval(n, e->args[i]).integer, extent = naive_size(n, dims[i]);
            if (index < 0 || index >= extent) case_fail(n->c, "the case itself reads out of range: %lld of %lld", (long long)index, (long long)extent);
            flat = flat * extent + index;
        }
        if (is_real((opf_dtype)e->dtype)) r.real = opf_dtype_load((opf_dtype)e->dtype, n->tensors[e->index].data, (size_t)flat);
        else r.integer = opf_dtype_load_int((opf_dtype)e->dtype, n->tensors[e->index].data, (size_t)flat);
        break;
    }
    case OPF_EXPR_SELECT: return naive_eval(n, naive_eval(n, e->args[0]).integer ? e->args[1] : e->args[2]);
    case OPF_EXPR_CAST: {
        opf_dtype from = (opf_dtype)e->args[0]->dtype, to = (opf_dtype)e->dtype;
        scalar a = naive_eval(n, e->args[0]);
        if (is_real(to)) r.real = is_real(from) ? opf_dtype_cast(to, a.real) : opf_dtype_round(to, as_real(from, a));
        else if (to == OPF_BOOL) r.integer = is_real(from) ? a.real != 0 : a.integer != 0;
        else {
            char bytes[8] = {0};
            if (is_real(from)) opf_dtype_store(to, bytes, 0, a.real);
            else opf_dtype_store_int(to, bytes, 0, a.integer);
            r.integer = opf_dtype_load_int(to, bytes, 0);
        }
        break;
    }
    case OPF_EXPR_UNARY:
    case OPF_EXPR_BINARY: {
        opf_dtype of = (opf_dtype)e->args[0]->dtype;
        scalar a = naive_eval(n, e->args[0]), b = e->n_args > 1 ? naive_eval(n, e->args[1]) : a;
        if (!is_real(of)) r.integer = opf_scalar_eval_int((opf_scalar_op)e->op, of, a.integer, b.integer);
        else if (is_real((opf_dtype)e->dtype)) r.real = opf_dtype_round((opf_dtype)e->dtype, opf_scalar_eval((opf_scalar_op)e->op, a.real, b.real));
        else r.integer = opf_scalar_eval((opf_scalar_op)e->op, a.real, b.real) != 0;
        break;
    }
    }
    return r;
}

static inline bool naive_better(opf_combiner combiner, opf_dtype dtype, scalar now, scalar best) {
    bool last = combiner == OPF_COMBINE_ARGMIN_LAST || combiner == OPF_COMBINE_ARGMAX_LAST;
    bool highest = combiner == OPF_COMBINE_ARGMAX || combiner == OPF_COMBINE_ARGMAX_LAST;
    if (is_real(dtype)) {
        if (isnan(best.real)) return last && isnan(now.real);
        if (isnan(now.real)) return true;
        if (now.real == best.real) return last;
        return highest ? now.real > best.real : now.real < best.real;
    }
    if (now.integer == best.integer) return last;
    return highest ? now.integer > best.integer : now.integer < best.integer;
}

static inline scalar naive_join(opf_combiner combiner, opf_dtype dtype, scalar a, scalar b) {
    static const opf_scalar_op ops[OPF_COMBINE_COUNT] = {[OPF_COMBINE_SUM] = OPF_OP_ADD, [OPF_COMBINE_PROD] = OPF_OP_MUL, [OPF_COMBINE_MIN] = OPF_OP_MIN,
                                                         [OPF_COMBINE_MAX] = OPF_OP_MAX, [OPF_COMBINE_AND] = OPF_OP_AND, [OPF_COMBINE_OR] = OPF_OP_OR};
    scalar r;
    if (is_real(dtype)) r.real = opf_scalar_eval(ops[combiner], a.real, b.real);
    else r.integer = opf_scalar_eval_int(ops[combiner], dtype, a.integer, b.integer);
    return r;
}

static inline int64_t lowest_of(opf_dtype dtype) { return !opf_dtype_is_signed(dtype) ? 0 : opf_dtype_bits(dtype) == 64 ? INT64_MIN : -(INT64_C(1) << (opf_dtype_bits(dtype) - 1)); }
static inline int64_t highest_of(opf_dtype dtype) {
    int bits = opf_dtype_bits(dtype);
    if (dtype == OPF_BOOL) return 1;
    return opf_dtype_is_signed(dtype) ? (bits == 64 ? INT64_MAX : (INT64_C(1) << (bits - 1)) - 1) : bits == 64 ? -1 : (INT64_C(1) << bits) - 1;
}

static inline scalar naive_start(opf_combiner combiner, opf_dtype dtype) {
    scalar r = {0};
    bool low = combiner == OPF_COMBINE_MAX, high = combiner == OPF_COMBINE_MIN, one = combiner == OPF_COMBINE_PROD || combiner == OPF_COMBINE_AND;
    if (is_real(dtype)) r.real = low ? -INFINITY : high ? INFINITY : one;
    else r.integer = low ? lowest_of(dtype) : high ? highest_of(dtype) : one;
    return r;
}

static inline scalar naive_reduce(naive *n, const opf_stage *stage) {
    int64_t total = 1;
    for (int i = stage->n_axes; i < stage->n_axes + stage->n_reduce; i++) {
        total *= naive_size(n, stage->extents[i]);
        n->vars[i] = 0;
    }
    bool pair = stage->combiner >= OPF_COMBINE_ARGMIN;
    scalar sum = naive_start(stage->combiner, stage->accumulator), at = {0};
    for (int64_t k = 0; k < total; k++) {
        scalar now = naive_eval(n, stage->body);
        if (!pair) sum = naive_join(stage->combiner, stage->accumulator, sum, now);
        else if (k == 0 || naive_better(stage->combiner, stage->accumulator, now, sum)) {
            sum = now;
            at = naive_eval(n, stage->second);
        }
        for (int i = stage->n_axes + stage->n_reduce - 1; i >= stage->n_axes && ++n->vars[i] == naive_size(n, stage->extents[i]); i--) n->vars[i] = 0;
    }
    if (pair) return at;
    if (stage->dtype != stage->accumulator && is_real(stage->dtype)) sum.real = opf_dtype_round(stage->dtype, sum.real);
    return sum;
}

static inline void naive_stage(naive *n, int index) {
    const opf_stage *stage = n->c->group.stages.list.data[index];
    int64_t total = 1;
    for (int i = 0; i < stage->n_axes; i++) {
        total *= naive_size(n, stage->extents[i]);
        n->vars[i] = 0;
    }
    walled *w = &n->tensors[n->c->group.stages.inputs.count + (size_t)index];
    *w = walled_new(opf_dtype_bytes(stage->dtype, (size_t)total));
    for (int64_t k = 0; k < total; k++) {
        scalar value = stage->combiner == OPF_COMBINE_NONE ? naive_eval(n, stage->body) : naive_reduce(n, stage);
        if (is_real(stage->dtype)) opf_dtype_store(stage->dtype, w->data, (size_t)k, value.real);
        else opf_dtype_store_int(stage->dtype, w->data, (size_t)k, value.integer);
        for (int i = stage->n_axes - 1; i >= 0 && ++n->vars[i] == naive_size(n, stage->extents[i]); i--) n->vars[i] = 0;
    }
}

static inline uint32_t next_random(uint32_t *seed) { return (*seed = *seed * 1664525u + 1013904223u) >> 8; }

static inline void naive_input(naive *n, int index, uint32_t seed) {
    const opf_value *value = n->c->group.stages.inputs.data[index];
    const case_tensor *tensor = NULL;
    for (int i = 0; i < n->c->n_tensors; i++)
        if (n->c->tensors[i].number == index) tensor = &n->c->tensors[i];
    static const double specials[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e-40, 3e38, -1.5};
    int64_t total = 1;
    for (int i = 0; i < value->rank; i++) total *= naive_size(n, value->dims[i]);
    n->tensors[index] = walled_new(opf_dtype_bytes(value->dtype, (size_t)total));
    for (int64_t k = 0; k < total; k++) {
        uint32_t random = next_random(&seed);
        if (tensor->special && random % 3 == 0) opf_dtype_store(value->dtype, n->tensors[index].data, (size_t)k, specials[(random >> 8) % 8]);
        else if (is_real(value->dtype)) opf_dtype_store(value->dtype, n->tensors[index].data, (size_t)k, (double)random / 0x1p22 - 2.0);
        else if (value->dtype == OPF_BOOL) opf_dtype_store_int(value->dtype, n->tensors[index].data, (size_t)k, random >> 9 & 1);
        else opf_dtype_store_int(value->dtype, n->tensors[index].data, (size_t)k, tensor->below ? random % (uint32_t)tensor->below : (int64_t)(random % 201) - 100);
    }
}

/* ---- running ---- */

static inline void case_compare(naive *n, size_t result, const void *got, const char *what) {
    const opf_result *r = &n->c->group.results.data[result];
    const walled *expected = &n->tensors[n->c->group.stages.inputs.count + (size_t)r->stage];
    int64_t total = 1;
    double largest = 0;
    for (int i = 0; i < r->value->rank; i++) total *= naive_size(n, r->value->dims[i]);
    for (int64_t k = 0; k < total; k++) {
        double b = fabs(opf_dtype_load(r->value->dtype, expected->data, (size_t)k));
        if (b > largest && b < 1e30) largest = b;
    }
    for (int64_t k = 0; k < total; k++) {
        double a = opf_dtype_load(r->value->dtype, got, (size_t)k), b = opf_dtype_load(r->value->dtype, expected->data, (size_t)k);
        bool same = a == b || (isnan(a) && isnan(b));
        double slack = r->value->dtype == OPF_FLOAT16 || r->value->dtype == OPF_BFLOAT16 ? 1e-2 : 1e-4;
        if (is_real(r->value->dtype) && fabs(a - b) <= 1e-5 + slack * fabs(b) + 2e-6 * largest) same = true;
        if (!same) {
            opf_text text = {0};
            opf_emit_kernel(n->c->nest, "kernel", &text);
            case_fail(n->c, "%s, result %zu, element %lld: %.9g and not %.9g\n%s\n%s", what, result, (long long)k, a, b, n->c->text, text.data);
        }
    }
}

static inline void case_call(naive *n, int parts, walled *results) {
    const kernel_case *c = n->c;
    void *buffers[MOST_TENSORS];
    size_t at = 0;
    for (size_t i = 0; i < c->group.stages.inputs.count; i++) buffers[at++] = n->tensors[i].data;
    for (size_t i = 0; i < c->group.results.count; i++) {
        const opf_result *r = &c->group.results.data[i];
        int64_t total = 1;
        for (int k = 0; k < r->value->rank; k++) total *= naive_size(n, r->value->dims[k]);
        results[i] = walled_new(opf_dtype_bytes(r->value->dtype, (size_t)total));
        memset(results[i].data, 0xa5, results[i].bytes);
        buffers[at++] = results[i].data;
    }
    const opf_symbol *const *symbols;
    int count = opf_nest_symbols(c->nest, &symbols);
    int64_t dims[64];
    for (int i = 0; i < count; i++) dims[i] = n->symbols[symbols[i]->index];
    size_t stride = (size_t)naive_size(n, c->nest->scratch_bytes);
    walled scratch = walled_new(stride * (size_t)parts);
    opf_args args = {.p = buffers, .d = dims, .scratch = scratch.data, .scratch_stride = stride};
    if (stride % 64 != 0) case_fail(c, "scratch of %zu bytes", stride);
    for (int part = parts; part-- > 0;) c->kernel(&args, part, parts);
    walled_free(&scratch);
}

/* What runs now, for a kernel that touches what it must not. */
static const kernel_case *running;

static inline void case_crashed(int number) {
    opf_text text = {0};
    opf_emit_kernel(running->nest, "kernel", &text);
    fprintf(stderr, "case '%s': signal %d\n%s\n%s", running->title, number, running->text, opf_text_string(&text));
    _exit(1);
}

static inline void case_run(const kernel_case *c, int run) {
    naive n = {.c = c};
    running = c;
    signal(SIGSEGV, case_crashed);
    signal(SIGFPE, case_crashed);
    walled one[MOST_TENSORS], three[MOST_TENSORS];
    for (int i = 0; i < c->n_sizes; i++) n.symbols[c->sizes[i]->index] = c->values[i][run];
    for (int i = 0; i < (int)c->group.stages.inputs.count; i++) naive_input(&n, i, 77u + 31u * (uint32_t)i + (uint32_t)run);
    for (int i = 0; i < (int)c->group.stages.list.count; i++) naive_stage(&n, i);
    case_call(&n, 1, one);
    case_call(&n, 3, three);
    for (size_t i = 0; i < c->group.results.count; i++) {
        case_compare(&n, i, one[i].data, "one part");
        if (memcmp(one[i].data, three[i].data, one[i].bytes) != 0) case_fail(c, "three parts give other bits in result %zu", i);
        walled_free(&one[i]);
        walled_free(&three[i]);
    }
    for (size_t i = 0; i < c->group.stages.inputs.count + c->group.stages.list.count; i++) walled_free(&n.tensors[i]);
}

/* ---- compiling ---- */

/* Compiles all cases into one shared object and finds their kernels. NULL where the compiler is not there. */
static inline void *cases_compile(kernel_case *cases, int count, const char *compiler, const char *const *flags) {
    opf_text text = {0};
    opf_text_add(&text, opf_prelude_abi());
    opf_text_add(&text, opf_prelude_kernels());
    for (int i = 0; i < count; i++) {
        snprintf(cases[i].name, sizeof cases[i].name, "kernel_%d", i);
        if (opf_emit_kernel(cases[i].nest, cases[i].name, &text) != OPF_OK) case_fail(&cases[i], "no kernel");
    }
    char folder[] = "/tmp/kernel_case_XXXXXX", source[64], object[64];
    if (!mkdtemp(folder)) abort();
    snprintf(source, sizeof source, "%s/k.c", folder);
    snprintf(object, sizeof object, "%s/k.so", folder);
    FILE *file = fopen(source, "w");
    if (!file || fwrite(text.data, 1, text.length, file) != text.length || fclose(file) != 0) abort();
    const char *argv[40] = {compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-shared"};
    int n = 10;
    while (*flags) argv[n++] = *flags++;
    argv[n++] = "-o";
    argv[n++] = object;
    argv[n++] = source;
    argv[n++] = "-lm";
    opf_process *process;
    int code = 127;
    opf_text errors = {0};
    if (opf_process_start(&process, argv, NULL) == OPF_OK) opf_process_wait(process, &code, NULL, &errors);
    if (code == 127) return NULL;
    if (code != 0) {
        fprintf(stderr, "%s\n%s: exit %d, source %s\n", opf_text_string(&errors), compiler, code, source);
        abort();
    }
    void *library = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    if (!library) abort();
    for (int i = 0; i < count; i++) *(void **)&cases[i].kernel = dlsym(library, cases[i].name);
    opf_folder_remove(folder);
    opf_text_free(&text);
    opf_text_free(&errors);
    return library;
}

#endif
