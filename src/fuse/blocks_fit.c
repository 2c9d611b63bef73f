/* Is a nest in blocks of rows possible for a group, and does it pay?
 *
 * What it saves is the writing and reading of the values between its stages. What it may cost is that the factor of a
 * product that has no rows (weights, keys, values) is read once for each block of rows. That is free while the factor stays in
 * a core's own cache, so that attention always gains; a layer of a large network, whose weights do not, would lose. */
#include <math.h>

#include "fuse/blocks.h"
#include "fuse/cost.h"
#include "fuse/rows.h"
#include "fuse/stream.h"

enum {
    MUCH_WORK = 1 << 20      /* operations of a nest that should occupy all threads */
};

typedef struct opf_block_study {
    const opf_group *group;
    const opf_rule_settings *settings;
    opf_pool *pool;
    const opf_block_plan *plan;
    double rows, most, blocks, units; /* in all, of a block at most, blocks of them, blocks with the loops outside */
    double row_bytes, saved_bytes, again_bytes, work;
    double factor;      /* bytes of the largest factor without rows */
    int kept;
    const opf_node *widest, *again; /* the stage with the longest row, the product that reads most again */
} opf_block_study;

static double product_of(const opf_block_plan *plan, int n, const int *variables) {
    double product = 1;
    for (int k = 0; k < n; k++)
        product *= (double)opf_dim_nominal(plan->extents.data[variables[k]]);
    return product;
}

static bool is_result(const opf_group *group, int stage) {
    for (size_t r = 0; r < group->results.count; r++)
        if (group->results.data[r].stage == stage)
            return true;
    return false;
}

typedef struct opf_sought { int load; bool found; } opf_sought;

static bool meet_sought(const opf_expr *e, void *data) {
    opf_sought *sought = data;
    sought->found = sought->found || (e->kind == OPF_EXPR_LOAD && e->index == sought->load);
    return !sought->found;
}

/* Would kernels of their own store the stage whole? Products end one, and read what the one before has stored; what stands between the
 * products (the powers of a softmax without a product behind it) is never stored, joined or not. It is also what the rows of a block have
 * to keep from one step to the next. */
static bool is_stored_apart(const opf_block_study *study, const opf_block_stage *placed) {
    opf_sought sought = {(int)study->group->stages.inputs.count + placed->stage, placed->product};
    for (size_t s = 0; s < study->group->stages.list.count && !sought.found; s++)
        if (study->plan->stages[s] && study->plan->stages[s]->product)
            opf_expr_visit(study->pool, study->plan->stages[s]->term, meet_sought, &sought);
    return sought.found;
}

/* ---- what a product reads again ---- */

enum { WHOLE_VECTOR = 16 /* floats */ };

/* The factor without rows. */
static const opf_expr *factor_of(const opf_block_plan *plan, const opf_block_stage *placed) {
    return placed->term->args[opf_expr_has_var(placed->term->args[0], plan->row) ? 1 : 0];
}

static bool is_known(const opf_expr *e, void *data) {
    const opf_group *group = data;
    return e->kind != OPF_EXPR_LOAD || ((size_t)e->index < group->stages.inputs.count && group->stages.inputs.data[e->index]->constant);
}

/* A weight whose columns do not fill whole vectors is copied when the program runs; a kernel of its own would have it packed beforehand. */
static bool copies_weight(const opf_block_study *study, const opf_block_stage *placed) {
    int64_t columns = 1, extent;
    for (int k = 0; k < placed->n_free; k++) {
        if (!opf_is_int(study->plan->extents.data[placed->free[k]], &extent))
            return false;
        columns = columns * (extent % WHOLE_VECTOR) % WHOLE_VECTOR;
    }
    return columns && opf_expr_visit(study->pool, factor_of(study->plan, placed), is_known, (void *)(uintptr_t)study->group);
}

/* Each block reads the factor; a kernel of its own, each of the factors that the loops outside tell apart once. */
static void study_product(opf_block_study *study, const opf_block_stage *placed, double outer, double bytes) {
    const opf_block_plan *plan = study->plan;
    double different = 1;
    for (int k = 0; k < plan->n_outer; k++)
        if (opf_expr_has_var(factor_of(plan, placed), plan->outer[k]))
            different *= (double)opf_dim_nominal(plan->extents.data[plan->outer[k]]);
    study->factor = fmax(study->factor, bytes);
    if (bytes <= opf_threshold_of(study->settings, OPF_THRESHOLD_FACTOR_BYTES))
        return;
    study->again_bytes += (outer * study->blocks - different + (copies_weight(study, placed) ? 2 : 0)) * bytes;
    study->again = study->group->stages.list.data[placed->stage]->origin;
}

/* ---- the study ---- */

static void study_stage(opf_block_study *study, const opf_block_stage *placed) {
    const opf_block_plan *plan = study->plan;
    const opf_stage *stage = study->group->stages.list.data[placed->stage];
    double outer = product_of(plan, plan->n_outer, plan->outer);
    double free = product_of(plan, placed->n_free, placed->free), reduced = product_of(plan, placed->n_reduce, placed->reduce);
    double bytes = free * opf_dtype_bits(stage->dtype) / 8, left = opf_block_row_bytes(&study->group->stages, plan, placed);
    study->kept++;
    study->work += outer * study->rows * free * reduced;
    if (placed->n_free && (!study->widest || left > study->row_bytes))
        study->widest = stage->origin;
    study->row_bytes += left;
    if (!is_result(study->group, placed->stage) && is_stored_apart(study, placed))
        study->saved_bytes += 2 * outer * study->rows * bytes;
    if (placed->product)
        study_product(study, placed, outer, free * reduced * 4);
}

/* Bytes that a row leaves from one step of its block to a later one. */
static double lasting_bytes(const opf_block_study *study) {
    double bytes = 0;
    for (size_t s = 0; s < study->group->stages.list.count; s++)
        if (study->plan->stages[s] && is_stored_apart(study, study->plan->stages[s]))
            bytes += opf_block_row_bytes(&study->group->stages, study->plan, study->plan->stages[s]);
    return bytes;
}

static void study_plan(opf_block_study *study) {
    const opf_block_plan *plan = study->plan;
    double outer = product_of(plan, plan->n_outer, plan->outer);
    study->rows = (double)opf_dim_nominal(plan->extents.data[plan->row]);
    study->most = plan->power >= 0 ? OPF_BLOCK_STREAMED_ROWS : OPF_BLOCK_ROWS;
    study->blocks = ceil(study->rows / (double)opf_block_rows(plan->power >= 0, opf_block_bytes(OPF_OWN_CACHE_BYTES), lasting_bytes(study), study->rows, outer));
    study->units = outer * ceil(study->rows / study->most);
    for (size_t s = 0; s < study->group->stages.list.count; s++)
        if (plan->stages[s])
            study_stage(study, plan->stages[s]);
}

/* A contraction that no register tile computes would be slower than it is alone. */
static const opf_node *slow_stage(const opf_group *group, const opf_block_plan *plan) {
    for (size_t s = 0; s < group->stages.list.count; s++) {
        opf_stages alone = {.inputs = group->stages.inputs};
        alone.list.data = &group->stages.list.data[s];
        alone.list.count = 1;
        if (!opf_stages_are_light(&alone) && !(plan->stages[s] && plan->stages[s]->product))
            return group->stages.list.data[s]->origin;
    }
    return NULL;
}

/* Results are written along their last axis. Where that is the rows', or a loop outside (the columns of a picture whose
 * channels are summed up), each row is written across memory. Where nothing is left of a row but one number (the mean of each
 * map behind a convolution), the convolution's own tile is faster: its weights are packed beforehand. */
static bool against_grain(const opf_group *group, const opf_block_plan *plan) {
    const opf_stage *result = group->stages.list.data[group->results.data[0].stage];
    int last = result->n_axes - 1;
    while (last > 0 && opf_is_value(result->extents[last], 1))
        last--;
    bool along = false;
    for (int k = 0; k < plan->n_inner; k++)
        along = along || opf_expr_has_var(plan->points[0][last], plan->inner[k]);
    return !along || opf_expr_has_var(plan->points[0][last], plan->row);
}

/* False, which ends the visit, at a value that the group computes. */
static bool is_from_outside(const opf_expr *e, void *n_inputs) { return e->kind != OPF_EXPR_LOAD || e->index < *(int *)n_inputs; }

/* Two contractions of values from outside that meet in a sum (a block's shortcut by a convolution of its own): each is faster in
 * its own tile, with its weights packed beforehand. The second of them, NULL where there are not two. */
static const opf_node *second_source(const opf_group *group, const opf_block_plan *plan, opf_pool *pool) {
    int sources = 0, n_inputs = (int)group->stages.inputs.count;
    for (size_t s = 0; s < group->stages.list.count; s++) {
        bool product = plan->stages[s] && plan->stages[s]->product;
        if (product && opf_expr_visit(pool, group->stages.list.data[s]->body, is_from_outside, &n_inputs) && ++sources > 1)
            return group->stages.list.data[s]->origin;
    }
    return NULL;
}

static opf_block_verdict refused(opf_rule_number rule, const opf_node *blocker, int64_t bytes) {
    return (opf_block_verdict){rule, blocker, bytes};
}

opf_block_verdict opf_blocks_fit(const opf_group *group, const opf_rule_settings *settings, opf_pool *pool, opf_arena *scratch) {
    opf_block_plan plan;
    int n = (int)group->results.count, *results = OPF_ARRAY(scratch, int, n);
    const opf_node *first = group->nodes.data[0];
    for (int r = 0; r < n; r++)
        results[r] = group->results.data[r].stage;
    if (n == 0 || !opf_blocks_plan(&group->stages, n, results, opf_group_is_exact(group), pool, scratch, &plan))
        return refused(OPF_RULE_NOT_BLOCKS, first, 0);
    const opf_node *slow = slow_stage(group, &plan);
    if (slow)
        return refused(OPF_RULE_NOT_BLOCKS, slow, 0);
    const opf_node *second = second_source(group, &plan, pool);
    if (second)
        return refused(OPF_RULE_NOT_BLOCKS, second, 0);
    if (against_grain(group, &plan))
        return refused(OPF_RULE_AGAINST_GRAIN, group->stages.list.data[results[0]]->origin, 0);
    opf_block_study study = {.group = group, .settings = settings, .pool = pool, .plan = &plan};
    study_plan(&study);
    if (study.kept < 2)
        return refused(OPF_RULE_NOT_BLOCKS, first, 0);
    if (study.row_bytes > opf_threshold_of(settings, OPF_THRESHOLD_BLOCK_ROW_BYTES))
        return refused(OPF_RULE_LONG_ROW, study.widest, (int64_t)study.row_bytes);
    double again = opf_seconds_of_bytes(study.again_bytes, study.factor), saved = opf_seconds_of_bytes(study.saved_bytes, study.saved_bytes);
    if (plan.power >= 0 ? again > saved : study.again_bytes > study.saved_bytes)
        return refused(OPF_RULE_BLOCKS_AGAIN, study.again, (int64_t)study.again_bytes);
    if (study.units * study.most / 8 < opf_threshold_of(settings, OPF_THRESHOLD_BLOCK_UNITS) && study.work > MUCH_WORK)
        return refused(OPF_RULE_FEW_ROWS, study.widest ? study.widest : first, 0);
    return (opf_block_verdict){.rule = OPF_RULE_BLOCKS, .bytes = (int64_t)study.again_bytes};
}
