/* Bytes and FLOPs of a group at nominal sizes. */
#include "fuse/cost.h"

#include <math.h>

/* Elements that one load touches at most: one for each point of the axes that its indices depend on. */
static double load_points(const opf_stage *stage, const opf_expr *load) {
    uint64_t vars = 0;
    for (int axis = 0; axis < load->n_args; axis++)
        vars |= opf_expr_vars(load->args[axis]);
    double points = 1;
    for (int k = 0; k < stage->n_axes + stage->n_reduce; k++)
        if (vars & UINT64_C(1) << k)
            points *= (double)opf_dim_nominal(stage->extents[k]);
    return points;
}

typedef struct opf_touched {
    const opf_stage *stage;
    int n_inputs;
    double *elements; /* per input */
} opf_touched;

static bool touch(const opf_expr *e, void *data) {
    opf_touched *touched = data;
    if (e->kind == OPF_EXPR_LOAD && e->index < touched->n_inputs)
        touched->elements[e->index] += load_points(touched->stage, e);
    return true;
}

/* A kernel reads of each input no more than its loads ask for (rows of an embedding table) and no more than there is. */
void opf_group_bytes_read(const opf_group *group, opf_pool *pool, double *bytes) {
    int n_inputs = (int)group->stages.inputs.count;
    opf_touched touched = {NULL, n_inputs, OPF_ARRAY(opf_pool_arena(pool), double, n_inputs)};
    for (size_t s = 0; s < group->stages.list.count; s++) {
        touched.stage = group->stages.list.data[s];
        opf_expr_visit(pool, touched.stage->body, touch, &touched);
        if (touched.stage->second)
            opf_expr_visit(pool, touched.stage->second, touch, &touched);
    }
    for (int i = 0; i < n_inputs; i++) {
        const opf_value *value = group->stages.inputs.data[i];
        double asked = touched.elements[i] * opf_dtype_bits(value->dtype) / 8, whole = (double)opf_value_nominal_bytes(value);
        bytes[i] = asked < whole && !group->library && !group->control ? asked : whole;
    }
}

int64_t opf_group_bytes(const opf_group *group, opf_pool *pool) {
    double *read = OPF_ARRAY(opf_pool_arena(pool), double, group->stages.inputs.count + 1), bytes = 0;
    opf_group_bytes_read(group, pool, read);
    for (size_t i = 0; i < group->stages.inputs.count; i++)
        bytes += read[i];
    for (size_t r = 0; r < group->results.count; r++)
        bytes += (double)opf_value_nominal_bytes(group->results.data[r].value);
    return bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
}

double opf_group_flops(const opf_group *group) {
    double flops = 0;
    for (size_t s = 0; s < group->stages.list.count; s++)
        flops += opf_stage_flops(group->stages.list.data[s]);
    return flops;
}

/* ---- seconds ---- */

/* Measured: 0.02 ns for an addition, product, maximum or choice of one element, in vectors of 8 lanes. */
static const double OPERATIONS_PER_SECOND = 50e9;

/* One core, by the level that holds all that is in play: its own cache, the shared one, memory. */
static const struct { double bytes, bandwidth; } levels[] = {{OPF_OWN_CACHE_BYTES, 98e9}, {24 << 20, 72e9}, {INFINITY, 20e9}};

double opf_seconds_of_work(double operations) { return operations / OPERATIONS_PER_SECOND; }

double opf_seconds_of_bytes(double bytes, double footprint) {
    size_t level = 0;
    while (footprint > levels[level].bytes)
        level++;
    return bytes / levels[level].bandwidth;
}

/* ---- work ---- */

typedef struct opf_element_price {
    const opf_group *group;
    const double *stages; /* operations an element of the stages so far */
    double sum;
} opf_element_price;

/* Extremes spread NaN; beside a number that takes no instruction more. */
static double operations_of(const opf_expr *e) {
    bool extreme = e->op == OPF_OP_MIN || e->op == OPF_OP_MAX;
    return extreme && (e->args[0]->kind == OPF_EXPR_FLOAT || e->args[1]->kind == OPF_EXPR_FLOAT) ? 1 : opf_scalar_ops[e->op].flops;
}

static bool add_operations(const opf_expr *e, void *data) {
    opf_element_price *price = data;
    int n_inputs = (int)price->group->stages.inputs.count;
    bool operation = e->kind == OPF_EXPR_UNARY || e->kind == OPF_EXPR_BINARY;
    if (operation && e->dtype != OPF_BOOL && (e->dtype != OPF_INT64 || opf_expr_has_load(e)))
        price->sum += operations_of(e);
    if (e->kind == OPF_EXPR_SELECT || e->kind == OPF_EXPR_CAST)
        price->sum += 1;
    if (e->kind == OPF_EXPR_LOAD && e->index >= n_inputs)
        price->sum += price->stages[e->index - n_inputs];
    return true;
}

opf_work_price opf_price_of(const opf_group *group, opf_pool *pool, opf_arena *scratch) {
    opf_work_price work = {0};
    double *stages = OPF_ARRAY(scratch, double, group->stages.list.count + 1);
    for (size_t s = 0; s < group->stages.list.count; s++) {
        opf_element_price price = {group, stages, 0};
        opf_expr_visit(pool, group->stages.list.data[s]->body, add_operations, &price);
        stages[s] = price.sum;
        work.reduces = work.reduces || group->stages.list.data[s]->combiner != OPF_COMBINE_NONE;
    }
    for (size_t r = 0; r < group->results.count; r++) {
        const opf_stage *stage = group->stages.list.data[group->results.data[r].stage];
        work.operations += stages[group->results.data[r].stage] * (double)opf_dim_nominal(opf_stage_elements(stage, pool));
    }
    return work;
}
