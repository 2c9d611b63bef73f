/* Contractions built by hand, their kernels compiled and run: for test/unit/emit_tile.c and bench/tile.c. */
#ifndef OPF_TEST_TILE_CASE_H
#define OPF_TEST_TILE_CASE_H

#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emit/tile.h"
#include "opf_abi.h"

typedef struct tile_case {
    opf_diags *diags;
    opf_module *module;
    opf_pool *pool;
    opf_arena *arena;
    opf_group group;
    opf_nest nest;
    opf_machine machine;
    int64_t symbols[16];       /* values by symbol index */
    float *inputs[8];          /* data by input */
    opf_kernel kernel;
} tile_case;

static inline tile_case *tile_case_new(void) {
    tile_case *c = calloc(1, sizeof *c);
    c->diags = opf_diags_new();
    c->module = opf_module_new(c->diags, "test");
    c->module->graph = opf_graph_new(c->module, "test", NULL);
    c->pool = c->module->pool;
    c->arena = c->module->arena;
    return c;
}

static inline void tile_case_free(tile_case *c) {
    for (size_t i = 0; i < OPF_COUNT(c->inputs); i++) free(c->inputs[i]);
    opf_module_free(c->module);
    opf_diags_free(c->diags);
    free(c);
}

/* A size known only when the kernel runs; `nominal` is what the schedule expects. */
static inline opf_dim tile_symbol_of(tile_case *c, const char *name, int64_t value, int64_t nominal) {
    const opf_symbol *symbol = opf_symbol_new(c->pool, name, 0, INT64_MAX, nominal);
    c->symbols[symbol->index] = value;
    return opf_sym(c->pool, symbol);
}
static inline opf_dim tile_symbol(tile_case *c, const char *name, int64_t value) { return tile_symbol_of(c, name, value, value); }

static inline int64_t tile_size(const tile_case *c, opf_dim dim) {
    int64_t value = -1;
    opf_dim_eval(dim, c->symbols, &value);
    return value;
}

/* Exactly so many bytes, that sanitizers see what is beyond; large buffers on large pages, as those of a session are. */
static inline void *tile_bytes(size_t bytes) {
    bool large = bytes >= 2 << 20;
    void *data = NULL;
    if (posix_memalign(&data, large ? 2 << 20 : 64, bytes + !bytes)) abort();
    if (large) madvise(data, bytes, MADV_HUGEPAGE);
    return data;
}

/* A tensor of the group; seeded data in [-1, 1). Returns its number. */
static inline int tile_input(tile_case *c, const char *name, bool constant, int rank, const opf_dim *dims) {
    int number = (int)c->group.stages.inputs.count;
    int64_t sizes[OPF_MAX_RANK], n = 1;
    for (int k = 0; k < rank; k++) n *= sizes[k] = tile_size(c, dims[k]);
    float *data = tile_bytes((size_t)n * 4);
    uint32_t seed = 12345u + (uint32_t)number;
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        data[i] = (float)(seed >> 8) / 0x1p23f - 1.0f;
    }
    c->inputs[number] = data;
    opf_value *value;
    if (constant) {
        const char *why;
        value = opf_value_constant(c->module->graph, name, opf_tensor_new(c->arena, OPF_FLOAT32, rank, sizes, data, &why));
    } else {
        value = opf_value_new(c->module->graph, name);
    }
    value->dtype = OPF_FLOAT32;
    value->rank = rank;
    value->dims = opf_arena_copy(c->arena, dims, (size_t)rank * sizeof *dims);
    OPF_PUSH(c->arena, &c->group.stages.inputs, value);
    return number;
}

static inline int tile_stage(tile_case *c, int n_axes, int n_reduce, const opf_dim *extents, const char *const *names, const opf_expr *body) {
    opf_stage *stage = OPF_NEW(c->arena, opf_stage);
    *stage = (opf_stage){.name = "stage", .n_axes = n_axes, .n_reduce = n_reduce, .dtype = body->dtype, .accumulator = body->dtype, .body = body,
                         .combiner = n_reduce ? OPF_COMBINE_SUM : OPF_COMBINE_NONE};
    stage->extents = opf_arena_copy(c->arena, extents, (size_t)(n_axes + n_reduce) * sizeof *extents);
    stage->axis_names = opf_arena_copy(c->arena, names, (size_t)(n_axes + n_reduce) * sizeof *names);
    OPF_PUSH(c->arena, &c->group.stages.list, stage);
    return (int)(c->group.stages.inputs.count + c->group.stages.list.count) - 1;
}

static inline void tile_result(tile_case *c, int tensor) {
    int s = tensor - (int)c->group.stages.inputs.count;
    const opf_stage *stage = c->group.stages.list.data[s];
    opf_value *value = opf_value_new(c->module->graph, NULL);
    value->dtype = stage->dtype;
    value->rank = stage->n_axes;
    value->dims = opf_arena_copy(c->arena, stage->extents, (size_t)stage->n_axes * sizeof *stage->extents);
    OPF_PUSH(c->arena, &c->group.results, (opf_result){value, s});
}

/* ---- shorthands for bodies ---- */

static inline const opf_expr *tile_var(tile_case *c, int k) { return opf_var(c->pool, k); }
static inline const opf_expr *tile_load(tile_case *c, int tensor, int rank, const opf_expr *const *indices) { return opf_load(c->pool, OPF_FLOAT32, tensor, rank, indices); }
static inline const opf_expr *tile_load_same(tile_case *c, int tensor, int rank) {
    const opf_expr *indices[OPF_MAX_RANK];
    for (int k = 0; k < rank; k++) indices[k] = opf_var(c->pool, k);
    return tile_load(c, tensor, rank, indices);
}
static inline const opf_expr *tile_mul(tile_case *c, const opf_expr *a, const opf_expr *b) { return opf_binary(c->pool, OPF_OP_MUL, a, b); }

/* ---- reference: every stage element by element, in double, rounded to float ---- */

typedef struct tile_reference { const tile_case *c; const opf_stages *stages; const float **tensors; const int64_t *vars; } tile_reference;

static inline double tile_eval(const tile_reference *r, const opf_expr *e) {
    switch ((opf_expr_kind)e->kind) {
    case OPF_EXPR_INT: return (double)e->integer;
    case OPF_EXPR_FLOAT: return e->real;
    case OPF_EXPR_VAR: return (double)r->vars[e->index];
    case OPF_EXPR_SYMBOL: return (double)r->c->symbols[e->symbol->index];
    case OPF_EXPR_LOAD: {
        int n_inputs = (int)r->stages->inputs.count;
        const opf_dim *dims = e->index < n_inputs ? r->stages->inputs.data[e->index]->dims : r->stages->list.data[e->index - n_inputs]->extents;
        int64_t at = 0;
        for (int k = 0; k < e->n_args; k++) at = at * tile_size(r->c, dims[k]) + (int64_t)tile_eval(r, e->args[k]);
        return (double)r->tensors[e->index][at];
    }
    case OPF_EXPR_SELECT: return tile_eval(r, e->args[0]) != 0 ? tile_eval(r, e->args[1]) : tile_eval(r, e->args[2]);
    case OPF_EXPR_CAST: return tile_eval(r, e->args[0]);
    default: break;
    }
    double a = tile_eval(r, e->args[0]), b = e->n_args > 1 ? tile_eval(r, e->args[1]) : 0;
    if (opf_dtype_is_float(e->args[0]->dtype) || opf_scalar_ops[e->op].compares || e->dtype == OPF_BOOL) return opf_scalar_eval(e->op, a, b);
    return (double)opf_scalar_eval_int(e->op, e->dtype, (int64_t)a, (int64_t)b);
}

static inline float tile_element(const tile_reference *r, const opf_stage *stage, int64_t *vars) {
    if (!stage->n_reduce) return (float)tile_eval(r, stage->body);
    int64_t count = 1, sizes[OPF_MAX_RANK];
    for (int k = 0; k < stage->n_reduce; k++) count *= sizes[k] = tile_size(r->c, stage->extents[stage->n_axes + k]);
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i;
        for (int k = stage->n_reduce - 1; k >= 0; k--) vars[stage->n_axes + k] = rest % sizes[k], rest /= sizes[k];
        sum += tile_eval(r, stage->body);
    }
    return (float)sum;
}

/* All stages of a group; tensors by number, the caller frees those of stages. */
static inline float **tile_evaluate(const tile_case *c, const opf_stages *stages, float *const *inputs) {
    size_t n_inputs = stages->inputs.count;
    const float **tensors = calloc(n_inputs + stages->list.count, sizeof *tensors);
    for (size_t i = 0; i < n_inputs; i++) tensors[i] = inputs[i];
    for (size_t s = 0; s < stages->list.count; s++) {
        const opf_stage *stage = stages->list.data[s];
        int64_t vars[2 * OPF_MAX_RANK], sizes[OPF_MAX_RANK], count = 1;
        for (int k = 0; k < stage->n_axes; k++) count *= sizes[k] = tile_size(c, stage->extents[k]);
        float *out = malloc((size_t)count * 4 + 64);
        tile_reference r = {c, stages, tensors, vars};
        for (int64_t i = 0; i < count; i++) {
            int64_t rest = i;
            for (int k = stage->n_axes - 1; k >= 0; k--) vars[k] = rest % sizes[k], rest /= sizes[k];
            out[i] = tile_element(&r, stage, vars);
        }
        tensors[n_inputs + s] = out;
    }
    return (float **)tensors;
}

/* ---- schedule, compile, run ---- */

static inline bool tile_schedule(tile_case *c, const char *machine, const char **why_not) {
    if (opf_machine_choose(&c->machine, machine, c->arena, c->diags)) return false;
    memset(&c->nest, 0, sizeof c->nest);
    c->nest.group = &c->group;
    c->nest.machine = &c->machine;
    c->nest.pool = c->pool;
    return opf_tile_schedule(&c->nest, why_not);
}

/* The kernel as a function of the given name; the prelude stands before the first. */
static inline void tile_text(const tile_case *c, const char *name, opf_text *out) {
    opf_emit_tile_functions(&c->nest, out);
    opf_text_printf(out, "void %s(const opf_args *args, int part, int parts);\nvoid %s(const opf_args *args, int part, int parts) {\n", name, name);
    for (int i = 0; i < opf_pool_symbols(c->pool); i++) {
        opf_text_add(out, "    const int64_t ");
        opf_emit_symbol(opf_pool_symbol(c->pool, i), out);
        opf_text_printf(out, " = args->d[%d];\n", i);
    }
    opf_emit_tile(&c->nest, out);
    opf_text_add(out, "}\n");
}

/* Compiles the kernels of `count` scheduled cases of one machine in one file. The library stays loaded. In the
 * environment, OPF_TILE_KEEP keeps the text and OPF_TILE_FLAGS adds flags (sanitizers, with the test itself built so). */
static inline bool tile_compile(tile_case *const *cases, int count, const char *compiler, const char *more) {
    char source[] = "/tmp/opf-tile-XXXXXX.c", object[64], command[1024], name[32];
    int file = mkstemps(source, 2);
    if (file < 0) return false;
    opf_text text = {0};
    opf_text_add(&text, opf_prelude_abi());
    opf_text_add(&text, opf_prelude_kernels());
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "kernel_%d", i);
        tile_text(cases[i], name, &text);
    }
    bool ok = write(file, text.data, text.length) == (ssize_t)text.length;
    close(file);
    opf_text_free(&text);
    snprintf(object, sizeof object, "%.*s.so", (int)strlen(source) - 2, source);
    /* gcc 12 takes rows of a panel behind the last one for read; clang does not know that warning */
    snprintf(command, sizeof command, "%s -std=c11 -O3 -Wall -Wextra -Werror -Wno-unused-function -Wno-unused-variable -Wno-unknown-warning-option -Wno-maybe-uninitialized -ffp-contract=off -fno-math-errno "
             "-fno-trapping-math %s -DOPF_LANES=%d %s -shared -fPIC %s -o %s -lm", compiler, cases[0]->machine.flags, cases[0]->machine.lanes, getenv("OPF_TILE_FLAGS") ? getenv("OPF_TILE_FLAGS") : more, source, object);
    ok = ok && system(command) == 0;
    if (!ok) fprintf(stderr, "failed: %s\n", command);
    else if (getenv("OPF_TILE_KEEP")) fprintf(stderr, "%s\n", source);
    else unlink(source);
    void *library = ok ? dlopen(object, RTLD_NOW) : NULL;
    if (!library && ok) fprintf(stderr, "%s\n", dlerror());
    unlink(object);
    for (int i = 0; i < count && library; i++) {
        snprintf(name, sizeof name, "kernel_%d", i);
        void *symbol = dlsym(library, name);
        memcpy(&cases[i]->kernel, &symbol, sizeof symbol);
    }
    return library != NULL;
}

/* Buffers of a call; results and packed constants are made here. */
typedef struct tile_buffers { void *p[32]; int n_results, n_packed, first_result; size_t result_bytes[8]; char *scratch; size_t stride; int max_parts; } tile_buffers;

/* Packing goes through the interpreter; for large constants `fast` fills the packed bytes with small numbers instead. */
static inline tile_buffers tile_buffers_new(const tile_case *c, int max_parts, bool fast) {
    tile_buffers b = {.first_result = (int)c->group.stages.inputs.count, .n_results = (int)c->group.results.count, .n_packed = (int)c->nest.packed.count, .max_parts = max_parts};
    for (int i = 0; i < b.first_result; i++) b.p[i] = c->inputs[i];
    for (int r = 0; r < b.n_results; r++) {
        b.result_bytes[r] = (size_t)tile_size(c, opf_value_elements(c->group.results.data[r].value)) * 4;
        b.p[b.first_result + r] = tile_bytes(b.result_bytes[r]);
    }
    for (int i = 0; i < b.n_packed; i++) {
        const opf_packed *packed = &c->nest.packed.data[i];
        float *to = tile_bytes((size_t)packed->bytes);
        if (fast) {
            for (int64_t k = 0; k < packed->bytes / 4; k++) to[k] = (float)(k % 17) / 17 - 0.5f;
        } else {
            float **tensors = tile_evaluate(c, &packed->group->stages, &c->inputs[packed->input]);
            memcpy(to, tensors[1], (size_t)packed->bytes);
            free(tensors[1]);
            free(tensors);
        }
        b.p[b.first_result + b.n_results + i] = to;
    }
    b.stride = (size_t)tile_size(c, c->nest.scratch_bytes);
    b.scratch = tile_bytes(b.stride * (size_t)max_parts);
    memset(b.scratch, 0xff, b.stride * (size_t)max_parts); /* NaN: what is read must have been written */
    return b;
}

static inline void tile_buffers_free(tile_buffers *b) {
    for (int i = b->first_result; i < b->first_result + b->n_results + b->n_packed; i++) free(b->p[i]);
    free(b->scratch);
}

static inline void tile_run(const tile_case *c, tile_buffers *b, int parts) {
    opf_args args = {b->p, c->symbols, b->scratch, b->stride};
    for (int part = 0; part < parts; part++) c->kernel(&args, part, parts);
}

/* ---- common contractions ---- */

/* Conv [n, ic, h, w] * [oc, ic / groups, kh, kw]; what is left out is 1; w is constant unless `runtime`. `backwards`: the last tap reads what comes first,
 * as in transposed convolutions. */
typedef struct tile_conv { opf_dim n, ic, h, w; int64_t oc, kh, kw, stride, pad, dilation, groups; bool runtime, backwards; } tile_conv;

static inline int tile_add_conv(tile_case *c, const tile_conv *given) {
    opf_pool *pool = c->pool;
    tile_conv filled = *given, *v = &filled;
    if (!v->n) v->n = opf_int(pool, 1);
    v->stride += !v->stride;
    v->dilation += !v->dilation;
    v->groups += !v->groups;
#define I(x) opf_int(pool, x)
    opf_dim group_ic = opf_floordiv(pool, v->ic, I(v->groups));
    int x = tile_input(c, "x", false, 4, (opf_dim[]){v->n, v->ic, v->h, v->w});
    int w = tile_input(c, "w", !v->runtime, 4, (opf_dim[]){I(v->oc), group_ic, I(v->kh), I(v->kw)});
    opf_dim sizes[2], kernels[2] = {I(v->kh), I(v->kw)}, inputs[2] = {v->h, v->w};
    const opf_expr *x_at[4], *w_at[4], *inside = NULL;
    for (int k = 0; k < 2; k++) {
        opf_dim reach = opf_add(pool, opf_mul(pool, opf_sub(pool, kernels[k], I(1)), I(v->dilation)), I(1));
        opf_dim room = opf_sub(pool, opf_add(pool, inputs[k], I(2 * v->pad)), reach);
        sizes[k] = opf_add(pool, opf_floordiv(pool, room, I(v->stride)), I(1));
        w_at[2 + k] = opf_is_value(kernels[k], 1) ? I(0) : opf_var(pool, 5 + k);
        const opf_expr *tap = v->backwards ? opf_sub(pool, opf_sub(pool, kernels[k], I(1)), w_at[2 + k]) : w_at[2 + k];
        x_at[2 + k] = opf_add(pool, opf_mul(pool, opf_var(pool, 2 + k), I(v->stride)), opf_mul(pool, tap, I(v->dilation)));
        x_at[2 + k] = opf_sub(pool, x_at[2 + k], I(v->pad));
        if (!v->pad) continue;
        const opf_expr *low = opf_binary(pool, OPF_OP_LE, I(0), x_at[2 + k]), *high = opf_binary(pool, OPF_OP_LT, x_at[2 + k], inputs[k]);
        inside = inside ? opf_binary(pool, OPF_OP_AND, inside, low) : low;
        inside = opf_binary(pool, OPF_OP_AND, inside, high);
    }
    const opf_expr *channel = opf_var(pool, 4);
    if (v->groups > 1) channel = opf_add(pool, opf_mul(pool, opf_floordiv(pool, opf_var(pool, 1), I(v->oc / v->groups)), group_ic), channel);
    x_at[0] = opf_var(pool, 0), x_at[1] = channel, w_at[0] = opf_var(pool, 1), w_at[1] = opf_var(pool, 4);
    const opf_expr *value = tile_load(c, x, 4, x_at);
    if (inside) value = opf_select(pool, inside, value, opf_real(pool, OPF_FLOAT32, 0));
    opf_dim extents[] = {v->n, I(v->oc), sizes[0], sizes[1], group_ic, kernels[0], kernels[1]};
    static const char *const names[] = {"n", "oc", "oh", "ow", "ic", "kh", "kw"};
    return tile_stage(c, 4, 3, extents, names, tile_mul(c, value, tile_load(c, w, 4, w_at)));
#undef I
}

/* [batch, m, k] * [batch, k, n], or without batch where it is NULL; flags: constants, transposed operands. */
typedef struct tile_product { opf_dim batch, m, n, k; bool a_constant, b_constant, a_transposed, b_transposed, a_shared, b_shared; } tile_product;

static inline int tile_add_product(tile_case *c, const tile_product *v) {
    opf_pool *pool = c->pool;
    int batch = v->batch != NULL, m = batch, n = batch + 1, k = batch + 2, ra = 2 + (batch && !v->a_shared), rb = 2 + (batch && !v->b_shared);
    opf_dim a_dims[3] = {v->batch, v->m, v->k}, b_dims[3] = {v->batch, v->k, v->n};
    const opf_expr *a_at[3] = {opf_var(pool, 0), opf_var(pool, m), opf_var(pool, k)}, *b_at[3] = {opf_var(pool, 0), opf_var(pool, k), opf_var(pool, n)};
#define SWAP(T, x, y) do { T swap_ = x; x = y; y = swap_; } while (0)
    if (v->a_transposed) { SWAP(opf_dim, a_dims[1], a_dims[2]); SWAP(const opf_expr *, a_at[1], a_at[2]); }
    if (v->b_transposed) { SWAP(opf_dim, b_dims[1], b_dims[2]); SWAP(const opf_expr *, b_at[1], b_at[2]); }
#undef SWAP
    int a = tile_input(c, "a", v->a_constant, ra, a_dims + 3 - ra), b = tile_input(c, "b", v->b_constant, rb, b_dims + 3 - rb);
    opf_dim extents[4] = {v->batch, v->m, v->n, v->k};
    static const char *const names[] = {"b", "m", "n", "k"};
    return tile_stage(c, 2 + batch, 1, extents + !batch, names + !batch,
                      tile_mul(c, tile_load(c, a, ra, a_at + 3 - ra), tile_load(c, b, rb, b_at + 3 - rb)));
}

#endif
