/* Plants faults and looks whether `verify --bisect` finds them: tool_api_faults COUNT SEED MODEL….
 *
 * A fault is planted in the code of one operator, wherever it is compiled ("alone"), or only where it is compiled together with
 * others ("joined"), as a defect of fusion would be. Neither the evaluator nor the bounds know of it. Prints a line a fault, then how
 * many of each kind are traced to group and operator and are given the right property. Exit status 1 where fewer than 95 in 100 are
 * traced, or fewer than 80 in 100 have their property. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/session.h"

typedef enum kind { SCALED, SHIFTED, SWAPPED, HALF, DROPPED_NAN, TRUNCATED, FEW_TERMS, HALF_SUM, KINDS } kind;

/* properties: a word of the property must be one of these. */
static const struct { const char *name, *properties[3]; } kinds[KINDS] = {
    [SCALED] = {"scaled by 1 + 2^-7", {"none of rounding", "a sum", "function"}},
    [SHIFTED] = {"shifted by 2^-5", {"none of rounding", "a sum", "function"}},
    [SWAPPED] = {"an operation swapped", {"none of rounding", "a sum", "integers that differ"}},
    [HALF] = {"results in float16", {"half type"}},
    [DROPPED_NAN] = {"a NaN dropped", {"rule for NaN"}},
    [TRUNCATED] = {"truncated", {"rounding to an integer"}},
    [FEW_TERMS] = {"a function with too few terms", {"an approximated function"}},
    [HALF_SUM] = {"a sum of terms in float16", {"half type", "a sum"}},
};

typedef struct fault {
    const char *node;
    kind kind;
    bool joined;      /* only in groups of several nodes */
    bool planted;
    opf_arena *arena;
    OPF_VEC(struct changed { opf_stage *stage; const opf_expr *body; }) changed;
} fault;

static uint64_t state;
static uint64_t next(uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

/* ---- spoiling ---- */

typedef const opf_expr *(*spoiling)(opf_pool *pool, const opf_expr *e);

static const opf_expr *each(opf_pool *pool, const opf_expr *e, spoiling spoil) {
    if (!opf_expr_has_load(e) || e->kind == OPF_EXPR_LOAD) return e;
    const opf_expr *args[3] = {NULL};
    for (int k = 0; k < e->n_args && k < 3; k++) args[k] = each(pool, e->args[k], spoil);
    if (e->kind == OPF_EXPR_UNARY) e = opf_unary(pool, (opf_scalar_op)e->op, args[0]);
    if (e->kind == OPF_EXPR_BINARY) e = opf_binary(pool, (opf_scalar_op)e->op, args[0], args[1]);
    if (e->kind == OPF_EXPR_SELECT) e = opf_select(pool, args[0], args[1], args[2]);
    if (e->kind == OPF_EXPR_CAST) e = opf_cast(pool, (opf_dtype)e->dtype, args[0]);
    return spoil(pool, e);
}

static const opf_expr *swapped(opf_pool *pool, const opf_expr *e) {
    if (e->kind != OPF_EXPR_BINARY) return e;
    const opf_expr *a = e->args[0], *b = e->args[1];
    if (e->op == OPF_OP_ADD) return opf_binary(pool, OPF_OP_SUB, a, b);
    if (e->op == OPF_OP_SUB) return opf_binary(pool, OPF_OP_ADD, a, b);
    if (e->op == OPF_OP_MAX) return opf_binary(pool, OPF_OP_MIN, a, b);
    if (e->op == OPF_OP_DIV) return opf_binary(pool, OPF_OP_MUL, a, b);
    return e;
}

static const opf_expr *without_nan(opf_pool *pool, const opf_expr *e) {
    if (e->kind != OPF_EXPR_BINARY || (e->op != OPF_OP_MAX && e->op != OPF_OP_MIN)) return e;
    const opf_expr *a = e->args[0], *b = e->args[1];
    return opf_select(pool, opf_unary(pool, OPF_OP_ISNAN, a), b, opf_select(pool, opf_unary(pool, OPF_OP_ISNAN, b), a, e));
}

static const opf_expr *truncated(opf_pool *pool, const opf_expr *e) {
    return e->kind == OPF_EXPR_UNARY && e->op == OPF_OP_ROUND ? opf_unary(pool, OPF_OP_TRUNC, e->args[0]) : e;
}

/* f(x) is f(x) (1 + 2^-13 x^2 / (1 + x^2)). */
static const opf_expr *with_few_terms(opf_pool *pool, const opf_expr *e) {
    if (e->kind != OPF_EXPR_UNARY || !opf_scalar_ops[e->op].transcendental || e->dtype != OPF_FLOAT32) return e;
    const opf_expr *one = opf_real(pool, OPF_FLOAT32, 1), *square = opf_binary(pool, OPF_OP_MUL, e->args[0], e->args[0]);
    const opf_expr *share = opf_binary(pool, OPF_OP_DIV, one, opf_binary(pool, OPF_OP_ADD, one, opf_binary(pool, OPF_OP_DIV, one, square)));
    return opf_binary(pool, OPF_OP_MUL, e, opf_binary(pool, OPF_OP_ADD, one, opf_binary(pool, OPF_OP_MUL, opf_real(pool, OPF_FLOAT32, 0x1p-13), share)));
}

static const opf_expr *in_half(opf_pool *pool, const opf_expr *e) { return e->dtype == OPF_FLOAT32 ? opf_cast(pool, OPF_FLOAT32, opf_cast(pool, OPF_FLOAT16, e)) : e; }

/* The stage's own body where this kind of fault has no place in it. */
static const opf_expr *spoilt(opf_pool *pool, const opf_stage *stage, kind kind) {
    const opf_expr *body = stage->body;
    opf_dtype dtype = (opf_dtype)body->dtype;
    bool real = opf_dtype_is_float(dtype) && opf_dtype_is_float(stage->dtype);
    switch (kind) {
    case SCALED: return real ? opf_binary(pool, OPF_OP_MUL, body, opf_real(pool, dtype, 1 + 0x1p-7)) : body;
    case SHIFTED: return real ? opf_binary(pool, OPF_OP_ADD, body, opf_real(pool, dtype, 0x1p-5)) : body;
    case SWAPPED: return real ? swapped(pool, body) : body;
    case HALF: return stage->combiner == OPF_COMBINE_NONE ? in_half(pool, body) : body;
    case HALF_SUM: return stage->combiner == OPF_COMBINE_SUM ? in_half(pool, body) : body;
    case DROPPED_NAN: return real ? each(pool, body, without_nan) : body;
    case TRUNCATED: return each(pool, body, truncated);
    case FEW_TERMS: return each(pool, body, with_few_terms);
    default: return body;
    }
}

/* ---- planting ---- */

static bool is_of(const opf_stage *stage, const char *node) { return stage->origin && strcmp(stage->origin->name, node) == 0; }

static void plant(void *data, opf_fusion *fusion) {
    fault *f = data;
    for (size_t g = 0; g < fusion->groups.count; g++) {
        opf_group *group = fusion->groups.data[g];
        if (group->step != OPF_STEP_KERNEL || (f->joined && group->nodes.count < 2)) continue;
        for (size_t s = group->stages.list.count; s-- > 0;) { /* the last stage of the operator in this group that it has a place in */
            opf_stage *stage = group->stages.list.data[s];
            const opf_expr *body = is_of(stage, f->node) ? spoilt(fusion->module->pool, stage, f->kind) : stage->body;
            if (body == stage->body) continue;
            OPF_PUSH(f->arena, &f->changed, ((struct changed){stage, stage->body}));
            stage->body = body;
            f->planted = true;
            break;
        }
    }
}

/* Bounds follow from what the model means. */
static void put_back(void *data, opf_fusion *fusion) {
    fault *f = data;
    (void)fusion;
    while (f->changed.count) {
        struct changed *last = &f->changed.data[--f->changed.count];
        last->stage->body = last->body;
    }
}

/* ---- one fault ---- */

/* A node of a group of several that this kind of fault has a place in, by chance; NULL where the model has none. */
static const char *choose_node(opf_model *model, kind kind, opf_arena *arena) {
    opf_pipeline pipeline = {.model = model, .context = model->context, .policy = OPF_POLICY_BEST, .silent = true};
    const char *name = NULL;
    OPF_VEC(const opf_node *) nodes = {0};
    if (opf_pipeline_run(&pipeline, OPF_TO_GROUPS) == OPF_OK)
        for (size_t g = 0; g < pipeline.fusion->groups.count; g++) {
            const opf_group *group = pipeline.fusion->groups.data[g];
            for (size_t i = 0; group->step == OPF_STEP_KERNEL && group->nodes.count > 1 && i < group->stages.list.count; i++) {
                const opf_stage *stage = group->stages.list.data[i];
                if (stage->origin && spoilt(pipeline.module->pool, stage, kind) != stage->body) OPF_PUSH(arena, &nodes, stage->origin);
            }
        }
    if (nodes.count) name = opf_arena_string(arena, nodes.data[next(nodes.count)]->name);
    opf_pipeline_free(&pipeline);
    return name;
}

enum { ONNX_FLOAT = 1 };

/* What shows the fault: numbers past 65504, and NaN. */
static void prepare_inputs(opf_array *inputs, size_t n, kind kind, opf_arena *arena) {
    for (size_t i = 0; i < n; i++) {
        if (inputs[i].dtype != ONNX_FLOAT || (kind != HALF && kind != DROPPED_NAN)) continue;
        size_t count = 1;
        for (int k = 0; k < inputs[i].rank; k++) count *= (size_t)inputs[i].dims[k];
        float *data = opf_arena_copy(arena, inputs[i].data, count * sizeof *data);
        double scale = next(2) ? 0x1p20 : 1;
        for (size_t k = 0; k < count && kind == HALF; k++) data[k] *= (float)scale;
        for (size_t k = 0; k < count && kind == DROPPED_NAN; k += 7) data[k] = NAN;
        inputs[i].data = data;
    }
}

typedef struct tally { int tried, traced, properties; } tally;

/* The line of the report that starts with this, "" where there is none; to be freed. */
static char *line_of(const char *report, const char *start) {
    const char *line = report ? strstr(report, start) : NULL;
    return line ? strndup(line + strlen(start), strcspn(line, "\n") - strlen(start)) : strdup("");
}

static bool is_property_of(kind kind, const char *property) {
    for (int k = 0; k < 3; k++)
        if (kinds[kind].properties[k] && strstr(property, kinds[kind].properties[k])) return true;
    return false;
}

/* Counts a fault that changes numbers beyond their bound, and prints it. */
static void judge(const char *path, const fault *f, const char *report, tally *count) {
    char *group = line_of(report, ", the group "), *operator = line_of(report, "  operator: "), *property = line_of(report, "  property: ");
    bool seen = *operator || *group, traced = strstr(group, f->node) && strstr(operator, f->node), right = traced && is_property_of(f->kind, property);
    printf("%s  %s: %s in %s%s", !seen ? "no effect" : !traced ? "MISSED   " : right ? "found    " : "PROPERTY ", path, kinds[f->kind].name, f->node, f->joined ? " where it is fused" : "");
    if (seen && !traced) printf(": group %s, operator %s", group, operator);
    if (seen) printf(": %s", property);
    printf("\n");
    count->tried += seen;
    count->traced += traced;
    count->properties += right;
    free(group);
    free(operator);
    free(property);
}

static void try_fault(const char *path, tally *counts, opf_arena *arena) {
    opf_context *context = opf_context_new();
    opf_model *model = NULL;
    fault f = {.kind = (kind)next(KINDS), .joined = next(3) == 0, .arena = arena};
    if (opf_model_load(&model, context, path) == OPF_OK && (f.node = choose_node(model, f.kind, arena))) {
        size_t n = opf_model_inputs(model);
        opf_array *inputs = calloc(n + 1, sizeof *inputs);
        for (size_t i = 0; i < n; i++) opf_model_make_input(&inputs[i], model, i, NULL);
        prepare_inputs(inputs, n, f.kind, arena);
        context->on_fusion = plant;
        context->on_sources = put_back;
        context->fusion_data = &f;
        char *report = NULL;
        opf_verify_options options = {.rtol = -1, .atol = -1, .bisect = 1};
        opf_model_verify(model, inputs, &options, &report);
        if (f.planted) judge(path, &f, report, &counts[f.kind]);
        opf_string_free(report);
        free(inputs);
    }
    opf_model_free(model);
    opf_context_free(context);
}

static tally all_of(const tally *counts) {
    tally all = {0};
    for (int k = 0; k < KINDS; k++) {
        all.tried += counts[k].tried;
        all.traced += counts[k].traced;
        all.properties += counts[k].properties;
    }
    return all;
}

int main(int count, char **arguments) {
    if (count < 4) return fprintf(stderr, "usage: tool_api_faults COUNT SEED MODEL…\n"), 2;
    int wanted = atoi(arguments[1]);
    state = (uint64_t)atoll(arguments[2]) * 2654435761u + 1;
    opf_arena *arena = opf_arena_new();
    tally counts[KINDS] = {0}, all = {0};
    for (int i = 0; all.tried < wanted && i < 8 * wanted; i++) {
        try_fault(arguments[3 + next((uint64_t)count - 3)], counts, arena);
        fflush(stdout);
        all = all_of(counts);
    }
    for (int k = 0; k < KINDS; k++) printf("%-32s %3d faults, %3d traced, %3d with their property\n", kinds[k].name, counts[k].tried, counts[k].traced, counts[k].properties);
    printf("%d of %d faults beyond their bound are traced to their group and operator, %d with their property\n", all.traced, all.tried, all.properties);
    opf_arena_free(arena);
    return all.tried < wanted || all.traced * 100 < all.tried * 95 || all.properties * 100 < all.tried * 80;
}
