/* Between DequantizeLinear and QuantizeLinear: may an operator compute with integers, to the last bit as the graph is written?
 *
 * A sum may where no operation on the way to it rounds: every operand is a multiple of a power of two (its step), so are the
 * products, and the largest sum of their magnitudes is at most 2^24 steps, which float32 holds exactly. Then the float32 sum, in any
 * order, is the integer sum times the steps, and computing it with integers changes nothing. Elsewhere the written-out graph rounds
 * operands, products or sums where integers do not, and a result near half a step may fall to the other side. */
#include <math.h>
#include <string.h>

#include "fuse/fuser.h"

enum { MOST_BEHIND = 16 /* nodes between an operator and its quantisation */, FLOAT32_BITS = 24 };

static bool is_op(const opf_node *node, const char *op) { return node && strcmp(node->op, op) == 0; }

/* ---- the numbers that an operand takes ---- */

/* All are multiples of `step`, a power of two, and none is beyond `most`. */
typedef struct opf_grid {
    enum { GRID_EXACT, GRID_ROUNDED, GRID_UNKNOWN } state;
    double step, most;
    const opf_node *dequantize; /* NULL: a constant */
    double scale;               /* of it, the one with the most significant bits */
    int bits;                   /* that the scale has */
} opf_grid;

/* The lowest bit that is set, as a number; the number of bits from it to the highest. */
static double lowest_bit(double number, int *bits) {
    int exponent, width = 53;
    double fraction = ldexp(fabs(frexp(number, &exponent)), 53);
    uint64_t mantissa = (uint64_t)fraction;
    for (; width > 0 && !(mantissa & 1); width--)
        mantissa >>= 1;
    *bits = width;
    return ldexp(1, exponent - width);
}

static opf_grid grid_of_constant(const opf_tensor *tensor) {
    opf_grid grid = {.state = GRID_EXACT, .step = INFINITY};
    for (int64_t k = 0; k < tensor->elements && grid.state == GRID_EXACT; k++) {
        int bits;
        double number = opf_tensor_get(tensor, k);
        if (!isfinite(number))
            grid.state = GRID_UNKNOWN;
        else if (number != 0)
            grid.step = fmin(grid.step, lowest_bit(number, &bits));
        grid.most = fmax(grid.most, fabs(number));
    }
    if (isinf(grid.step))
        grid.step = 1;
    return grid;
}

/* The largest |q - zero point| that the node dequantises. */
static double most_steps(const opf_node *dequantize) {
    opf_dtype dtype = dequantize->inputs[0]->dtype;
    int bits = opf_dtype_bits(dtype);
    double low = opf_dtype_is_signed(dtype) ? -ldexp(1, bits - 1) : 0, high = low + ldexp(1, bits) - 1, most = 0;
    const opf_value *points = dequantize->n_inputs > 2 ? dequantize->inputs[2] : NULL;
    if (!points)
        return fmax(-low, high);
    for (int64_t k = 0; points->constant && k < points->constant->elements; k++) {
        double point = opf_tensor_get(points->constant, k);
        most = fmax(most, fmax(point - low, high - point));
    }
    return points->constant ? most : high - low;
}

static opf_grid grid_of_dequantised(const opf_node *node) {
    opf_grid grid = {.state = GRID_UNKNOWN, .dequantize = node, .step = INFINITY};
    const opf_tensor *scales = node->inputs[1]->constant;
    if (!scales || !opf_dtype_is_integer(node->inputs[0]->dtype))
        return grid;
    double steps = most_steps(node);
    grid.state = GRID_EXACT;
    for (int64_t k = 0; k < scales->elements; k++) {
        int bits;
        double scale = opf_tensor_get(scales, k), unit = lowest_bit(scale, &bits);
        if (!isfinite(scale) || scale == 0)
            return (opf_grid){.state = GRID_UNKNOWN, .dequantize = node};
        if (steps * fabs(scale) / unit > ldexp(1, FLOAT32_BITS))
            grid.state = GRID_ROUNDED;
        if (bits > grid.bits)
            grid.bits = bits, grid.scale = scale;
        grid.step = fmin(grid.step, unit);
        grid.most = fmax(grid.most, steps * fabs(scale));
    }
    return grid;
}

/* The numbers that a byte picks (pass byte-tables); NULL where it does not. */
static const opf_tensor *table_of(const opf_value *value) {
    const opf_node *node = value->producer;
    bool picks = is_op(node, "Gather") && node->inputs[0]->rank == 1 && opf_dtype_is_float(node->outputs[0]->dtype);
    return picks ? node->inputs[0]->constant : NULL;
}

static opf_grid grid_of(const opf_value *value) {
    if (table_of(value))
        return grid_of_constant(table_of(value));
    if (value->constant && opf_dtype_is_float(value->dtype))
        return grid_of_constant(value->constant);
    return is_op(value->producer, "DequantizeLinear") ? grid_of_dequantised(value->producer) : (opf_grid){.state = GRID_UNKNOWN};
}

/* ---- the sum that an operator forms ---- */

typedef struct opf_sum {
    const opf_stage *stage;      /* NULL: it forms none, or more than one, or not of plain products */
    const opf_expr *factors[2];  /* loads of inputs */
    int n_factors;
    bool plain;
} opf_sum;

/* Conditions and indices round nothing. */
static bool look_at_term(const opf_expr *e, void *data) {
    opf_sum *sum = data;
    if (!opf_dtype_is_float((opf_dtype)e->dtype))
        return true;
    if (e->kind == OPF_EXPR_LOAD && sum->n_factors < 2)
        sum->factors[sum->n_factors++] = e;
    else if (e->kind != OPF_EXPR_SELECT && !(e->kind == OPF_EXPR_BINARY && e->op == OPF_OP_MUL) && !(e->kind == OPF_EXPR_FLOAT && e->real == 0))
        sum->plain = false;
    return true;
}

static opf_sum sum_of(const opf_call *call) {
    opf_sum sum = {.plain = true};
    for (size_t s = 0; s < call->stages.list.count; s++) {
        const opf_stage *stage = call->stages.list.data[s];
        if (stage->n_reduce == 0)
            continue;
        if (sum.stage || stage->combiner != OPF_COMBINE_SUM || stage->accumulator != OPF_FLOAT32)
            return (opf_sum){0};
        sum.stage = stage;
        opf_expr_visit(call->pool, stage->body, look_at_term, &sum);
    }
    for (int k = 0; k < sum.n_factors; k++)
        sum.plain = sum.plain && (size_t)sum.factors[k]->index < call->stages.inputs.count;
    return sum.stage && sum.plain && sum.n_factors > 0 ? sum : (opf_sum){0};
}

/* Number of terms, -1 where a size is open. */
static int64_t terms_of(const opf_stage *stage) {
    int64_t terms = 1;
    for (int k = 0; k < stage->n_reduce; k++) {
        int64_t extent;
        if (!opf_is_int(stage->extents[stage->n_axes + k], &extent) || __builtin_mul_overflow(terms, extent, &terms))
            return -1;
    }
    return terms;
}

/* The largest sum of magnitudes over the axes of a constant that the reduction runs over: those whose index no plain variable
 * decides. Never more than terms times the largest. */
static double most_of_row(const opf_stage *stage, const opf_expr *load, const opf_tensor *tensor, opf_arena *arena) {
    uint64_t plain = (UINT64_C(1) << stage->n_axes) - 1;
    int64_t rows = 1, elements = tensor->elements;
    bool kept[OPF_MAX_RANK];
    for (int k = 0; k < tensor->rank; k++) {
        kept[k] = (opf_expr_vars(load->args[k]) & plain) != 0;
        rows *= kept[k] ? tensor->dims[k] : 1;
    }
    double *sums = OPF_ARRAY(arena, double, rows + 1), most = 0;
    memset(sums, 0, sizeof(double) * (size_t)(rows + 1));
    for (int64_t i = 0; i < elements; i++) {
        int64_t row = 0, rest = i, below = elements;
        for (int k = 0; k < tensor->rank; k++) {
            below /= tensor->dims[k];
            row = kept[k] ? row * tensor->dims[k] + rest / below : row;
            rest %= below;
        }
        sums[row] += fabs(opf_tensor_get(tensor, i));
        most = fmax(most, sums[row]);
    }
    return most;
}

/* ---- verdicts ---- */

/* Does the node hand on elements, changing none? */
static bool only_moves(const opf_call *call) {
    const opf_stage *stage = call->stages.list.count == 1 ? call->stages.list.data[0] : NULL;
    return stage && stage->combiner == OPF_COMBINE_NONE && stage->body->kind == OPF_EXPR_LOAD;
}

typedef struct opf_finding { const char *rule; opf_text reason; } opf_finding;

static void find_unknown(opf_finding *found, const opf_grid *grid) {
    found->rule = "scale-unknown";
    if (grid->dequantize)
        opf_text_printf(&found->reason, "the scale of '%s' is known only when the model runs, so that nothing can be said of where its numbers are rounded", grid->dequantize->name);
    else
        opf_text_add(&found->reason, "not all its operands are dequantised or constant: the others are any float32 numbers");
}

static void find_rounded(opf_finding *found, const opf_grid *grid, int64_t terms) {
    found->rule = "rounded-operands";
    opf_text_printf(&found->reason, "the scale %.9g of '%s' has %d significant bits, so its numbers are rounded to float32 before ", grid->scale, grid->dequantize->name, grid->bits);
    if (terms >= 0)
        opf_text_printf(&found->reason, "%lld products of them are added", (long long)terms);
    else
        opf_text_add(&found->reason, "they are added");
    opf_text_add(&found->reason, "; an integer sum that is scaled once is another number in the last place, and near half a step another integer");
}

static void find_sum(opf_finding *found, const opf_sum *sum, opf_fuser *fuser, const opf_call *call) {
    int64_t terms = terms_of(sum->stage);
    double step = 1, most = 1, row = -1;
    for (int k = 0; k < sum->n_factors; k++) {
        const opf_value *value = call->stages.inputs.data[sum->factors[k]->index];
        opf_grid grid = grid_of(value);
        if (grid.state == GRID_UNKNOWN) {
            find_unknown(found, &grid);
            return;
        }
        if (grid.state == GRID_ROUNDED) {
            find_rounded(found, &grid, terms);
            return;
        }
        step *= grid.step;
        bool first = value->constant && row < 0;
        if (first)
            row = most_of_row(sum->stage, sum->factors[k], value->constant, fuser->arena);
        most *= first ? row : grid.most;
    }
    if (row < 0)
        most *= (double)terms;
    if (row < 0 && terms < 0) {
        found->rule = "terms-unknown";
        opf_text_add(&found->reason, "how many terms it adds is known only when the model runs, so its sums may be beyond what float32 holds exactly");
        return;
    }
    bool exact = most / step <= ldexp(1, FLOAT32_BITS);
    found->rule = exact ? "exact-sum" : "long-sum";
    opf_text_printf(&found->reason, "its terms are multiples of %.9g and their sum is at most %.9g, that is %.0f steps, ", step, most, most / step);
    opf_text_add(&found->reason, exact ? "which float32 holds exactly (2^24): added directly, in any order, they give the integer sum to the last bit, and integers would only be slower"
                                       : "beyond the 2^24 that float32 holds exactly: the graph as written rounds the sum, which integers do not");
}

static void find_moved(opf_finding *found, const opf_node *dequantize, const opf_node *quantize) {
    found->rule = "moved";
    if (table_of(dequantize->outputs[0])) {
        opf_text_printf(&found->reason, "it moves numbers that '%s' picks from a table: they have no one scale", dequantize->name);
        return;
    }
    const opf_tensor *from = dequantize->inputs[1]->constant, *to = quantize->inputs[1]->constant;
    if (from && to && from->elements == 1 && to->elements == 1 && opf_tensor_get(from, 0) != opf_tensor_get(to, 0))
        opf_text_printf(&found->reason, "it moves numbers of scale %.9g, which '%s' quantises with %.9g: not the same integers", opf_tensor_get(from, 0), quantize->name, opf_tensor_get(to, 0));
    else
        opf_text_printf(&found->reason, "it only moves numbers; policy best lets it move the integers of '%s' where '%s' has the same scale and zero point", dequantize->name, quantize->name);
}

static opf_finding find(opf_fuser *fuser, const opf_node *node, const opf_node *dequantize, const opf_node *quantize) {
    opf_finding found = {.rule = "own-rounding"};
    const opf_call *call = fuser->calls[node->id];
    if (call->library || call->control)
        opf_text_printf(&found.reason, "'%s' is no kernel of stages, and takes floating numbers", node->op);
    else if (only_moves(call))
        find_moved(&found, dequantize, quantize);
    else {
        opf_sum sum = sum_of(call);
        if (sum.stage)
            find_sum(&found, &sum, fuser, call);
        else
            opf_text_printf(&found.reason, "%s is no single sum of products: it rounds each of its results to float32, which integers of several scales do not repeat to the last bit", node->op);
    }
    return found;
}

/* ---- pairs ---- */

static const opf_node *dequantised_operand(const opf_node *node) {
    for (int k = 0; k < node->n_inputs; k++) {
        const opf_node *producer = node->inputs[k] ? node->inputs[k]->producer : NULL;
        if ((is_op(producer, "DequantizeLinear") && !producer->inputs[0]->constant) || (producer && table_of(node->inputs[k])))
            return producer;
    }
    return NULL;
}

/* The first quantisation behind it: of its results, or of what element-wise nodes that alone use them make of them. */
static const opf_node *quantisation(const opf_fuser *fuser, const opf_node *node) {
    for (int step = 0; step < MOST_BEHIND && node->n_outputs > 0 && node->outputs[0]; step++) {
        const opf_value *value = node->outputs[0];
        for (size_t u = 0; u < value->uses.count; u++)
            if (is_op(value->uses.data[u].node, "QuantizeLinear") && value->uses.data[u].input == 0)
                return value->uses.data[u].node;
        if (value->uses.count != 1 || value->uses.data[0].node->graph != fuser->graph || fuser->kinds[value->uses.data[0].node->id] > OPF_KIND_INJECTIVE)
            return NULL;
        node = value->uses.data[0].node;
    }
    return NULL;
}

void opf_fusion_find_quantised(opf_fuser *fuser) {
    for (int i = 0; i < fuser->n_nodes; i++) {
        const opf_node *node = fuser->graph->nodes.data[i];
        if (fuser->folded[i] || is_op(node, "QuantizeLinear"))
            continue;
        const opf_node *dequantize = dequantised_operand(node), *quantize = dequantize ? quantisation(fuser, node) : NULL;
        if (!quantize)
            continue;
        opf_finding found = find(fuser, node, dequantize, quantize);
        OPF_PUSH(fuser->arena, &fuser->fusion->quantised, (opf_quantised){node, quantize, found.rule, opf_arena_string(fuser->arena, opf_text_string(&found.reason))});
        opf_text_free(&found.reason);
    }
}
