/* Inputs made up for a model: of the sizes chosen so far, seeded, in a range that suits. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/model.h"

/* ---- numbers ---- */

/* SplitMix64 (Steele, Lea, Flood 2014): one state word, every seed is good. */
static uint64_t next_bits(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static double next_unit(uint64_t *state) { return (double)(next_bits(state) >> 11) * 0x1p-53; } /* in [0, 1) */

/* How elements are drawn: low + unit * (high - low), whole numbers for integers. */
typedef struct range { double low, high; } range;

static range natural_range(opf_value *input) {
    if (opf_dtype_is_float(input->dtype)) return (range){-1, 1};
    int64_t bound = opf_dtype_is_integer(input->dtype) ? opf_index_bound(input) : 0;
    return (range){0, bound > 0 ? (double)bound : 2};
}

/* False where the text is no kind. */
static bool parse_kind(const char *kind, opf_value *input, range *out) {
    char rest;
    if (!kind) *out = natural_range(input);
    else if (strcmp(kind, "zeros") == 0) *out = (range){0, 0};
    else if (strcmp(kind, "ones") == 0) *out = (range){1, 1};
    else return sscanf(kind, "uniform:%lf:%lf%c", &out->low, &out->high, &rest) == 2 && out->low <= out->high && isfinite(out->high - out->low);
    return true;
}

/* ---- tensors ---- */

static void fill(const opf_tensor *tensor, range r, uint64_t state) {
    void *data = (void *)tensor->data;
    for (int64_t i = 0; i < tensor->elements; i++) {
        double value = r.low + next_unit(&state) * (r.high - r.low);
        if (opf_dtype_is_float(tensor->dtype)) opf_dtype_store(tensor->dtype, data, (size_t)i, value);
        else opf_dtype_store_int(tensor->dtype, data, (size_t)i, (long long)__builtin_floor(value));
    }
}

static void fill_strings(const opf_tensor *tensor, range r, uint64_t state, opf_arena *arena) {
    const char **strings = (const char **)tensor->data;
    for (int64_t i = 0; i < tensor->elements; i++)
        strings[i] = opf_arena_printf(arena, "%.0f", __builtin_floor(r.low + next_unit(&state) * (r.high - r.low)));
}

opf_status opf_model_make_input(opf_array *out, opf_model *model, size_t index, const char *kind) {
    opf_context *context = model->context;
    opf_place place = {model->source.path, NULL, NULL, -1};
    opf_module *module;
    opf_status status = opf_model_as_read(&module, model);
    if (status != OPF_OK) return status;
    opf_value *input = module->graph->inputs.data[index];
    range r;
    if (input->list) {
        opf_diag *diag = opf_diag_add(context->diags, OPF_ERROR, "input", place, "input '%s' is a %s, which is never made up; it must be given", input->name, input->list->optional ? "optional" : "sequence");
        opf_diag_hint(context->diags, diag, "--input %s=FILE", input->name);
        return OPF_ERROR_INPUT;
    }
    if (input->kind != OPF_VALUE_TENSOR || input->rank < 0) {
        opf_diag_add(context->diags, OPF_ERROR, "input", place, "input '%s' is no tensor of known rank; it must be given", input->name);
        return OPF_ERROR_INPUT;
    }
    if (!kind && model->inputs[index].by_value) {
        opf_diag *diag = opf_diag_add(context->diags, OPF_ERROR, "input", place, "input '%s' decides a size, an axis or an order; it must be given", input->name);
        opf_diag_hint(context->diags, diag, "--input %s=FILE, or zeros, ones, uniform:LOW:HIGH", input->name);
        return OPF_ERROR_INPUT;
    }
    if (!parse_kind(kind, input, &r)) {
        opf_diag_add(context->diags, OPF_ERROR, "usage", place, "input '%s': '%s' is neither zeros, ones nor uniform:LOW:HIGH", input->name, kind);
        return OPF_ERROR_USAGE;
    }
    int64_t dims[OPF_MAX_RANK];
    for (int k = 0; k < input->rank; k++) dims[k] = opf_dim_nominal(input->dims[k]);
    const char *why = NULL;
    opf_tensor *tensor = opf_tensor_zeros(context->arena, input->dtype, input->rank, dims, &why);
    if (!tensor) {
        opf_diag_add(context->diags, OPF_ERROR, "input", place, "input '%s' cannot be made: %s", input->name, why);
        return OPF_ERROR_INPUT;
    }
    uint64_t state = context->options.seed * 0x2545F4914F6CDD1Du + index;
    next_bits(&state);
    if (input->dtype == OPF_STRING) fill_strings(tensor, r, state, context->arena);
    else fill(tensor, r, state);
    *out = opf_array_of(tensor, input->name);
    return OPF_OK;
}
