/* The prologue test of policy best.
 *
 * Contractions copy their operands into panels, or into windows with borders, before they multiply: what is cheap costs
 * nothing there. A second operand that lies well already is read in place; with work in front it is copied row by row
 * (loop/tile.h), which costs no more than storing it where its columns are walked as one axis. Two things make no copy, and read
 * what stands in front once for each use: windows of a channel of its own, and pools. */
#include "fuse/prologue.h"

enum { MANY = 8 }; /* uses of an element from which a copy is made */

/* ---- what stands in front ---- */

typedef struct opf_work {
    double price; /* operations an element, with all that is computed inside */
    int loads;    /* of outside values */
    bool chooses; /* between elements: a concatenation, or an element and a border */
    bool joins;   /* between elements of several tensors */
    bool pictures;/* the last two axes are read as they lie */
    bool even;    /* every operand is walked along the last two axes as along one, if at all */
} opf_work;

typedef struct opf_work_list {
    const opf_group *group;
    opf_work *stages, *sum;
} opf_work_list;

static bool add_work(const opf_expr *e, void *data) {
    opf_work_list *list = data;
    int n_inputs = (int)list->group->stages.inputs.count;
    if ((e->kind == OPF_EXPR_UNARY || e->kind == OPF_EXPR_BINARY) && (e->dtype != OPF_INT64 || opf_expr_has_load(e)) && e->dtype != OPF_BOOL)
        list->sum->price += opf_scalar_ops[e->op].flops;
    if (e->kind == OPF_EXPR_SELECT) {
        list->sum->chooses = true;
        list->sum->joins = list->sum->joins || (opf_expr_has_load(e->args[1]) && opf_expr_has_load(e->args[2]));
    }
    if (e->kind == OPF_EXPR_LOAD && e->index < n_inputs)
        list->sum->loads++;
    if (e->kind == OPF_EXPR_LOAD && e->index >= n_inputs) {
        const opf_work *read = &list->stages[e->index - n_inputs];
        list->sum->price += read->price;
        list->sum->loads += read->loads;
        list->sum->chooses = list->sum->chooses || read->chooses;
        list->sum->joins = list->sum->joins || read->joins;
    }
    return true;
}

/* ---- moves that leave the rows of a picture as they are ---- */

typedef struct opf_inlining {
    const opf_group *group;
    int depth;
} opf_inlining;

enum { MOST_MOVES = 16 };

static const opf_expr *inline_move(opf_pool *pool, const opf_expr *leaf, void *data) {
    opf_inlining *in = data;
    int stage = leaf->kind == OPF_EXPR_LOAD ? leaf->index - (int)in->group->stages.inputs.count : -1;
    if (stage < 0 || in->depth > MOST_MOVES)
        return NULL;
    in->depth++;
    const opf_stage *read = in->group->stages.list.data[stage];
    const opf_expr *bound = opf_expr_map(pool, opf_expr_bind(pool, read->body, read->n_axes, leaf->args), inline_move, in);
    in->depth--;
    return bound;
}

/* The group's one result over its inputs; NULL where it has several. */
static const opf_expr *written_out(const opf_group *group, opf_pool *pool, const opf_stage **result) {
    if (group->results.count != 1)
        return NULL;
    *result = group->stages.list.data[group->results.data[0].stage];
    opf_inlining in = {group, 0};
    return opf_expr_simplify(pool, opf_expr_map(pool, (*result)->body, inline_move, &in), opf_stage_domain(*result));
}

/* ---- lines that lie behind each other ---- */

typedef struct opf_evenness {
    const opf_group *group;
    opf_pool *pool;
    const opf_stage *result;
} opf_evenness;

static bool load_is_even(const opf_expr *e, void *data) {
    const opf_evenness *even = data;
    int line = even->result->n_axes - 2;
    if (e->kind != OPF_EXPR_LOAD)
        return true;
    if (e->index >= (int)even->group->stages.inputs.count)
        return false;
    const opf_value *value = even->group->stages.inputs.data[e->index];
    const opf_expr *offset = opf_int(even->pool, 0), *down, *along, *rest;
    for (int k = 0; k < e->n_args; k++)
        offset = opf_add(even->pool, opf_mul(even->pool, offset, value->dims[k]), e->args[k]);
    return opf_expr_affine(even->pool, offset, line + 1, &along, &rest) && opf_expr_affine(even->pool, rest, line, &down, &rest) &&
           down == opf_mul(even->pool, along, even->result->extents[line + 1]);
}

static bool is_even(const opf_group *group, opf_pool *pool) {
    opf_evenness even = {group, pool, NULL};
    const opf_expr *e = written_out(group, pool, &even.result);
    return e && even.result->n_axes >= 2 && opf_expr_visit(pool, e, load_is_even, &even);
}

/* Is the group's result its operand with other axes than the last two in another order (a shuffle of channels, a slice)? */
static bool keeps_pictures(const opf_group *group, opf_pool *pool) {
    const opf_stage *result;
    const opf_expr *e = written_out(group, pool, &result);
    int rank = e ? result->n_axes : 0;
    if (!e || e->kind != OPF_EXPR_LOAD || e->index >= (int)group->stages.inputs.count || e->n_args < 3 || rank < 3)
        return false;
    for (int last = 1; last <= 2; last++) {
        const opf_expr *index = e->args[e->n_args - last];
        bool single = opf_is_value(result->extents[rank - last], 1) && opf_is_value(index, 0);
        if (!single && !(index->kind == OPF_EXPR_VAR && index->index == rank - last))
            return false;
    }
    return true;
}

/* The dearest of the results; false where something is reduced. */
static bool study_producer(const opf_group *group, opf_pool *pool, opf_arena *scratch, opf_work *work) {
    opf_work_list list = {.group = group, .stages = OPF_ARRAY(scratch, opf_work, group->stages.list.count)};
    for (size_t s = 0; s < group->stages.list.count; s++) {
        const opf_stage *stage = group->stages.list.data[s];
        if (stage->combiner != OPF_COMBINE_NONE)
            return false;
        list.sum = &list.stages[s];
        opf_expr_visit(pool, stage->body, add_work, &list);
    }
    *work = (opf_work){.pictures = keeps_pictures(group, pool), .even = is_even(group, pool)};
    for (size_t r = 0; r < group->results.count; r++) {
        const opf_work *result = &list.stages[group->results.data[r].stage];
        work->price = result->price > work->price ? result->price : work->price;
        work->loads = result->loads > work->loads ? result->loads : work->loads;
        work->chooses = work->chooses || result->chooses;
        work->joins = work->joins || result->joins;
    }
    return true;
}

/* ---- how it is read ---- */

typedef struct opf_reading {
    const opf_stage *stage;
    const opf_value *value;
    const opf_group *user;
    bool copied;   /* each element serves many positions of an axis that the load lacks: a panel is made */
    bool again;    /* it serves several positions, be it of a window */
    bool in_place; /* the load walks along the last axis with nothing between: rows may be read where they lie */
    bool lines;    /* the axis before the last one walks along the result too: rows are lines of a picture */
    bool window;   /* an index joins an axis of the result and a reduced one */
    bool product;  /* the stage sums products in float32, so that a register tile computes it */
    bool epilogue; /* the stage stands behind a reduction and reduces nothing itself */
} opf_reading;

static bool is_unit(const opf_stage *stage, int axis) { return opf_is_value(stage->extents[axis], 1); }

static void study_load(opf_reading *reading, const opf_expr *load) {
    const opf_stage *stage = reading->stage;
    uint64_t vars = 0, plain_axes = (UINT64_C(1) << stage->n_axes) - 1;
    for (int k = 0; k < load->n_args; k++) {
        uint64_t own = opf_expr_vars(load->args[k]), real = 0;
        for (int v = 0; v < stage->n_axes + stage->n_reduce; v++)
            if (own >> v & 1 && !is_unit(stage, v))
                real |= UINT64_C(1) << v;
        reading->window = reading->window || ((real & plain_axes) && (real & ~plain_axes));
        vars |= real;
    }
    int last = -1;
    for (int v = 0; v < stage->n_axes; v++) {
        if (is_unit(stage, v))
            continue;
        last = v;
        if (vars >> v & 1)
            continue;
        reading->again = true;
        reading->copied = reading->copied || opf_dim_nominal(stage->extents[v]) >= MANY;
    }
    reading->again = reading->again || reading->window;
    reading->in_place = last >= 0 && vars >> last & 1;
    reading->lines = load->n_args >= 2 && (opf_expr_vars(load->args[load->n_args - 2]) & plain_axes);
}

static bool reads_value(const opf_reading *reading, const opf_expr *e) {
    const opf_stages *stages = &reading->user->stages;
    return e->kind == OPF_EXPR_LOAD && (size_t)e->index < stages->inputs.count && stages->inputs.data[e->index] == reading->value;
}

static bool meet_load(const opf_expr *e, void *data) {
    if (reads_value(data, e))
        study_load(data, e);
    return true;
}

static bool passes_by(const opf_expr *e, void *data) { return !reads_value(data, e); }

static bool is_tiled_sum(const opf_stage *stage) {
    const opf_expr *body = stage->body;
    while (body->kind == OPF_EXPR_CAST)
        body = body->args[0];
    return stage->combiner == OPF_COMBINE_SUM && body->kind == OPF_EXPR_BINARY && body->op == OPF_OP_MUL &&
           stage->dtype == OPF_FLOAT32 && stage->accumulator == OPF_FLOAT32;
}

/* Work in front of an epilogue that is done once may cost less than a transcendental function, which wants a loop of its own. */
static opf_rule_number judge(const opf_work *work, const opf_reading *reading, const opf_rule_settings *settings) {
    bool few = work->loads <= opf_threshold_of(settings, OPF_THRESHOLD_PROLOGUE_LOADS), moves = work->price == 0 && work->loads == 1;
    bool cheap = few && work->price <= opf_threshold_of(settings, OPF_THRESHOLD_PROLOGUE_CHEAP);
    bool moderate = few && work->price <= opf_threshold_of(settings, OPF_THRESHOLD_PROLOGUE_MODERATE);
    if (reading->epilogue)
        return cheap || (moderate && !reading->again) ? OPF_RULE_PROLOGUE : OPF_RULE_PROLOGUE_DEAR;
    if (!reading->copied && moves && work->pictures && !work->chooses)
        return OPF_RULE_PROLOGUE; /* which channel is read is found once for all its windows */
    if (!reading->product)
        return reading->window && cheap && !moves && !work->chooses ? OPF_RULE_PROLOGUE : OPF_RULE_PROLOGUE_REPEATED;
    if (!reading->window && moves && !work->chooses)
        return OPF_RULE_PROLOGUE;
    if (!reading->copied && reading->again)
        return OPF_RULE_PROLOGUE_REPEATED;
    if (!cheap)
        return OPF_RULE_PROLOGUE_DEAR;
    if (work->joins)
        return OPF_RULE_PROLOGUE_JOINS;
    bool copies_well = reading->window || !reading->in_place || !reading->again || !reading->lines || work->even;
    return copies_well ? OPF_RULE_PROLOGUE : OPF_RULE_PROLOGUE_IN_PLACE;
}

static opf_rule_number judge_value(const opf_work *work, const opf_value *value, const opf_group *user, const opf_rule_settings *settings, opf_pool *pool) {
    bool behind = false;
    for (size_t s = 0; s < user->stages.list.count; s++) {
        const opf_stage *stage = user->stages.list.data[s];
        bool reduces = stage->combiner != OPF_COMBINE_NONE;
        opf_reading reading = {.stage = stage, .value = value, .user = user, .product = is_tiled_sum(stage), .epilogue = behind && !reduces};
        if (!opf_expr_visit(pool, stage->body, passes_by, &reading)) {
            opf_expr_visit(pool, stage->body, meet_load, &reading);
            opf_rule_number rule = judge(work, &reading, settings);
            if (rule != OPF_RULE_PROLOGUE)
                return rule;
        }
        behind = behind || reduces;
    }
    return OPF_RULE_PROLOGUE;
}

opf_rule_number opf_prologue_fits(const opf_group *producer, const opf_group *user, const opf_rule_settings *settings, opf_pool *pool, opf_arena *scratch) {
    opf_work work;
    if (!study_producer(producer, pool, scratch, &work))
        return OPF_RULE_PROLOGUE_DEAR;
    for (size_t r = 0; r < producer->results.count; r++) {
        opf_rule_number rule = judge_value(&work, producer->results.data[r].value, user, settings, pool);
        if (rule != OPF_RULE_PROLOGUE)
            return rule;
    }
    return OPF_RULE_PROLOGUE;
}
