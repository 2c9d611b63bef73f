/* The row test of policy best.
 *
 * A nest walks the domain of its results. Every other stage is either computed where it is read, or kept: computed once
 * for each position of the first loops, its remaining axes whole in the part's scratch. Reductions are kept, and so are
 * maps that are dear and read more often than they have elements. For each stage this file finds which of its axes are
 * loops of the nest: it follows the loads from the results backwards. A kept stage needs free axes that are short, and
 * enough positions of the loops that bind its other axes to keep all threads at work. */
#include "fuse/rows.h"

enum {
    DEAR = 12,              /* operations an element from which a map is not computed twice; one exp is twice that */
    MUCH_WORK = 1 << 17,    /* operations of a nest that should occupy all threads */
    MUCH_LARGER = 4,        /* results than a stage, so that how they are written counts */
    SMALL_SHARE = 16        /* what is this small a share of the nest may be computed by every part */
};
static const double REPEATED = 1.5; /* evaluations an element from which a dear map is kept */

/* Where an axis of a stage lies: a loop of the nest, by its position among the axes of more than one element, or … */
enum { AXIS_UNIT = -1, AXIS_FREE = -2, AXIS_UNKNOWN = -3 };

typedef struct opf_row_stage {
    const opf_stage *stage;
    int where[OPF_MAX_RANK];
    int grain;                    /* the variable along which its operands are contiguous in memory, -1: none */
    double elements, evaluations; /* nominal; evaluations where it is computed at each read */
    double price;                 /* operations an element, with what is computed inside */
    bool kept, is_result;
} opf_row_stage;

typedef struct opf_rows {
    const opf_group *group;
    opf_pool *pool;
    int n_inputs, n_stages;
    opf_row_stage *stages;
    opf_row_stage *reader; /* whose loads are being followed */
    double times;          /* evaluations of the reader's body */
} opf_rows;

static bool is_unit(const opf_stage *stage, int axis) { return opf_is_value(stage->extents[axis], 1); }

static bool reduces(const opf_stage *stage) {
    for (int k = stage->n_axes; k < stage->n_axes + stage->n_reduce; k++)
        if (!is_unit(stage, k))
            return true;
    return false;
}

static double nominal_points(const opf_stage *stage, int from, int to) {
    double points = 1;
    for (int k = from; k < to; k++)
        points *= (double)opf_dim_nominal(stage->extents[k]);
    return points;
}

/* ---- contractions and windows ---- */

static const opf_expr *without_casts(const opf_expr *e) {
    while (e->kind == OPF_EXPR_CAST)
        e = e->args[0];
    return e;
}

typedef struct opf_reduced_loads {
    const opf_stage *stage;
    int tensor; /* the one that is read along a reduced axis, -1: none yet, -2: several */
} opf_reduced_loads;

static bool meet_reduced(const opf_expr *e, void *data) {
    opf_reduced_loads *loads = data;
    if (e->kind != OPF_EXPR_LOAD)
        return true;
    uint64_t vars = 0;
    for (int k = 0; k < e->n_args; k++)
        vars |= opf_expr_vars(e->args[k]);
    if (vars >> loads->stage->n_axes)
        loads->tensor = loads->tensor == -1 || loads->tensor == e->index ? e->index : -2;
    return true;
}

static int reduced_tensor(const opf_stage *stage, const opf_expr *e) {
    opf_reduced_loads loads = {stage, -1};
    opf_expr_visit(stage->origin->graph->module->pool, e, meet_reduced, &loads);
    return loads.tensor;
}

/* A sum of products of different tensors: a matrix product even where an extent of 1 hides it. */
static bool is_product_sum(const opf_stage *stage) {
    const opf_expr *body = without_casts(stage->body);
    if (stage->combiner != OPF_COMBINE_SUM || body->kind != OPF_EXPR_BINARY || body->op != OPF_OP_MUL)
        return false;
    int left = reduced_tensor(stage, body->args[0]), right = reduced_tensor(stage, body->args[1]);
    return left != -1 && right != -1 && left != right;
}

bool opf_stages_are_light(const opf_stages *stages) {
    for (size_t s = 0; s < stages->list.count; s++) {
        opf_stage *stage = stages->list.data[s];
        if (!reduces(stage))
            continue;
        opf_stages alone = {.inputs = stages->inputs};
        alone.list.data = &stage;
        alone.list.count = 1;
        if (is_product_sum(stage) || opf_stages_kind(&alone) == OPF_KIND_OUT_ELEMWISE_FUSABLE)
            return false;
    }
    return true;
}

/* ---- what each stage costs ---- */

typedef struct opf_price {
    const opf_rows *rows;
    double sum;
} opf_price;

static bool add_price(const opf_expr *e, void *data) {
    opf_price *price = data;
    if ((e->kind == OPF_EXPR_UNARY || e->kind == OPF_EXPR_BINARY) && (e->dtype != OPF_INT64 || opf_expr_has_load(e)))
        price->sum += opf_scalar_ops[e->op].flops;
    if (e->kind == OPF_EXPR_LOAD && e->index >= price->rows->n_inputs) {
        const opf_row_stage *read = &price->rows->stages[e->index - price->rows->n_inputs];
        price->sum += reduces(read->stage) ? 0 : read->price;
    }
    return true;
}

static void price_stages(opf_rows *rows) {
    for (int s = 0; s < rows->n_stages; s++) {
        opf_row_stage *stage = &rows->stages[s];
        opf_price price = {rows, 0};
        opf_expr_visit(rows->pool, stage->stage->body, add_price, &price);
        stage->price = price.sum;
    }
}

/* ---- the grain of memory ---- */

/* The variable with which the index moves one by one: itself, a term of a sum, or else the last that occurs. */
static int moving_variable(opf_pool *pool, const opf_stage *stage, const opf_expr *index) {
    int last = -1;
    const opf_expr *coefficient, *rest;
    for (int v = 0; v < stage->n_axes + stage->n_reduce; v++) {
        if (is_unit(stage, v) || !opf_expr_has_var(index, v))
            continue;
        last = v;
        if (opf_expr_affine(pool, index, v, &coefficient, &rest) && opf_is_value(coefficient, 1))
            return v;
    }
    return last;
}

/* The variable along which a load walks through memory. */
static int load_grain(const opf_rows *rows, const opf_stage *stage, const opf_expr *load) {
    if (load->index >= rows->n_inputs) {
        int axis = rows->stages[load->index - rows->n_inputs].grain;
        return axis >= 0 && axis < load->n_args ? moving_variable(rows->pool, stage, load->args[axis]) : -1;
    }
    for (int k = load->n_args - 1; k >= 0; k--) {
        int variable = moving_variable(rows->pool, stage, load->args[k]);
        if (variable >= 0)
            return variable;
    }
    return -1;
}

typedef struct opf_grain {
    const opf_rows *rows;
    const opf_stage *stage;
    double points; /* of the load that decides: the one with most */
    int variable;
} opf_grain;

static bool meet_grain(const opf_expr *e, void *data) {
    opf_grain *grain = data;
    if (e->kind != OPF_EXPR_LOAD)
        return true;
    double points = 1;
    for (int v = 0; v < grain->stage->n_axes + grain->stage->n_reduce; v++)
        for (int k = 0; k < e->n_args; k++)
            if (opf_expr_has_var(e->args[k], v)) {
                points *= (double)opf_dim_nominal(grain->stage->extents[v]);
                break;
            }
    int variable = load_grain(grain->rows, grain->stage, e);
    if (variable >= 0 && points > grain->points) {
        grain->points = points;
        grain->variable = variable;
    }
    return true;
}

static void find_grains(opf_rows *rows) {
    for (int s = 0; s < rows->n_stages; s++) {
        opf_grain grain = {rows, rows->stages[s].stage, 0, -1};
        opf_expr_visit(rows->pool, rows->stages[s].stage->body, meet_grain, &grain);
        rows->stages[s].grain = grain.variable;
    }
}

/* ---- where each axis lies ---- */

/* Where the axis of a load lies that is read at `index` by the reader. */
static int axis_read_at(const opf_rows *rows, const opf_expr *index) {
    const opf_row_stage *reader = rows->reader;
    if (index->kind != OPF_EXPR_VAR || index->index >= reader->stage->n_axes)
        return AXIS_FREE;
    int where = reader->where[index->index];
    return where == AXIS_UNIT ? AXIS_FREE : where;
}

static bool follow_load(const opf_expr *e, void *data) {
    opf_rows *rows = data;
    if (e->kind != OPF_EXPR_LOAD || e->index < rows->n_inputs)
        return true;
    opf_row_stage *read = &rows->stages[e->index - rows->n_inputs];
    read->evaluations += rows->times;
    for (int k = 0; k < e->n_args; k++) {
        if (is_unit(read->stage, k))
            continue;
        int where = axis_read_at(rows, e->args[k]);
        read->where[k] = read->where[k] == AXIS_UNKNOWN || read->where[k] == where ? where : AXIS_FREE;
    }
    return true;
}

static void start_stage(opf_row_stage *stage) {
    for (int k = 0; k < stage->stage->n_axes; k++)
        stage->where[k] = is_unit(stage->stage, k) ? AXIS_UNIT : AXIS_UNKNOWN;
    stage->elements = nominal_points(stage->stage, 0, stage->stage->n_axes);
}

/* A result walks the nest's loops in order. */
static void start_result(opf_row_stage *stage) {
    int position = 0;
    for (int k = 0; k < stage->stage->n_axes; k++)
        if (!is_unit(stage->stage, k))
            stage->where[k] = position++;
    stage->evaluations += stage->elements;
    stage->is_result = true;
}

static void follow_loads(opf_rows *rows) {
    for (int s = rows->n_stages - 1; s >= 0; s--) {
        opf_row_stage *stage = &rows->stages[s];
        stage->kept = reduces(stage->stage) || (stage->price >= DEAR && stage->evaluations > REPEATED * stage->elements);
        double points = nominal_points(stage->stage, stage->stage->n_axes, stage->stage->n_axes + stage->stage->n_reduce);
        rows->times = (stage->kept ? stage->elements : stage->evaluations) * points;
        rows->reader = stage;
        opf_expr_visit(rows->pool, stage->stage->body, follow_load, rows);
        if (stage->stage->second)
            opf_expr_visit(rows->pool, stage->stage->second, follow_load, rows);
    }
}

/* ---- the verdict ---- */

static opf_row_verdict refuse(opf_rule_number rule, const opf_row_stage *stage, int64_t bytes) {
    return (opf_row_verdict){false, rule, stage->stage->origin, bytes};
}

/* All results have the axes of the first one, those of one element apart. */
static bool same_domain(const opf_stage *a, const opf_stage *b) {
    int i = 0, j = 0;
    for (;;) {
        while (i < a->n_axes && is_unit(a, i))
            i++;
        while (j < b->n_axes && is_unit(b, j))
            j++;
        if (i == a->n_axes || j == b->n_axes)
            return i == a->n_axes && j == b->n_axes;
        if (a->extents[i++] != b->extents[j++])
            return false;
    }
}

/* Loops of the nest, those to which most kept stages are bound outermost, as the scheduler orders them. */
typedef struct opf_loop_order {
    int count;
    int at[OPF_MAX_RANK]; /* positions among the results' axes of more than one element */
} opf_loop_order;

static bool is_bound(const opf_row_stage *stage, int loop) {
    for (int k = 0; k < stage->stage->n_axes; k++)
        if (stage->where[k] == loop)
            return true;
    return false;
}

static int bound_stages(const opf_rows *rows, int loop) {
    int count = 0;
    for (int s = 0; s < rows->n_stages; s++)
        count += rows->stages[s].kept && is_bound(&rows->stages[s], loop);
    return count;
}

static opf_loop_order order_loops(const opf_rows *rows, const opf_stage *domain) {
    opf_loop_order order = {0};
    for (int k = 0; k < domain->n_axes; k++) {
        if (is_unit(domain, k))
            continue;
        int at = order.count++, loop = at, weight = bound_stages(rows, loop);
        for (; at > 0 && bound_stages(rows, order.at[at - 1]) < weight; at--)
            order.at[at] = order.at[at - 1];
        order.at[at] = loop;
    }
    return order;
}

/* Is the loop among the first `depth` of the order? */
static bool stands_outside(const opf_loop_order *order, int depth, int loop) {
    for (int k = 0; k < depth; k++)
        if (order->at[k] == loop)
            return true;
    return false;
}

/* Operations of one computation of the stage's free axes, and of the nest. */
static double work_of(const opf_row_stage *stage, double points) {
    const opf_stage *s = stage->stage;
    return points * nominal_points(s, s->n_axes, s->n_axes + s->n_reduce) * (stage->price + 1);
}

static double total_work(const opf_rows *rows) {
    double total = 0;
    for (int s = 0; s < rows->n_stages; s++)
        if (rows->stages[s].kept || rows->stages[s].is_result)
            total += work_of(&rows->stages[s], rows->stages[s].elements);
    return total;
}

/* Does the stage read memory along another loop than the one along which the results are written? Results are written
 * along their last axis. A reduction along its own axis must not be bound to that; one that is vectorised along a loop
 * must be so along that one. */
static bool against_grain(const opf_row_stage *stage, int last_loop, double result_elements) {
    const opf_stage *s = stage->stage;
    if (!reduces(s) || stage->grain < 0 || last_loop < 0 || result_elements <= MUCH_LARGER * stage->elements)
        return false;
    if (stage->grain >= s->n_axes)
        return is_bound(stage, last_loop);
    int where = stage->where[stage->grain];
    return where >= 0 && where != last_loop;
}

/* A kept stage stands as deep as all loops outside are bound to it; its other axes are free. */
static opf_row_verdict judge_kept(const opf_row_stage *stage, const opf_loop_order *order, double total, const opf_rule_settings *settings) {
    const opf_stage *s = stage->stage;
    int depth = 0;
    while (depth < order->count && is_bound(stage, order->at[depth]))
        depth++;
    bool any_free = false;
    double free_points = 1, positions = 1;
    for (int k = 0; k < s->n_axes; k++) {
        if (stage->where[k] == AXIS_UNIT)
            continue;
        bool bound = stands_outside(order, depth, stage->where[k]);
        any_free = any_free || !bound;
        *(bound ? &positions : &free_points) *= (double)opf_dim_nominal(s->extents[k]);
    }
    if (stage->is_result)
        return any_free ? refuse(OPF_RULE_NOT_ROWS, stage, 0) : (opf_row_verdict){.fits = true};
    double bytes = free_points * opf_dtype_bits(s->dtype) / 8;
    if (bytes > opf_threshold_of(settings, OPF_THRESHOLD_ROW_BYTES))
        return refuse(OPF_RULE_LONG_ROW, stage, (int64_t)bytes);
    bool shared_out = depth == 0 && work_of(stage, free_points) * SMALL_SHARE <= total;
    if (positions < opf_threshold_of(settings, OPF_THRESHOLD_ROWS) && total > MUCH_WORK && !shared_out)
        return refuse(any_free && depth == 0 ? OPF_RULE_NOT_ROWS : OPF_RULE_FEW_ROWS, stage, 0);
    return (opf_row_verdict){.fits = true};
}

opf_row_verdict opf_rows_fit(const opf_group *group, const opf_rule_settings *settings, opf_pool *pool, opf_arena *scratch) {
    int n = (int)group->stages.list.count;
    opf_rows rows = {.group = group, .pool = pool, .n_inputs = (int)group->stages.inputs.count, .n_stages = n};
    rows.stages = OPF_ARRAY(scratch, opf_row_stage, n);
    for (int s = 0; s < n; s++) {
        rows.stages[s].stage = group->stages.list.data[s];
        start_stage(&rows.stages[s]);
    }
    const opf_row_stage *first = &rows.stages[group->results.data[0].stage];
    for (size_t r = 0; r < group->results.count; r++) {
        opf_row_stage *result = &rows.stages[group->results.data[r].stage];
        if (!same_domain(first->stage, result->stage))
            return refuse(OPF_RULE_DOMAINS, result, 0);
        start_result(result);
    }
    price_stages(&rows);
    find_grains(&rows);
    follow_loads(&rows);
    opf_loop_order order = order_loops(&rows, first->stage);
    double total = total_work(&rows);
    for (int s = 0; s < n; s++) {
        if (rows.stages[s].kept && against_grain(&rows.stages[s], order.count - 1, first->elements))
            return refuse(OPF_RULE_AGAINST_GRAIN, &rows.stages[s], 0);
        opf_row_verdict verdict = rows.stages[s].kept ? judge_kept(&rows.stages[s], &order, total, settings) : (opf_row_verdict){.fits = true};
        if (!verdict.fits)
            return verdict;
    }
    return (opf_row_verdict){.fits = true};
}
