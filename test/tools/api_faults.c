/* Plants faults and looks whether `verify --bisect` finds them: tool_api_faults COUNT SEED MODEL….
 *
 * A fault is planted in the meaning of one operator, wherever it is compiled ("alone"), or only where it is compiled together with
 * others ("joined"), as a defect of fusion would be. The evaluator reads the graph and knows nothing of it. Prints a line a fault
 * and the count; exit status 1 where fewer than 95 in 100 were found. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/session.h"

typedef enum kind { SCALED, SHIFTED, SWAPPED, KINDS } kind;
static const char *const kind_names[] = {"scaled by 1 + 2^-7", "shifted by 2^-5", "an operation swapped"};

typedef struct fault {
    const char *node;
    kind kind;
    bool joined;      /* only in groups of several nodes */
    bool planted;
} fault;

static uint64_t state;
static uint64_t next(uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

/* ---- planting ---- */

static const opf_expr *swapped(opf_pool *pool, const opf_expr *e) {
    if (e->kind != OPF_EXPR_BINARY) return NULL;
    const opf_expr *a = e->args[0], *b = e->args[1];
    if (e->op == OPF_OP_ADD) return opf_binary(pool, OPF_OP_SUB, a, b);
    if (e->op == OPF_OP_SUB) return opf_binary(pool, OPF_OP_ADD, a, b);
    if (e->op == OPF_OP_MAX) return opf_binary(pool, OPF_OP_MIN, a, b);
    if (e->op == OPF_OP_DIV) return opf_binary(pool, OPF_OP_MUL, a, b);
    return NULL;
}

static const opf_expr *spoilt(opf_pool *pool, const opf_expr *body, kind kind) {
    opf_dtype dtype = (opf_dtype)body->dtype;
    const opf_expr *other = kind == SWAPPED ? swapped(pool, body) : NULL;
    if (other) return other;
    if (kind == SHIFTED) return opf_binary(pool, OPF_OP_ADD, body, opf_real(pool, dtype, 0x1p-5));
    return opf_binary(pool, OPF_OP_MUL, body, opf_real(pool, dtype, 1 + 0x1p-7));
}

static void plant(void *data, opf_fusion *fusion) {
    fault *f = data;
    for (size_t g = 0; g < fusion->groups.count; g++) {
        opf_group *group = fusion->groups.data[g];
        if (group->step != OPF_STEP_KERNEL || (f->joined && group->nodes.count < 2)) continue;
        for (size_t s = group->stages.list.count; s-- > 0;) {
            opf_stage *stage = group->stages.list.data[s];
            bool of_node = stage->origin && strcmp(stage->origin->name, f->node) == 0;
            if (!of_node || !opf_dtype_is_float(stage->dtype) || !opf_dtype_is_float((opf_dtype)stage->body->dtype)) continue;
            stage->body = spoilt(fusion->module->pool, stage->body, f->kind);
            f->planted = true;
            break; /* the last stage of the operator in this group: its result */
        }
    }
}

/* ---- one fault ---- */

/* A node of a group of several, by chance; NULL where the model has none. */
static const char *choose_node(opf_model *model, opf_arena *arena) {
    opf_pipeline pipeline = {.model = model, .context = model->context, .policy = OPF_POLICY_BEST, .silent = true};
    const char *name = NULL;
    OPF_VEC(const opf_node *) nodes = {0};
    if (opf_pipeline_run(&pipeline, OPF_TO_GROUPS) == OPF_OK)
        for (size_t g = 0; g < pipeline.fusion->groups.count; g++) {
            const opf_group *group = pipeline.fusion->groups.data[g];
            for (size_t i = 0; group->step == OPF_STEP_KERNEL && group->nodes.count > 1 && i < group->stages.list.count; i++)
                if (group->stages.list.data[i]->origin) OPF_PUSH(arena, &nodes, group->stages.list.data[i]->origin);
        }
    if (nodes.count) name = opf_arena_string(arena, nodes.data[next(nodes.count)]->name);
    opf_pipeline_free(&pipeline);
    return name;
}

/* 1: found; 0: missed; -1: nothing was planted, or it changes no number of this model. */
static int try_fault(const char *path, opf_arena *arena) {
    opf_context *context = opf_context_new();
    opf_model *model = NULL;
    fault f = {.kind = (kind)next(KINDS), .joined = next(3) == 0};
    int found = -1;
    if (opf_model_load(&model, context, path) == OPF_OK && (f.node = choose_node(model, arena))) {
        size_t n = opf_model_inputs(model);
        opf_array *inputs = calloc(n + 1, sizeof *inputs);
        for (size_t i = 0; i < n; i++) opf_model_make_input(&inputs[i], model, i, NULL);
        context->on_fusion = plant;
        context->fusion_data = &f;
        char *report = NULL;
        opf_verify_options options = {.rtol = -1, .atol = -1, .bisect = 1};
        opf_status status = opf_model_verify(model, inputs, &options, &report);
        const char *line = report ? strstr(report, "  operator: ") : NULL;
        size_t length = line ? strcspn(line, "\n") : 0;
        char *named = line ? strndup(line, length) : strdup("");
        bool differs = status == OPF_ERROR_MISMATCH;
        if (f.planted && (differs || line)) found = strstr(named, f.node) != NULL;
        printf("%s  %s: %s in %s%s%s%s\n", found < 0 ? "no effect" : found ? "found    " : "MISSED   ", path, kind_names[f.kind], f.node, f.joined ? " where it is fused" : "", found == 0 ? ":" : "",
               found == 0 ? named : "");
        free(named);
        opf_string_free(report);
        free(inputs);
    }
    opf_model_free(model);
    opf_context_free(context);
    return found;
}

int main(int count, char **arguments) {
    if (count < 4) return fprintf(stderr, "usage: tool_api_faults COUNT SEED MODEL…\n"), 2;
    int wanted = atoi(arguments[1]), tried = 0, found = 0;
    state = (uint64_t)atoll(arguments[2]) * 2654435761u + 1;
    opf_arena *arena = opf_arena_new();
    for (int i = 0; tried < wanted && i < 3 * wanted; i++) {
        int result = try_fault(arguments[3 + next((uint64_t)count - 3)], arena);
        fflush(stdout);
        tried += result >= 0;
        found += result > 0;
    }
    printf("%d of %d faults that change a number are traced to their operator\n", found, tried);
    opf_arena_free(arena);
    return tried < wanted || found * 100 < tried * 95;
}
