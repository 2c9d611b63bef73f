/* Builds a scalar operator: broadcasts the operands, reads the line's expression with their types, gives one stage, and one
 * for each reduction along a row. */
#include "ops/scalar.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* One node being built. */
typedef struct builder {
    opf_call *call;
    const opf_scalar_op_entry *entry;
    const opf_scalar_case *one;
    opf_dtype T, compute;
    int rank;
    int axis;                                      /* where the second operand starts; -1: numpy's way */
    int row;                                       /* the axis that rows lie along */
    opf_dim out[OPF_MAX_RANK];
    const opf_expr *fold;                          /* variadic: all inputs folded */
    const opf_expr *left, *right;                  /* variadic: the two operands of one fold */
    const opf_expr *lets[OPF_SCALAR_CLAUSES];
    int n_lets;                                    /* defined so far */
} builder;

/* ---- types ---- */

static bool has_type(uint32_t set, opf_dtype dtype) {
    return set >> dtype & 1;
}

/* T is the type of the first operand that has no type of its own. */
static opf_dtype find_type(builder *builder) {
    opf_call *call = builder->call;
    const opf_value *first = NULL;
    for (int k = 0; k < call->node->n_inputs; k++) {
        const opf_value *value = call->node->inputs[k];
        int position = k < builder->entry->n_operands ? k : builder->entry->n_operands - 1;
        const opf_scalar_operand *operand = &builder->entry->operands[position];
        if (!value) continue;
        if (operand->types) {
            if (!has_type(operand->types, value->dtype)) opf_call_error(call, "type", "input %d '%s' of %s cannot be %s", k, value->name, call->op->name, opf_dtype_name(value->dtype));
        } else if (!first) {
            first = value;
        } else if (first->dtype != value->dtype) {
            opf_call_error(call, "type", "the operands are %s and %s; %s needs one type", opf_dtype_name(first->dtype), opf_dtype_name(value->dtype), call->op->name);
            opf_call_hint(call, "put a Cast before input %d", k);
        }
    }
    return first ? first->dtype : OPF_NO_DTYPE;
}

static bool case_applies(const builder *builder, const opf_scalar_case *one) {
    if (!has_type(one->types, builder->T)) return false;
    for (int k = 0; k < builder->entry->n_operands; k++) {
        const opf_value *value = opf_call_input(builder->call, k);
        if (one->own[k] && value && !has_type(one->own[k], value->dtype)) return false;
    }
    if (!one->when) return true;
    const opf_attr *attr = opf_node_attr(builder->call->node, one->when);
    if (!attr) return strcmp(one->otherwise, one->is) == 0;
    if (attr->kind == OPF_ATTR_STRING) return strcmp(attr->strings[0], one->is) == 0;
    char text[24];
    snprintf(text, sizeof text, "%lld", attr->kind == OPF_ATTR_INT ? (long long)attr->ints[0] : -1LL);
    return strcmp(text, one->is) == 0;
}

static const opf_scalar_case *find_case(builder *builder) {
    bool type_fits = false;
    for (int k = 0; k < builder->entry->n_cases; k++) {
        if (case_applies(builder, &builder->entry->cases[k])) return &builder->entry->cases[k];
        type_fits = type_fits || has_type(builder->entry->cases[k].types, builder->T);
    }
    const char *name = builder->call->op->name;
    if (!type_fits) opf_call_error(builder->call, "unsupported", "%s of %s is not supported", name, opf_dtype_name(builder->T));
    else opf_call_error(builder->call, "attribute", "%s knows no such value of its attribute '%s'", name, builder->entry->cases[0].when);
    return NULL;
}

/* ---- operands ---- */

/* Before opset 7 the second operand of a binary operator was placed by attributes: `broadcast` 1 lets it be smaller, and
 * its first axis is axis `axis` of the first operand's. -1: both end together, as in numpy. */
static int aligned_axis(builder *builder) {
    opf_call *call = builder->call;
    const opf_value *a = opf_call_input(call, 0), *b = opf_call_input(call, 1);
    bool given = opf_node_attr(call->node, "axis") != NULL, single = b && b->rank == 1 && opf_is_value(b->dims[0], 1);
    if (!builder->entry->aligned || !b || (!given && (builder->entry->aligned_axis < 0 || single || a->rank <= b->rank))) return -1;
    return opf_call_axis(call, given ? opf_node_int(call->node, "axis", 0) : builder->entry->aligned_axis, a->rank ? a->rank : 1);
}

static const opf_expr *load_aligned(builder *builder, int input) {
    opf_call *call = builder->call;
    if (builder->axis < 0 || input != 1) return opf_call_load_broadcast(call, input, builder->rank, builder->out);
    const opf_expr *indices[OPF_MAX_RANK];
    for (int k = 0; k < opf_call_rank(call, input); k++)
        indices[k] = opf_is_value(opf_call_dim(call, input, k), 1) ? opf_int(call->pool, 0) : opf_var(call->pool, builder->axis + k);
    return opf_call_load(call, input, indices);
}

static void broadcast_aligned(builder *builder) {
    opf_call *call = builder->call;
    const opf_value *a = opf_call_input(call, 0), *b = opf_call_input(call, 1);
    int skip = builder->axis;
    builder->rank = a->rank;
    if (skip + b->rank > a->rank) {
        opf_call_error(call, "shape", "the second operand has %d axes from axis %d on, and the first has %d", b->rank, skip, a->rank);
        return;
    }
    for (int k = 0; k < a->rank; k++) {
        bool covered = k >= skip && k < skip + b->rank && !opf_is_value(b->dims[k - skip], 1);
        builder->out[k] = covered ? opf_call_same(call, a->dims[k], b->dims[k - skip], "the operands share an axis") : a->dims[k];
    }
}

static void broadcast(builder *builder) {
    opf_call *call = builder->call;
    builder->axis = aligned_axis(builder);
    if (builder->axis >= 0) broadcast_aligned(builder);
    else builder->rank = opf_call_broadcast(call, call->node->n_inputs, call->node->inputs, builder->out);
}

static const opf_expr *operand(builder *builder, int input) {
    const opf_expr *load = load_aligned(builder, input);
    return load->dtype == OPF_BOOL || load->dtype == builder->compute ? load : opf_cast(builder->call->pool, builder->compute, load);
}

/* ---- attributes ---- */

static const opf_expr *attribute(builder *builder, const opf_scalar_attr *attr) {
    const opf_attr *given = opf_node_attr(builder->call->node, attr->name);
    double value = (float)attr->value; /* defaults are float32 in ONNX's text too */
    if (given && given->kind == OPF_ATTR_FLOAT) value = given->floats[0];
    else if (given && given->kind == OPF_ATTR_INT) value = (double)given->ints[0];
    else if (given) opf_call_error(builder->call, "attribute", "attribute '%s' of %s must be one number", attr->name, builder->call->op->name);
    if (opf_dtype_is_integer(builder->compute) && value != trunc(value)) {
        opf_call_error(builder->call, "attribute", "attribute '%s' is %g, and %s of %s is computed in %s", attr->name, value, builder->call->op->name, opf_dtype_name(builder->T), opf_dtype_name(builder->compute));
        if (builder->entry->source) opf_call_hint(builder->call, "`in float64` in the operator's line computes it with fractions");
    }
    return opf_number(builder->call->pool, builder->compute, value);
}

static bool knows_attribute(const builder *builder, const char *name) {
    if (builder->entry->rows && strcmp(name, "axis") == 0) return true;
    if (builder->entry->aligned && (strcmp(name, "axis") == 0 || strcmp(name, "broadcast") == 0)) return true;
    for (int c = 0; c < builder->entry->n_cases; c++) {
        const opf_scalar_case *one = &builder->entry->cases[c];
        if (one->when && strcmp(one->when, name) == 0) return true;
        for (int k = 0; k < one->n_attrs; k++)
            if (strcmp(one->attrs[k].name, name) == 0) return true;
    }
    return false;
}

/* What the line of a user's operator does not speak of is taken for a mistake; ONNX's own operators have attributes that
 * change no number. */
static void check_attributes(builder *builder) {
    const opf_node *node = builder->call->node;
    for (int k = 0; builder->entry->source && k < node->n_attrs; k++)
        if (!knows_attribute(builder, node->attrs[k].name)) {
            opf_call_error(builder->call, "attribute", "the operator's text does not speak of the node's attribute '%s'", node->attrs[k].name);
            opf_call_hint(builder->call, "%s of %s is `%s`", node->op, builder->entry->source, builder->entry->op.scalar);
        }
}

/* ---- names ---- */

static const opf_expr *operand_name(builder *builder, const char *name) {
    opf_pool *pool = builder->call->pool;
    for (int k = 0; k < builder->entry->n_operands; k++) {
        const char *own = builder->entry->operands[k].name;
        bool given = opf_call_input(builder->call, k) != NULL;
        if (strcmp(own, name) == 0) {
            if (builder->entry->variadic) return k == 0 ? builder->left : builder->right;
            return given ? operand(builder, k) : opf_number(pool, builder->compute, 0);
        }
        if (strncmp(name, "has_", 4) == 0 && strcmp(name + 4, own) == 0) return opf_int_of(pool, OPF_BOOL, given);
    }
    return NULL;
}

static const opf_expr *look_up(void *data, const char *name) {
    builder *builder = data;
    const opf_scalar_case *one = builder->one;
    for (int k = 0; k < builder->n_lets; k++)
        if (strcmp(one->lets[k].name, name) == 0) return builder->lets[k];
    for (int k = 0; k < one->n_attrs; k++)
        if (strcmp(one->attrs[k].name, name) == 0) return attribute(builder, &one->attrs[k]);
    if (builder->entry->variadic && strcmp(name, "fold") == 0) return builder->fold;
    if (builder->entry->variadic && strcmp(name, "n") == 0) return opf_number(builder->call->pool, builder->compute, builder->call->node->n_inputs);
    if (builder->entry->rows && strcmp(name, "length") == 0) return opf_cast(builder->call->pool, builder->compute, builder->out[builder->row]);
    if (strcmp(name, "bits") == 0) return opf_number(builder->call->pool, builder->compute, opf_dtype_bits(builder->T));
    return operand_name(builder, name);
}

static const opf_expr *read_expression(builder *builder, opf_scalar_text text) {
    opf_expr_scope scope = {.lookup = look_up, .data = builder, .dtype = builder->compute, .column = text.column};
    const char *error = NULL;
    const opf_expr *e = opf_expr_parse(builder->call->pool, text.text, &scope, &error);
    if (!e) opf_call_error(builder->call, "operators", "line %d, %s", builder->one->line, error);
    return e;
}

/* ---- rows ---- */

static void find_row(builder *builder) {
    if (!builder->entry->rows) return;
    if (builder->rank == 0) opf_call_error(builder->call, "shape", "%s reduces along an axis, and its operands have none", builder->call->op->name);
    else builder->row = opf_call_axis(builder->call, opf_node_int(builder->call->node, "axis", -1), builder->rank);
}

/* A stage that reduces `term`, which speaks of a point of the output, along the row; its element at that point. */
static const opf_expr *reduce_row(builder *builder, const opf_scalar_let *let, const opf_expr *term) {
    opf_call *call = builder->call;
    int rank = builder->rank, row = builder->row, kept = 0;
    const opf_expr *variables[OPF_MAX_RANK], *indices[OPF_MAX_RANK];
    opf_dim extents[OPF_MAX_RANK];
    for (int k = 0; k < rank; k++) {
        variables[k] = opf_var(call->pool, k == row ? rank - 1 : kept);
        if (k == row) continue;
        extents[kept] = builder->out[k];
        indices[kept++] = opf_var(call->pool, k);
    }
    extents[rank - 1] = builder->out[row];
    opf_dtype dtype = (opf_dtype)term->dtype;
    int stage = opf_call_stage(call, let->name, rank - 1, 1, extents, NULL, let->combiner, dtype, dtype, opf_expr_bind(call->pool, term, rank, variables), NULL);
    return opf_call_load(call, stage, indices);
}

static const opf_expr *part(builder *builder, const opf_scalar_let *let) {
    const opf_expr *value = read_expression(builder, let->value);
    if (!value || let->combiner == OPF_COMBINE_NONE) return value;
    if (value->dtype != OPF_BOOL) return reduce_row(builder, let, value);
    opf_call_error(builder->call, "operators", "line %d, column %d: a reduction takes numbers, and this is a bool", builder->one->line, let->value.column);
    return NULL;
}

/* ---- the node ---- */

static void fold_inputs(builder *builder) {
    for (int k = 0; k < builder->call->node->n_inputs; k++) {
        if (!opf_call_input(builder->call, k)) continue;
        const opf_expr *next = operand(builder, k);
        if (builder->fold) {
            builder->left = builder->fold;
            builder->right = next;
            next = read_expression(builder, builder->one->fold);
        }
        builder->fold = next;
    }
}

static const opf_expr *body(builder *builder) {
    if (builder->entry->variadic) fold_inputs(builder);
    for (int k = 0; k < builder->one->n_lets && !builder->call->failed; k++) {
        builder->lets[k] = part(builder, &builder->one->lets[k]);
        builder->n_lets = k + 1;
    }
    return builder->call->failed ? NULL : read_expression(builder, builder->one->result);
}

opf_status opf_scalar_build_case(opf_call *call, const opf_scalar_case *one, opf_dtype T) {
    builder builder = {.call = call, .entry = (const opf_scalar_op_entry *)call->op, .one = one, .T = T};
    builder.compute = one->compute ? one->compute : opf_call_compute(T);
    broadcast(&builder);
    if (!call->failed) find_row(&builder);
    check_attributes(&builder);
    if (call->failed) return OPF_ERROR_INPUT;
    const opf_expr *value = body(&builder);
    if (!value || call->failed) return OPF_ERROR_INPUT;
    if (value->dtype == builder.compute && builder.compute != builder.T) value = opf_cast(call->pool, builder.T, value);
    opf_call_result(call, 0, opf_call_map(call, NULL, builder.rank, builder.out, value));
    return OPF_OK;
}

opf_status opf_scalar_build(opf_call *call) {
    builder builder = {.call = call, .entry = (const opf_scalar_op_entry *)call->op};
    builder.T = find_type(&builder);
    if (call->failed) return OPF_ERROR_INPUT;
    const opf_scalar_case *one = find_case(&builder);
    return one ? opf_scalar_build_case(call, one, builder.T) : OPF_ERROR_UNSUPPORTED;
}
