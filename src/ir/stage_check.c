/* What stage.h says of a list of stages, held against it. */
#include "ir/stage.h"

typedef struct checker {
    const opf_stages *stages;
    opf_arena *arena;
    size_t number;        /* tensor number of the stage being checked */
    const opf_stage *stage;
    const char *problem;  /* the first */
} checker;

static void __attribute__((format(printf, 2, 3))) violation(checker *c, const char *format, ...) {
    if (c->problem) return;
    opf_text text = {0};
    opf_text_printf(&text, "stage t%zu (%s): ", c->number, c->stage->name ? c->stage->name : "?");
    va_list arguments;
    va_start(arguments, format);
    opf_text_vprintf(&text, format, arguments);
    va_end(arguments);
    c->problem = opf_arena_string(c->arena, opf_text_string(&text));
    opf_text_free(&text);
}

static void check_load(checker *c, const opf_expr *load) {
    size_t n_inputs = c->stages->inputs.count;
    if (load->index < 0 || (size_t)load->index >= c->number) {
        violation(c, "a load names t%d, which is not an earlier tensor", load->index);
        return;
    }
    size_t tensor = (size_t)load->index;
    int rank;
    opf_dtype dtype;
    if (tensor < n_inputs) {
        const opf_value *value = c->stages->inputs.data[tensor];
        if (!value) {
            violation(c, "a load names t%zu, an input that was left out", tensor);
            return;
        }
        rank = value->rank;
        dtype = value->dtype;
    } else {
        const opf_stage *stage = c->stages->list.data[tensor - n_inputs];
        rank = stage->n_axes;
        dtype = stage->dtype;
    }
    if (load->n_args != rank) violation(c, "a load of t%zu has %d indices for %d axes", tensor, load->n_args, rank);
    if (load->dtype != dtype) violation(c, "a load of t%zu is %s where the tensor is %s", tensor, opf_dtype_name((opf_dtype)load->dtype), opf_dtype_name(dtype));
    for (int i = 0; i < load->n_args; i++)
        if (load->args[i]->dtype != OPF_INT64) violation(c, "index %d of a load of t%zu is %s", i, tensor, opf_dtype_name((opf_dtype)load->args[i]->dtype));
}

/* What one expression may hold. */
typedef struct place {
    checker *checker;
    int n_vars;          /* how many variables may be named */
    bool loads;          /* loads are allowed */
    const char *what;
} place;

static bool check_node(const opf_expr *e, void *data) {
    const place *at = data;
    if (e->kind == OPF_EXPR_VAR && e->index >= at->n_vars) violation(at->checker, "%s names variable %d of %d", at->what, e->index, at->n_vars);
    if (e->kind == OPF_EXPR_LOAD && !at->loads) violation(at->checker, "%s holds a load", at->what);
    else if (e->kind == OPF_EXPR_LOAD) check_load(at->checker, e);
    return !at->checker->problem;
}

static void check_expr(checker *c, const opf_expr *root, int n_vars, bool loads, const char *what) {
    opf_expr_visit(NULL, root, check_node, &(place){c, n_vars, loads, what});
}

static void check_types(checker *c, const opf_stage *stage) {
    bool reduces = stage->combiner != OPF_COMBINE_NONE, pair = stage->combiner >= OPF_COMBINE_ARGMIN;
    opf_dtype body = (opf_dtype)stage->body->dtype;
    if (reduces != (stage->n_reduce > 0)) violation(c, "a combiner and reduce axes come together or not at all");
    if (!reduces && body != stage->dtype) violation(c, "the body is %s, the stage %s", opf_dtype_name(body), opf_dtype_name(stage->dtype));
    if (body != stage->accumulator) violation(c, "the body is %s, the accumulator %s", opf_dtype_name(body), opf_dtype_name(stage->accumulator));
    if ((stage->combiner == OPF_COMBINE_AND || stage->combiner == OPF_COMBINE_OR) && body != OPF_BOOL) violation(c, "and/or of %s", opf_dtype_name(body));
    if (pair != (stage->second != NULL)) violation(c, "a second term belongs to argmin and argmax, and they need one");
    if (pair && stage->dtype != OPF_INT64) violation(c, "an index of type %s", opf_dtype_name(stage->dtype));
    if (pair && stage->second && stage->second->dtype != OPF_INT64) violation(c, "a second term of type %s", opf_dtype_name((opf_dtype)stage->second->dtype));
}

static void check_stage(checker *c, const opf_stage *stage) {
    int n_vars = stage->n_axes + stage->n_reduce;
    if (stage->n_axes < 0 || stage->n_reduce < 0 || stage->combiner >= OPF_COMBINE_COUNT || !stage->body) {
        violation(c, "it is incomplete");
        return;
    }
    check_types(c, stage);
    for (int i = 0; i < n_vars; i++) {
        if (!stage->extents[i] || stage->extents[i]->dtype != OPF_INT64) violation(c, "extent %d is no int64 expression", i);
        else check_expr(c, stage->extents[i], 0, false, "an extent");
    }
    check_expr(c, stage->body, n_vars, true, "the body");
    if (stage->second) check_expr(c, stage->second, n_vars, true, "the second term");
}

const char *opf_stages_check(const opf_stages *stages, opf_arena *arena) {
    checker c = {.stages = stages, .arena = arena};
    for (size_t i = 0; i < stages->list.count && !c.problem; i++) {
        c.number = stages->inputs.count + i;
        c.stage = stages->list.data[i];
        check_stage(&c, c.stage);
    }
    return c.problem;
}
