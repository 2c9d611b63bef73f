/* `ranges`: what each value of a model takes over data sets, by the evaluator, which sees those too that fusion hides. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/reference.h"

static const double LARGEST_HALF = 65504, LEAST_HALF = 6.103515625e-05;

/* Of one value over all data sets so far. */
typedef struct range {
    const char *name, *op;     /* of the node that computes it */
    opf_dtype dtype;
    double least, most, least_magnitude; /* finite ones; magnitude above 0 */
    int64_t elements, nan, infinite, tiny; /* tiny: a float16 would be denormal or 0 */
} range;

struct opf_ranges {
    opf_arena *arena;
    opf_model *model;
    range *list;
    size_t count;
    int data_sets;
};

opf_status opf_ranges_new(opf_ranges **out, opf_model *model) {
    opf_arena *arena = opf_arena_new();
    opf_ranges *ranges = OPF_NEW(arena, opf_ranges);
    ranges->arena = arena;
    ranges->model = model;
    *out = ranges;
    return OPF_OK;
}

void opf_ranges_free(opf_ranges *ranges) {
    if (ranges) opf_arena_free(ranges->arena);
}

static void add_value(range *r, const opf_tensor *tensor) {
    for (int64_t i = 0; i < tensor->elements; i++) {
        double x = opf_tensor_get(tensor, i), magnitude = fabs(x);
        r->elements++;
        if (isnan(x)) r->nan++;
        else if (isinf(x)) r->infinite++;
        else {
            if (x < r->least) r->least = x;
            if (x > r->most) r->most = x;
            if (magnitude > 0 && magnitude < r->least_magnitude) r->least_magnitude = magnitude;
            r->tiny += magnitude > 0 && magnitude < LEAST_HALF;
        }
    }
}

static range *range_of(opf_ranges *ranges, const opf_value *value) {
    for (size_t i = 0; i < ranges->count; i++)
        if (strcmp(ranges->list[i].name, value->name) == 0) return &ranges->list[i];
    range *r = &ranges->list[ranges->count++];
    *r = (range){.name = opf_arena_string(ranges->arena, value->name), .op = value->producer ? opf_arena_string(ranges->arena, value->producer->op) : "input", .dtype = value->dtype,
                 .least = INFINITY, .most = -INFINITY, .least_magnitude = INFINITY};
    return r;
}

static void look_at(opf_ranges *ranges, const opf_eval *eval, const opf_value *value) {
    if (!value || value->kind != OPF_VALUE_TENSOR || !(opf_dtype_is_float(value->dtype) || opf_dtype_is_integer(value->dtype))) return;
    const opf_tensor *tensor = opf_eval_value(eval, value);
    if (tensor) add_value(range_of(ranges, value), tensor);
}

static opf_status evaluate(opf_ranges *ranges, opf_graph *graph, const opf_array *inputs) {
    opf_arena *arena = opf_arena_new();
    opf_eval *eval;
    opf_status status = opf_reference_run(&eval, graph, inputs, true, NULL, arena, ranges->model->context->diags);
    if (status == OPF_OK) {
        size_t n = graph->inputs.count;
        for (size_t i = 0; i < graph->nodes.count; i++) n += (size_t)graph->nodes.data[i]->n_outputs;
        if (!ranges->list) ranges->list = OPF_ARRAY(ranges->arena, range, n + 1);
        for (size_t i = 0; i < graph->inputs.count; i++) look_at(ranges, eval, graph->inputs.data[i]);
        for (size_t i = 0; i < graph->nodes.count; i++)
            for (int k = 0; k < graph->nodes.data[i]->n_outputs; k++) look_at(ranges, eval, graph->nodes.data[i]->outputs[k]);
        ranges->data_sets++;
    }
    if (eval) opf_eval_free(eval);
    opf_arena_free(arena);
    return status;
}

opf_status opf_ranges_add(opf_ranges *ranges, const opf_array *inputs) {
    opf_module *module = NULL;
    opf_model *model = ranges->model;
    opf_model *bound = NULL;
    opf_status status = model->needs_values ? opf_model_bind(&bound, model, inputs) : OPF_OK;
    if (status == OPF_OK) status = opf_model_as_read(&module, bound ? bound : model);
    if (status == OPF_OK) status = evaluate(ranges, module->graph, inputs);
    opf_model_free(bound);
    return status;
}

/* ---- text ---- */

static const char *remark_on(const range *r) {
    bool half = r->dtype == OPF_FLOAT16;
    if (r->nan || r->infinite) return half ? "not finite: float16 overflows here" : "not finite";
    if (!opf_dtype_is_float(r->dtype) || half || !r->elements) return "";
    if (r->most > LARGEST_HALF || r->least < -LARGEST_HALF) return "float16 would overflow";
    if (r->tiny * 2 > r->elements) return "most of it would be denormal in float16";
    return "";
}

void opf_ranges_print(const opf_ranges *ranges, char **out) {
    opf_text text = {0};
    size_t overflow = 0, broken = 0;
    opf_text_printf(&text, "%-14s %-14s %8s %8s  %-9s value\n", "least", "most", "NaN", "inf", "type");
    for (size_t i = 0; i < ranges->count; i++) {
        const range *r = &ranges->list[i];
        const char *remark = remark_on(r);
        overflow += strcmp(remark, "float16 would overflow") == 0;
        broken += r->nan || r->infinite;
        if (r->least > r->most) opf_text_printf(&text, "%-14s %-14s", "-", "-");
        else opf_text_printf(&text, "%-14.7g %-14.7g", r->least, r->most);
        opf_text_printf(&text, " %8lld %8lld  %-9s '%s' of %s%s%s\n", (long long)r->nan, (long long)r->infinite, opf_dtype_name(r->dtype), r->name, r->op, *remark ? ": " : "", remark);
    }
    opf_text_printf(&text, "%zu values over %d data set%s; %zu not finite, %zu beyond float16\n", ranges->count, ranges->data_sets, ranges->data_sets == 1 ? "" : "s", broken, overflow);
    *out = opf_text_take(&text);
}
