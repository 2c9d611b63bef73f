/* What a group computes, as formulas: stages that reduce nothing are put into those that read them. */
#include "report/expression.h"

enum { MOST_OPERATIONS = 60 };

typedef struct opf_formulas {
    const opf_group *group;
    opf_pool *pool;
    opf_arena *arena;
    int n_inputs;
    const opf_expr **bodies;   /* per stage, others put in */
    const opf_expr **seconds;  /* likewise; NULL for most */
    bool *line;                /* per stage: has a line of its own */
} opf_formulas;

static const opf_expr *put_in(opf_pool *pool, const opf_expr *leaf, void *data) {
    opf_formulas *formulas = data;
    if (leaf->kind != OPF_EXPR_LOAD || leaf->index < formulas->n_inputs || formulas->line[leaf->index - formulas->n_inputs])
        return NULL;
    return opf_expr_bind(pool, formulas->bodies[leaf->index - formulas->n_inputs], leaf->n_args, leaf->args);
}

static bool count(const opf_expr *e, void *data) {
    (void)e;
    ++*(int *)data;
    return true;
}

static int size_of(const opf_formulas *formulas, const opf_expr *e) {
    int size = 0;
    opf_expr_visit(formulas->pool, e, count, &size);
    return size;
}

static int result_of(const opf_group *group, size_t stage) {
    for (size_t r = 0; r < group->results.count; r++)
        if (group->results.data[r].stage == (int)stage)
            return (int)r;
    return -1;
}

static opf_formulas formulas_of(const opf_group *group, opf_pool *pool, opf_arena *arena) {
    size_t n = group->stages.list.count;
    opf_formulas formulas = {group, pool, arena, (int)group->stages.inputs.count, OPF_ARRAY(arena, const opf_expr *, n + 1),
                             OPF_ARRAY(arena, const opf_expr *, n + 1), OPF_ARRAY(arena, bool, n + 1)};
    for (size_t s = 0; s < n; s++) {
        const opf_stage *stage = group->stages.list.data[s];
        formulas.bodies[s] = opf_expr_map(pool, stage->body, put_in, &formulas);
        formulas.seconds[s] = stage->second ? opf_expr_map(pool, stage->second, put_in, &formulas) : NULL;
        formulas.line[s] = stage->combiner != OPF_COMBINE_NONE || result_of(group, s) >= 0 || size_of(&formulas, formulas.bodies[s]) > MOST_OPERATIONS;
    }
    return formulas;
}

/* ---- printing ---- */

static const char *axis_name(const opf_stage *stage, int axis, opf_arena *arena) {
    return stage->axis_names && stage->axis_names[axis] ? stage->axis_names[axis] : opf_arena_printf(arena, "i%d", axis);
}

static void print_line(const opf_formulas *formulas, size_t s, const char *const *tensors, opf_text *out) {
    static const char *const combiners[OPF_COMBINE_COUNT] = {"", "sum", "product", "min", "max", "and", "or", "argmin", "argmax", "last argmin", "last argmax"};
    const opf_stage *stage = formulas->group->stages.list.data[s];
    int n_vars = stage->n_axes + stage->n_reduce;
    const char **vars = OPF_ARRAY(formulas->arena, const char *, n_vars + 1);
    for (int k = 0; k < n_vars; k++)
        vars[k] = axis_name(stage, k, formulas->arena);
    opf_text_add(out, tensors[formulas->n_inputs + (int)s]);
    for (int k = 0; k < stage->n_axes; k++)
        opf_text_printf(out, "%s%s%s", k ? ", " : "[", vars[k], k + 1 == stage->n_axes ? "]" : "");
    opf_text_printf(out, " = %s", combiners[stage->combiner]);
    for (int k = stage->n_axes; k < n_vars; k++) {
        opf_text_printf(out, "%s%s < ", k > stage->n_axes ? ", " : " over ", vars[k]);
        opf_expr_print(stage->extents[k], NULL, out);
    }
    opf_text_add(out, stage->combiner != OPF_COMBINE_NONE ? " of " : "");
    opf_expr_names names = {n_vars, formulas->n_inputs + (int)formulas->group->stages.list.count, vars, tensors};
    opf_expr_print(formulas->bodies[s], &names, out);
    if (formulas->seconds[s]) {
        opf_text_add(out, " at ");
        opf_expr_print(formulas->seconds[s], &names, out);
    }
    opf_text_add(out, "\n");
}

void opf_print_expression(const opf_group *group, opf_pool *pool, opf_text *out) {
    opf_arena *arena = opf_arena_new();
    opf_formulas formulas = formulas_of(group, pool, arena);
    size_t n = group->stages.list.count;
    const char **tensors = OPF_ARRAY(arena, const char *, group->stages.inputs.count + n + 1);
    int kept = 0;
    for (size_t i = 0; i < group->stages.inputs.count; i++)
        tensors[i] = opf_arena_printf(arena, "p%zu", i);
    for (size_t s = 0; s < n; s++) {
        int result = result_of(group, s);
        tensors[(size_t)formulas.n_inputs + s] = result >= 0 ? opf_arena_printf(arena, "p%d", formulas.n_inputs + result)
                                               : formulas.line[s] ? opf_arena_printf(arena, "s%d", kept++) : "";
    }
    for (size_t s = 0; s < n; s++)
        if (formulas.line[s])
            print_line(&formulas, s, tensors, out);
    opf_arena_free(arena);
}
