/* Stages: sizes, costs, text form. */
#include "ir/stage.h"

#include "base/map.h"

opf_dim opf_stage_elements(const opf_stage *stage, opf_pool *pool) { return opf_product(pool, stage->n_axes, stage->extents); }

static double price(const opf_expr *e) {
    switch (e->kind) {
    case OPF_EXPR_UNARY: case OPF_EXPR_BINARY: return opf_scalar_ops[e->op].flops;
    case OPF_EXPR_SELECT: case OPF_EXPR_CAST: return 1;
    default: return 0;
    }
}

/* Does the expression compute with elements? What does not is arithmetic on positions, which schedules hoist and cut away. */
static bool reads(const opf_expr *e, opf_map *known) {
    static char yes, no;
    const char *answer = opf_map_get(known, e);
    if (answer) return answer == &yes;
    bool found = e->kind == OPF_EXPR_LOAD;
    for (int i = 0; i < e->n_args && !found; i++) found = reads(e->args[i], known);
    opf_map_set(known, e, found ? &yes : &no);
    return found;
}

/* Each distinct sub-expression counts once; neither indices of loads nor the borders of a domain are arithmetic on values. */
static double body_flops(const opf_expr *body, opf_arena *arena) {
    OPF_VEC(const opf_expr *) pending = {0};
    opf_map seen = opf_map_new(arena), known = opf_map_new(arena);
    double total = 0;
    if (body) OPF_PUSH(arena, &pending, body);
    while (pending.count) {
        const opf_expr *e = pending.data[--pending.count];
        if (opf_map_has(&seen, e) || !reads(e, &known)) continue;
        opf_map_set(&seen, e, (void *)e);
        total += e->kind == OPF_EXPR_SELECT && !reads(e->args[0], &known) ? 0 : price(e);
        for (int i = 0; i < e->n_args && e->kind != OPF_EXPR_LOAD; i++) OPF_PUSH(arena, &pending, e->args[i]);
    }
    return total;
}

double opf_stage_flops(const opf_stage *stage) {
    opf_arena *arena = opf_arena_new();
    double points = 1;
    for (int i = 0; i < stage->n_axes + stage->n_reduce; i++) points *= (double)opf_dim_nominal(stage->extents[i]);
    double each = body_flops(stage->body, arena) + body_flops(stage->second, arena);
    if (stage->combiner != OPF_COMBINE_NONE) each += stage->combiner >= OPF_COMBINE_ARGMIN ? 2 : 1;
    opf_arena_free(arena);
    return each * points;
}

static const char *const combiners[OPF_COMBINE_COUNT] = {
    [OPF_COMBINE_NONE] = "", [OPF_COMBINE_SUM] = "sum", [OPF_COMBINE_PROD] = "prod", [OPF_COMBINE_MIN] = "min", [OPF_COMBINE_MAX] = "max",
    [OPF_COMBINE_AND] = "and", [OPF_COMBINE_OR] = "or", [OPF_COMBINE_ARGMIN] = "argmin", [OPF_COMBINE_ARGMAX] = "argmax",
    [OPF_COMBINE_ARGMIN_LAST] = "argmin_last", [OPF_COMBINE_ARGMAX_LAST] = "argmax_last",
};

static void print_axes(const opf_stage *stage, const char *const *names, int from, int to, opf_text *out) {
    for (int i = from; i < to; i++) {
        opf_text_printf(out, "%s%s = ", i > from ? ", " : "", names[i]);
        opf_expr_print(stage->extents[i], NULL, out);
    }
}

/* t4: float32 Softmax.sum [n = 1, c = N] = sum[k = 64] float32 of exp(t0[n, c, k] - t3[n, c]) */
static void print_stage(const opf_stage *stage, size_t number, opf_arena *arena, opf_text *out) {
    int n_vars = stage->n_axes + stage->n_reduce;
    const char **names = OPF_ARRAY(arena, const char *, n_vars);
    for (int i = 0; i < n_vars; i++)
        names[i] = stage->axis_names && stage->axis_names[i] ? stage->axis_names[i] : opf_arena_printf(arena, "i%d", i);
    opf_expr_names spelled = {.n_vars = n_vars, .vars = names};
    opf_text_printf(out, "t%zu: %s %s [", number, opf_dtype_name(stage->dtype), stage->name ? stage->name : "?");
    print_axes(stage, names, 0, stage->n_axes, out);
    opf_text_add(out, "] = ");
    if (stage->combiner != OPF_COMBINE_NONE) {
        opf_text_printf(out, "%s[", combiners[stage->combiner]);
        print_axes(stage, names, stage->n_axes, n_vars, out);
        opf_text_printf(out, "] %s of ", opf_dtype_name(stage->accumulator));
    }
    opf_expr_print(stage->body, &spelled, out);
    if (stage->second) {
        opf_text_add(out, " at ");
        opf_expr_print(stage->second, &spelled, out);
    }
    opf_text_add(out, "\n");
}

void opf_stages_print(const opf_stages *stages, opf_text *out) {
    opf_arena *arena = opf_arena_new();
    for (size_t i = 0; i < stages->inputs.count; i++) {
        const opf_value *value = stages->inputs.data[i];
        opf_text_printf(out, "t%zu: ", i);
        if (value) {
            opf_value_print_type(value, out);
            opf_text_printf(out, " = input %s\n", value->name);
        } else {
            opf_text_add(out, "left out\n");
        }
    }
    for (size_t i = 0; i < stages->list.count; i++) print_stage(stages->list.data[i], stages->inputs.count + i, arena, out);
    opf_arena_free(arena);
}
