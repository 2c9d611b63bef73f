/* Shape arithmetic: the stages of a node, evaluated element by element over expressions of symbols. */
#include "ops/content.h"

#include "base/checked.h"
#include "ops/build.h"
#include "ops/facts.h"
#include "ops/lift.h"

static bool has_content_type(opf_dtype dtype) {
    return dtype == OPF_BOOL || opf_dtype_is_integer(dtype) || dtype == OPF_FLOAT32 || dtype == OPF_FLOAT64 || dtype == OPF_FLOAT16 || dtype == OPF_BFLOAT16;
}

/* ---- values ---- */

const opf_expr *opf_value_element(const opf_value *value, int64_t index) {
    if (value->content) return index >= 0 && index < value->content_count ? value->content[index] : NULL;
    const opf_tensor *tensor = value->constant;
    if (!tensor || index < 0 || index >= tensor->elements || !has_content_type(tensor->dtype)) return NULL;
    opf_pool *pool = value->graph->module->pool;
    if (opf_dtype_is_float(tensor->dtype)) return opf_real(pool, tensor->dtype, opf_tensor_get(tensor, index));
    return opf_int_of(pool, tensor->dtype, opf_tensor_get_int(tensor, index));
}

const opf_expr *const *opf_value_content(opf_value *value) {
    const opf_tensor *tensor = value->constant;
    if (value->content || !tensor || tensor->elements > OPF_CONTENT_ELEMENTS || !has_content_type(tensor->dtype)) return value->content;
    const opf_expr **content = OPF_ARRAY(value->graph->module->arena, const opf_expr *, tensor->elements + 1);
    for (int64_t k = 0; k < tensor->elements; k++) content[k] = opf_value_element(value, k);
    value->content = content;
    value->content_count = tensor->elements;
    return content;
}

/* ---- stages ---- */

typedef struct stage_content {
    int64_t elements;          /* -1: not of a known, small size */
    const opf_expr **known;    /* NULL entries: not asked for yet */
} stage_content;

typedef struct evaluation {
    opf_call *call;
    stage_content *stages;
    int64_t terms, most_terms; /* evaluated so far; when to give up */
} evaluation;

static const opf_expr *stage_element(evaluation *evaluation, size_t stage, int64_t index);

/* Product of constant extents; -1 where one is no constant or the product is too large. */
static int64_t constant_size(int count, const opf_dim *extents, int64_t limit) {
    int64_t size = 1;
    for (int k = 0; k < count; k++) {
        int64_t extent;
        if (!opf_is_int(extents[k], &extent) || extent < 0 || !opf_checked_mul(size, extent, &size)) return -1;
    }
    return size <= limit ? size : -1;
}

/* Row-major position of a load; -1 where an index or extent is no constant, or the index is out of range. */
static int64_t load_position(const opf_call *call, const opf_expr *load) {
    int64_t position = 0;
    for (int k = 0; k < load->n_args; k++) {
        int64_t extent, index;
        if (!opf_is_int(opf_call_dim(call, load->index, k), &extent) || !opf_is_int(load->args[k], &index)) return -1;
        if (index < 0 || index >= extent || !opf_checked_mul(position, extent, &position) || !opf_checked_add(position, index, &position)) return -1;
    }
    return position;
}

static const opf_expr *replace_load(opf_pool *pool, const opf_expr *leaf, void *data) {
    (void)pool;
    evaluation *evaluation = data;
    if (leaf->kind != OPF_EXPR_LOAD) return NULL;
    int64_t position = load_position(evaluation->call, leaf);
    if (position < 0) return NULL;
    size_t inputs = evaluation->call->stages.inputs.count, tensor = (size_t)leaf->index;
    if (tensor < inputs) return opf_value_element(evaluation->call->stages.inputs.data[tensor], position);
    return stage_element(evaluation, tensor - inputs, position);
}

/* `body` at constant positions of all axes; NULL where it reads what is unknown. A load on the side of a select that is
 * not taken does no harm. */
static const opf_expr *body_at(evaluation *evaluation, const opf_expr *body, int count, const opf_expr *const *position) {
    if (++evaluation->terms > evaluation->most_terms) return NULL;
    opf_pool *pool = evaluation->call->pool;
    const opf_expr *bound = opf_expr_bind(pool, body, count, position);
    if (opf_expr_has_load(bound)) bound = opf_expr_map(pool, bound, replace_load, evaluation);
    return opf_expr_has_load(bound) ? NULL : bound;
}

/* Sets position[first … first+count-1] to the point number `index` of the extents, in row-major order. */
static void set_position(opf_pool *pool, int first, int count, const opf_dim *extents, int64_t index, const opf_expr **position) {
    for (int k = first + count - 1; k >= first; k--) {
        int64_t extent = 1;
        opf_is_int(extents[k], &extent);
        position[k] = opf_int(pool, index % extent);
        index /= extent;
    }
}

static const opf_expr *empty_reduction(opf_pool *pool, const opf_stage *stage) {
    switch (stage->combiner) {
    case OPF_COMBINE_SUM: case OPF_COMBINE_OR: return opf_number(pool, stage->accumulator, 0);
    case OPF_COMBINE_PROD: case OPF_COMBINE_AND: return opf_number(pool, stage->accumulator, 1);
    default: return NULL;
    }
}

/* A running reduction: the value so far and, for pairs, the index that it stands at. */
typedef struct running { const opf_expr *value, *index; } running;

static running combine_pair(opf_pool *pool, opf_combiner combiner, running so_far, running next) {
    static const opf_scalar_op better[OPF_COMBINE_COUNT] = {
        [OPF_COMBINE_ARGMIN] = OPF_OP_LT, [OPF_COMBINE_ARGMIN_LAST] = OPF_OP_LE,
        [OPF_COMBINE_ARGMAX] = OPF_OP_GT, [OPF_COMBINE_ARGMAX_LAST] = OPF_OP_GE,
    };
    const opf_expr *wins = opf_binary(pool, better[combiner], next.value, so_far.value);
    return (running){opf_select(pool, wins, next.value, so_far.value), opf_select(pool, wins, next.index, so_far.index)};
}

static running combine(opf_pool *pool, opf_combiner combiner, running so_far, running next) {
    static const opf_scalar_op plain[OPF_COMBINE_COUNT] = {
        [OPF_COMBINE_SUM] = OPF_OP_ADD, [OPF_COMBINE_PROD] = OPF_OP_MUL, [OPF_COMBINE_MIN] = OPF_OP_MIN,
        [OPF_COMBINE_MAX] = OPF_OP_MAX, [OPF_COMBINE_AND] = OPF_OP_AND, [OPF_COMBINE_OR] = OPF_OP_OR,
    };
    if (!so_far.value) return next;
    if (combiner >= OPF_COMBINE_ARGMIN) return combine_pair(pool, combiner, so_far, next);
    return (running){opf_binary(pool, plain[combiner], so_far.value, next.value), NULL};
}

/* Sums and products of float32 constants are rounded once, as the evaluator does; under `exact` at each term, as it does there. */
typedef struct once { bool applies; double total; } once;

static once once_of(const opf_call *call, const opf_stage *stage) {
    bool real = stage->accumulator == OPF_FLOAT32 && stage->dtype == OPF_FLOAT32 && (stage->combiner == OPF_COMBINE_SUM || stage->combiner == OPF_COMBINE_PROD);
    return (once){real && !opf_module_is_exact(call->module), stage->combiner == OPF_COMBINE_PROD};
}

static void add_once(once *o, const opf_stage *stage, const opf_expr *term) {
    o->applies = o->applies && term->kind == OPF_EXPR_FLOAT;
    if (o->applies) o->total = stage->combiner == OPF_COMBINE_SUM ? o->total + term->real : o->total * term->real;
}

static const opf_expr *reduce_stage(evaluation *evaluation, const opf_stage *stage, const opf_expr **position) {
    opf_pool *pool = evaluation->call->pool;
    int count = stage->n_axes + stage->n_reduce;
    int64_t terms = constant_size(stage->n_reduce, stage->extents + stage->n_axes, evaluation->most_terms);
    if (terms <= 0) return terms == 0 ? empty_reduction(pool, stage) : NULL;
    running result = {NULL, NULL};
    once total = once_of(evaluation->call, stage);
    for (int64_t term = 0; term < terms; term++) {
        set_position(pool, stage->n_axes, stage->n_reduce, stage->extents, term, position);
        running next = {body_at(evaluation, stage->body, count, position), NULL};
        if (stage->second && next.value) next.index = body_at(evaluation, stage->second, count, position);
        if (!next.value || (stage->second && !next.index)) return NULL;
        result = combine(pool, stage->combiner, result, next);
        add_once(&total, stage, next.value);
    }
    if (total.applies) return opf_real(pool, OPF_FLOAT32, total.total);
    const opf_expr *value = stage->second ? result.index : result.value;
    return value->dtype == stage->dtype ? value : opf_cast(pool, stage->dtype, value);
}

static const opf_expr *stage_element(evaluation *evaluation, size_t index, int64_t element) {
    const opf_stage *stage = evaluation->call->stages.list.data[index];
    stage_content *content = &evaluation->stages[index];
    if (!content->known) {
        content->elements = constant_size(stage->n_axes, stage->extents, OPF_CONTENT_ELEMENTS);
        content->known = OPF_ARRAY(evaluation->call->arena, const opf_expr *, content->elements < 0 ? 1 : content->elements + 1);
    }
    if (element >= content->elements) return NULL;
    if (content->known[element]) return content->known[element];
    int count = stage->n_axes + stage->n_reduce;
    const opf_expr **position = OPF_ARRAY(evaluation->call->arena, const opf_expr *, count + 1);
    set_position(evaluation->call->pool, 0, stage->n_axes, stage->extents, element, position);
    const opf_expr *value = stage->combiner == OPF_COMBINE_NONE ? body_at(evaluation, stage->body, count, position) : reduce_stage(evaluation, stage, position);
    content->known[element] = value;
    return value;
}

/* Sizes pass through narrower and floating types on their way; as content they stay polynomials of symbols. */
static const opf_expr *tidied(const opf_call *call, const opf_expr *value) {
    if (value->kind == OPF_EXPR_INT || (value->dtype != OPF_INT32 && value->dtype != OPF_INT64)) return value;
    const char *why = opf_arena_printf(call->arena, "%s '%s': sizes fit the types that they are computed in", call->node->op, call->node->name);
    const opf_expr *lifted = opf_dim_canonical(call->module, opf_lift(call->module, value, why));
    return value->dtype == OPF_INT64 ? lifted : opf_cast(call->pool, (opf_dtype)value->dtype, lifted);
}

static void evaluate_result(evaluation *evaluation, size_t stage, opf_value *value) {
    bool sizes = value->dtype == OPF_INT64 || value->dtype == OPF_INT32 || value->dtype == OPF_BOOL;
    int64_t elements = constant_size(value->rank, value->dims, sizes ? OPF_CONTENT_ELEMENTS : OPF_CONTENT_DATA);
    evaluation->terms = 0;
    evaluation->most_terms = sizes ? OPF_CONTENT_TERMS : 4 * OPF_CONTENT_DATA;
    if (elements < 0 || !has_content_type(value->dtype)) return;
    const opf_expr **content = OPF_ARRAY(evaluation->call->arena, const opf_expr *, elements + 1);
    for (int64_t k = 0; k < elements; k++)
        if (!(content[k] = stage_element(evaluation, stage, k))) return;
    for (int64_t k = 0; k < elements; k++) content[k] = tidied(evaluation->call, content[k]);
    value->content = content;
    value->content_count = elements;
}

void opf_call_content_results(opf_call *call) {
    if (call->op->flags & OPF_OP_STATEFUL) return;
    evaluation evaluation = {.call = call, .stages = OPF_ARRAY(call->arena, stage_content, call->stages.list.count + 1)};
    for (int k = 0; k < call->node->n_outputs; k++)
        if (call->node->outputs[k] && call->results[k] >= 0) evaluate_result(&evaluation, (size_t)call->results[k], call->node->outputs[k]);
}
