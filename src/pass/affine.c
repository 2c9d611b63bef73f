/* Reads nodes as y = factor * x + shift. */
#include "pass/affine.h"

#include <math.h>
#include <string.h>

#include "pass/edit.h"

static bool all_finite(const opf_affine *affine) {
    for (int64_t c = 0; c < affine->channels; c++)
        if (!isfinite(affine->factor[c]) || !isfinite(affine->shift[c]))
            return false;
    return true;
}

/* ---- batch normalisation ---- */

bool opf_affine_is_norm(const opf_node *node) { return strcmp(node->op, "BatchNormalization") == 0 && !node->domain[0]; }

static const char *training(const opf_node *norm) {
    bool training = norm->opset < 7 ? !opf_node_int(norm, "is_test", 0) : opf_node_int(norm, "training_mode", 0) != 0;
    if (training)
        return "it is in training mode";
    for (int k = 1; k < norm->n_outputs; k++)
        if (norm->outputs[k] && (norm->outputs[k]->uses.count > 0 || norm->outputs[k]->is_output))
            return "its statistics are results of the model";
    return NULL;
}

/* scale * (x - mean) / sqrt(variance + epsilon) + bias */
static const char *read_norm(opf_affine *out, const opf_node *norm) {
    static const char NOT_CONSTANT[] = "its scale, bias, mean and variance are not all constants with one number a channel";
    const char *problem = training(norm);
    if (problem)
        return problem;
    const opf_tensor *scale = norm->n_inputs >= 5 && norm->inputs[1] ? opf_known_tensor(norm->inputs[1]) : NULL;
    if (!scale || norm->inputs[0]->rank < 2 || !opf_node_int(norm, "spatial", 1))
        return NOT_CONSTANT;
    *out = (opf_affine){.axis = 1, .channels = scale->elements};
    double *read[4];
    for (int k = 0; k < 4; k++) {
        read[k] = opf_constant_numbers(norm->inputs[k + 1], out->channels);
        if (!read[k])
            return NOT_CONSTANT;
    }
    double epsilon = opf_node_float(norm, "epsilon", (double)1e-5f);
    out->factor = read[0];
    out->shift = read[1];
    out->sizes = OPF_ARRAY(norm->graph->module->arena, double, out->channels);
    bool evaluated_alike = norm->outputs[0]->dtype == OPF_FLOAT64; /* float32 is evaluated in double, where this rounds too little to show */
    for (int64_t c = 0; c < out->channels; c++) {
        double own = fabs(read[0][c]) + fabs(read[1][c]);
        out->factor[c] /= sqrt(read[3][c] + epsilon);
        double taken_off = out->factor[c] * read[2][c];
        out->sizes[c] = fabs(out->shift[c]) + (evaluated_alike ? fabs(taken_off) : 0);
        out->shift[c] -= taken_off;
        if (taken_off != 0)
            out->cancels = fmax(out->cancels, fabs(taken_off) / own);
    }
    return all_finite(out) ? NULL : "a scale, mean or variance is not finite, or a variance is negative";
}

/* ---- sums and products with a constant ---- */

/* The axis of a value of `rank` axes that a constant's elements run along, -1 where it has one element, -2 where it has several such axes. */
static int axis_of(const opf_tensor *tensor, int rank) {
    int axis = -1;
    for (int k = 0; k < tensor->rank; k++)
        if (tensor->dims[k] != 1)
            axis = axis == -1 ? rank - tensor->rank + k : -2;
    return axis;
}

static void apply(char op, double number, double *factor, double *shift) {
    *factor = op == '*' ? number : op == '/' ? 1 / number : op == 'r' ? -1 : 1;
    *shift = op == '+' || op == 'r' ? number : op == '-' ? -number : 0;
}

static const char *read_scalar(opf_affine *out, const opf_node *node, char op) {
    const opf_value *result = node->outputs[0];
    for (int k = 0; k < 2; k++) {
        const opf_value *x = node->inputs[k], *other = node->inputs[1 - k];
        const opf_tensor *tensor = opf_known_tensor(other);
        int axis = tensor && tensor->elements > 0 && other->dtype == result->dtype ? axis_of(tensor, result->rank) : -2;
        if (opf_known_tensor(x) || axis == -2 || x->dtype != result->dtype || !opf_value_same_shape(x, result) || (op == '/' && k == 1))
            continue;
        *out = (opf_affine){.input = k, .axis = axis, .channels = tensor->elements};
        out->factor = opf_constant_numbers(other, out->channels);
        out->shift = OPF_ARRAY(node->graph->module->arena, double, out->channels);
        out->sizes = OPF_ARRAY(node->graph->module->arena, double, out->channels);
        for (int64_t c = 0; c < out->channels; c++) {
            apply(op == '-' && k == 1 ? 'r' : op, out->factor[c], &out->factor[c], &out->shift[c]);
            out->sizes[c] = fabs(out->shift[c]);
        }
        return all_finite(out) ? NULL : "its constant is not finite, or zero and divided by";
    }
    return "its other operand is no constant along one axis";
}

const char *opf_affine_read(opf_affine *out, const opf_node *node) {
    static const struct { const char *op; char sign; } scalar[] = {{"Add", '+'}, {"Sub", '-'}, {"Mul", '*'}, {"Div", '/'}};
    if (node->domain[0] || node->n_outputs < 1 || !node->outputs[0] || !opf_value_is_typed(node->outputs[0]))
        return "it is no such operator";
    opf_dtype dtype = node->outputs[0]->dtype;
    if (dtype != OPF_FLOAT32 && dtype != OPF_FLOAT64)
        return "its type is too coarse to take factors together without a loss that shows";
    if (opf_affine_is_norm(node))
        return read_norm(out, node);
    for (size_t k = 0; k < OPF_COUNT(scalar); k++)
        if (strcmp(node->op, scalar[k].op) == 0)
            return node->opset >= 7 ? read_scalar(out, node, scalar[k].sign) : "operands of this version are repeated in another way";
    return "it is no such operator";
}

/* ---- together ---- */

void opf_affine_spread(opf_affine *affine, int axis, int64_t channels, opf_arena *arena) {
    if (affine->axis >= 0 && affine->channels == channels)
        return;
    double *factor = OPF_ARRAY(arena, double, channels), *shift = OPF_ARRAY(arena, double, channels), *sizes = OPF_ARRAY(arena, double, channels);
    for (int64_t c = 0; c < channels; c++) {
        factor[c] = affine->factor[0];
        shift[c] = affine->shift[0];
        sizes[c] = affine->sizes[0];
    }
    *affine = (opf_affine){affine->input, axis, channels, factor, shift, sizes, affine->cancels};
}

bool opf_affine_chain(opf_affine *out, const opf_affine *first, const opf_affine *second, opf_arena *arena) {
    if (first->axis >= 0 && second->axis >= 0 && (first->axis != second->axis || first->channels != second->channels))
        return false;
    opf_affine a = *first, b = *second;
    int axis = a.axis >= 0 ? a.axis : b.axis;
    int64_t channels = a.axis >= 0 ? a.channels : b.channels;
    opf_affine_spread(&a, axis, channels, arena);
    opf_affine_spread(&b, axis, channels, arena);
    *out = (opf_affine){a.input, axis, channels, OPF_ARRAY(arena, double, channels), OPF_ARRAY(arena, double, channels), OPF_ARRAY(arena, double, channels), fmax(a.cancels, b.cancels)};
    for (int64_t c = 0; c < channels; c++) {
        out->factor[c] = a.factor[c] * b.factor[c];
        out->shift[c] = a.shift[c] * b.factor[c] + b.shift[c];
        out->sizes[c] = a.sizes[c] * fabs(b.factor[c]) + b.sizes[c];
    }
    return all_finite(out);
}

/* y = F x + S, S of parts of the magnitudes M. A value between is rounded by at most u (|F x| + M) as seen from the end, and |F x| <= |y| + |S|;
 * one of these roundings the constants F and S have been allowed for (two each), S as far as it is as large as its parts. In float64 F and S
 * are made by as coarse steps as the model's own: 8 of them for each node. */
opf_unrounded opf_affine_unrounded(int64_t channels, const double *shift, const double *sizes, opf_dtype dtype, size_t nodes) {
    double u = dtype == OPF_FLOAT64 ? 0x1p-53 : 0x1p-24, steps = dtype == OPF_FLOAT64 ? 8 * (double)nodes : (double)nodes - 1, off = 0;
    for (int64_t c = 0; c < channels; c++)
        off = fmax(off, steps * (sizes[c] + fabs(shift[c])) + 2 * fmax(0, sizes[c] - fabs(shift[c])));
    return (opf_unrounded){steps, off * u};
}

void opf_affine_gather(opf_affine_run *out, opf_node *first, const opf_affine *of_first) {
    opf_arena *arena = first->graph->module->arena;
    *out = (opf_affine_run){.whole = *of_first};
    OPF_PUSH(arena, &out->nodes, first);
    for (opf_node *last = first; opf_value_has_single_use(last->outputs[0]);) {
        const opf_use *use = &last->outputs[0]->uses.data[0];
        opf_affine next, both;
        if (use->node->held || opf_affine_read(&next, use->node) || next.input != use->input || !opf_affine_chain(&both, &out->whole, &next, arena))
            return;
        out->whole = both;
        last = use->node;
        OPF_PUSH(arena, &out->nodes, last);
    }
}
