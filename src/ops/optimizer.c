/* Optimizers of ai.onnx.preview.training: one step of Adagrad, Adam or Momentum. Their formulas are element-wise; several
 * tensors are stepped alike by one node, whose inputs are R, T, then all X, all G, and all of each state. */
#include <string.h>

#include "ops/families.h"
#include "ops/index.h"

enum { RATE, TIME, FIRST, MOST_LINES = 5 };

/* `name` = `formula`; result: which group of outputs it is, -1 for none. */
typedef struct line { const char *name, *formula; int result; } line;

typedef struct optimizer {
    const char *op, *mode;      /* mode: of attribute `mode`, NULL for none */
    const char *groups;         /* a letter a group of inputs */
    struct { const char *name; double otherwise; } attributes[5];
    line lines[MOST_LINES];
} optimizer;

static const optimizer optimizers[] = {
    {"Adagrad", NULL, "XGH", {{"norm_coefficient", 0}, {"decay_factor", 0}, {"epsilon", 1e-6}},
     {{"r", "R / (1 + T * decay_factor)", -1},
      {"g", "norm_coefficient * X + G", -1},
      {"h", "H + g * g", 1},
      {"x", "X - r * g / (sqrt(h) + epsilon)", 0}}},
    {"Adam", NULL, "XGVH", {{"norm_coefficient", 0}, {"norm_coefficient_post", 0}, {"epsilon", 1e-6}, {"alpha", 0.9}, {"beta", 0.999}},
     {{"g", "norm_coefficient * X + G", -1},
      {"v", "alpha * V + (1 - alpha) * g", 1},
      {"h", "beta * H + (1 - beta) * g * g", 2},
      {"r", "T > 0 ? R * sqrt(1 - pow(beta, T)) / (1 - pow(alpha, T)) : R", -1},
      {"x", "(1 - norm_coefficient_post) * (X - r * v / (sqrt(h) + epsilon))", 0}}},
    {"Momentum", "standard", "XGV", {{"norm_coefficient", 0}, {"alpha", 0}, {"beta", 1}},
     {{"g", "norm_coefficient * X + G", -1},
      {"v", "alpha * V + (T > 0 ? beta : 1) * g", 1},
      {"x", "X - R * v", 0}}},
    {"Momentum", "nesterov", "XGV", {{"norm_coefficient", 0}, {"alpha", 0}, {"beta", 1}},
     {{"g", "norm_coefficient * X + G", -1},
      {"v", "alpha * V + (T > 0 ? beta : 1) * g", 1},
      {"x", "X - R * (g + alpha * v)", 0}}},
};

typedef struct stepping {
    opf_call *call;
    const optimizer *o;
    int tensors, which;         /* that one node steps; the one that is being written */
    opf_dtype dtype;
    const opf_expr *values[MOST_LINES];
} stepping;

static const opf_expr *lookup(void *data, const char *name) {
    const stepping *s = data;
    opf_call *call = s->call;
    if (strcmp(name, "R") == 0) return opf_call_convert(call, s->dtype, opf_call_load_single(call, RATE, "the learning rate"));
    if (strcmp(name, "T") == 0) return opf_call_convert(call, s->dtype, opf_call_load_single(call, TIME, "the update count"));
    const char *group = name[1] ? NULL : strchr(s->o->groups, name[0]);
    if (group) return opf_call_load_same(call, FIRST + (int)(group - s->o->groups) * s->tensors + s->which);
    for (size_t k = 0; k < OPF_COUNT(s->o->attributes) && s->o->attributes[k].name; k++)
        if (strcmp(s->o->attributes[k].name, name) == 0) return opf_real(call->pool, s->dtype, opf_node_float(call->node, name, s->o->attributes[k].otherwise));
    for (int k = 0; k < MOST_LINES && s->values[k]; k++)
        if (strcmp(s->o->lines[k].name, name) == 0) return s->values[k];
    return NULL;
}

static const optimizer *find(opf_call *call) {
    const char *mode = opf_node_string(call->node, "mode", "");
    for (size_t k = 0; k < OPF_COUNT(optimizers); k++)
        if (strcmp(optimizers[k].op, call->node->op) == 0 && (!optimizers[k].mode || strcmp(optimizers[k].mode, mode) == 0)) return &optimizers[k];
    opf_call_error(call, "attribute", "mode '%s' is neither standard nor nesterov", mode);
    return NULL;
}

/* Are the tensors of one place, X and what belongs to it, of one type and shape? */
static bool check_tensors(const stepping *s) {
    opf_call *call = s->call;
    int x = FIRST + s->which;
    if (s->dtype != OPF_FLOAT32 && s->dtype != OPF_FLOAT64) return opf_call_error(call, "type", "%s takes float32 and float64, not %s", call->node->op, opf_dtype_name(s->dtype)), false;
    for (int k = x + s->tensors; k < call->node->n_inputs; k += s->tensors) {
        if (!opf_call_check_same_type(call, x, k) || !opf_call_check_rank(call, k, opf_call_rank(call, x), opf_call_rank(call, x), "what belongs to a tensor")) return false;
        for (int axis = 0; axis < opf_call_rank(call, x); axis++) opf_call_same(call, opf_call_dim(call, x, axis), opf_call_dim(call, k, axis), "a tensor and what belongs to it");
    }
    return !call->failed;
}

static void step(stepping *s) {
    opf_call *call = s->call;
    const opf_expr_scope scope = {.lookup = lookup, .data = s, .dtype = s->dtype};
    const opf_value *x = opf_call_input(call, FIRST + s->which);
    memset(s->values, 0, sizeof s->values);
    for (int k = 0; k < MOST_LINES && s->o->lines[k].name && !call->failed; k++) {
        const line *l = &s->o->lines[k];
        const char *wrong;
        const opf_expr *value = opf_expr_parse(call->pool, l->formula, &scope, &wrong);
        if (!value) {
            opf_call_error(call, "internal", "the formula of %s: %s", l->name, wrong);
            return;
        }
        s->values[k] = value;
        if (l->result < 0) continue;
        int stage = opf_call_map(call, l->name, x->rank, x->dims, value);
        s->values[k] = opf_call_load_same(call, stage);
        opf_call_result(call, l->result * s->tensors + s->which, stage);
    }
}

static opf_status build_step(opf_call *call) {
    stepping s = {.call = call, .o = find(call)};
    if (!s.o) return OPF_ERROR_INPUT;
    int groups = (int)strlen(s.o->groups), given = call->node->n_inputs - FIRST;
    s.tensors = given / groups;
    if (given < groups || given % groups) return opf_call_error(call, "arity", "%d inputs behind R and T are not %d for each tensor", given, groups);
    for (int k = 0; k < call->node->n_inputs; k++)
        if (!opf_call_input(call, k)) return opf_call_error(call, "arity", "input %d is missing", k);
    for (s.which = 0; s.which < s.tensors && !call->failed; s.which++) {
        s.dtype = opf_call_dtype(call, FIRST + s.which);
        if (check_tensors(&s)) step(&s);
    }
    return call->failed ? OPF_ERROR_INPUT : OPF_OK;
}

const opf_op opf_ops_optimizer[] = {
    {"ai.onnx.preview.training", "Adagrad", 1, 5, -1, INT16_MAX, OPF_KIND_ELEMWISE, 0, build_step, NULL},
    {"ai.onnx.preview.training", "Adam", 1, 6, -1, INT16_MAX, OPF_KIND_ELEMWISE, 0, build_step, NULL},
    {"ai.onnx.preview.training", "Momentum", 1, 5, -1, INT16_MAX, OPF_KIND_ELEMWISE, 0, build_step, NULL},
};
const size_t opf_ops_optimizer_count = OPF_COUNT(opf_ops_optimizer);
