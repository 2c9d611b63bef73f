/* Every group on the evaluator's own inputs. */
#include "check/replay.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/bound.h"
#include "loop/tile.h"

typedef struct replaying {
    opf_replay *out;
    opf_runner *runner;
    const opf_program *program;
    const opf_graph *graph;
    const opf_eval *eval;
    opf_arena *arena;
    const int64_t *symbols;
    const opf_tensor **snapshots; /* of the step at hand: what its inputs hold that the evaluator does not know */
    opf_status status;
} replaying;

const char *opf_group_verdict_name(opf_group_verdict verdict) {
    static const char *const names[] = {"exact", "within bound", "BEYOND", "no bound", "not seen"};
    return names[verdict];
}

/* ---- values ---- */

/* Every bound is 0 under --accuracy=exact, that of library kernels too. */
static bool is_exact(const replaying *r) { return opf_module_is_exact(r->program->module); }

/* The evaluator's tensor for a value of the compiled graph: the value of that name in the graph as read. */
static const opf_tensor *reference_of(const replaying *r, const opf_value *value) {
    if (value->graph != r->program->fusion->graph || value->kind != OPF_VALUE_TENSOR || value->dtype == OPF_STRING) return NULL;
    const opf_value *read = opf_value_find(r->graph, value->name);
    const opf_tensor *tensor = read && read->kind == OPF_VALUE_TENSOR ? opf_eval_value(r->eval, read) : NULL;
    return tensor && tensor->dtype == value->dtype && tensor->rank == value->rank ? tensor : NULL;
}

static int buffer_of(const replaying *r, const opf_step *step, const opf_value *value) {
    for (int k = 0; k < step->n_buffers; k++)
        if (step->buffers[k] >= 0 && r->program->buffers.data[step->buffers[k]].value == value) return step->buffers[k];
    return -1;
}

/* The bytes that the program holds for a value, as a tensor over them. */
static const opf_tensor *held(const replaying *r, const opf_step *step, const opf_value *value) {
    int buffer = buffer_of(r, step, value);
    int64_t dims[OPF_MAX_RANK];
    const char *why;
    if (buffer < 0 || value->rank > OPF_MAX_RANK) return NULL;
    for (int k = 0; k < value->rank; k++)
        if (!opf_dim_eval(value->dims[k], r->symbols, &dims[k])) return NULL;
    return opf_tensor_new(r->arena, value->dtype, value->rank, dims, opf_runner_bytes(r->runner, buffer, r->symbols), &why);
}

/* ---- before a step ---- */

static void put_inputs(replaying *r, const opf_step *step) {
    const opf_group *group = step->nest->group;
    r->snapshots = OPF_ARRAY(r->arena, const opf_tensor *, group->stages.inputs.count + 1);
    for (size_t i = 0; i < group->stages.inputs.count; i++) {
        const opf_value *value = group->stages.inputs.data[i];
        if (value->constant) continue;
        const opf_tensor *reference = reference_of(r, value), *here = held(r, step, value);
        if (!here) continue;
        bool fits = reference && reference->bytes == here->bytes;
        if (fits && value->producer) opf_tensor_copy(reference, (void *)(uintptr_t)here->data);
        if (fits) continue;
        opf_tensor *kept = OPF_NEW(r->arena, opf_tensor);
        *kept = *here;
        kept->data = opf_arena_copy(r->arena, here->data, here->bytes);
        r->snapshots[i] = kept;
    }
}

/* ---- causes ---- */

static bool is_narrow(opf_dtype dtype) { return opf_dtype_is_float(dtype) && opf_dtype_bits(dtype) <= 16; }

/* Which property explains the worst element, the surest sign first. */
static const char *cause_of(const opf_group_check *c, const opf_error_bound *bound) {
    opf_dtype dtype = c->value->dtype;
    if (isnan(c->got) != isnan(c->expected)) return "a NaN on one side only: a rule for NaN, or an operation without a value";
    if (is_narrow(dtype) && isinf(c->got) != isinf(c->expected)) return "overflow of a half type";
    if (isinf(c->got) != isinf(c->expected)) return "overflow on one side only";
    if (!opf_dtype_is_float(dtype)) return bound && bound->has_rounding ? "rounding to an integer that flips" : "integers that differ: no rounding explains them";
    if (bound && bound->has_sum && c->bound > 1e3 * 0x1p-24 * fabs(c->expected)) return "cancellation: the sum is small beside its terms";
    if (bound && bound->has_sum) return "a sum added in another order";
    if (bound && bound->has_approximation) return "an approximated function";
    return is_narrow(dtype) ? "rounding to a half type" : "rounding";
}

/* ---- after a step ---- */

static bool same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

/* bits: 0 and -0 differ. */
static void compare(opf_group_check *c, const opf_tensor *got, const opf_tensor *expected, const opf_tensor *bounds, bool bits) {
    double furthest = -1;
    c->worst = -1;
    c->elements = expected->elements;
    for (int64_t i = 0; i < expected->elements; i++) {
        double a = opf_tensor_get(got, i), b = opf_tensor_get(expected, i), bound = bounds ? opf_tensor_get(bounds, i) : 0;
        double error = same(a, b) ? 0 : fabs(a - b);
        if (bound > c->most) c->most = bound;
        if (error == 0 && !(bits && a == 0 && signbit(a) != signbit(b))) continue;
        if (error > c->error || isnan(error)) c->error = error;
        /* where infinities or NaN come in, no bound is finite; then a NaN on one side alone is what counts */
        bool beyond = isfinite(bound) ? bits || !(error <= bound) : isnan(a) != isnan(b) && !c->spreads;
        double distance = bound > 0 && !isnan(error) ? error / bound : INFINITY;
        c->beyond += beyond;
        c->overflown += beyond && !isfinite(a) && !isnan(b);
        if (distance <= furthest) continue;
        furthest = distance;
        c->worst = i;
        c->got = a;
        c->expected = b;
        c->bound = bound;
    }
}

static void check_result(replaying *r, const opf_step *step, int index, const opf_value *value, const opf_tensor *bounds, bool bounded, const opf_error_bound *bound) {
    opf_group_check c = {.step = index, .group = step->kind == OPF_RUN_KERNEL ? step->nest->group : NULL, .value = value, .verdict = OPF_GROUP_UNSEEN, .worst = -1};
    c.spreads = step->kind == OPF_RUN_KERNEL && step->nest->tile && step->nest->tile->winograd;
    const opf_tensor *expected = reference_of(r, value), *got = held(r, step, value);
    if (expected && got && got->elements == expected->elements) {
        compare(&c, got, expected, bounds, is_exact(r));
        c.verdict = c.worst < 0 ? OPF_GROUP_EXACT : !bounded ? OPF_GROUP_UNBOUNDED : c.beyond ? OPF_GROUP_BEYOND : OPF_GROUP_WITHIN;
        if (c.worst >= 0) c.cause = cause_of(&c, bound);
    }
    OPF_PUSH(r->arena, &r->out->checks, c);
}

/* No bound can be stated where a sum leaves what its type holds. */
static void excuse_overflow(replaying *r, const opf_group *group, const opf_tensor *const *inputs, opf_group_check *c) {
    bool overflows = false;
    if (c->verdict != OPF_GROUP_BEYOND || c->overflown < c->beyond || is_exact(r)) return;
    opf_status status = opf_bound_overflows(&overflows, group, r->program->module->pool, inputs, r->symbols, r->arena);
    if (status != OPF_OK && r->status == OPF_OK) r->status = status;
    if (!overflows) return;
    c->verdict = OPF_GROUP_UNBOUNDED;
    c->cause = "overflow: the terms of a sum add up beyond what float32 holds";
}

static void check_kernel(replaying *r, const opf_step *step, int index) {
    const opf_group *group = step->nest->group;
    size_t n = group->stages.inputs.count;
    const opf_tensor **inputs = OPF_ARRAY(r->arena, const opf_tensor *, n + 1);
    bool *inexact = OPF_ARRAY(r->arena, bool, n + 1), known = true;
    for (size_t i = 0; i < n; i++) {
        const opf_value *value = group->stages.inputs.data[i], *read = opf_value_find(r->graph, value->name);
        inputs[i] = value->constant ? value->constant : r->snapshots[i] ? r->snapshots[i] : reference_of(r, value);
        /* a constant that a pass has made, or scaled: it was rounded anew */
        inexact[i] = value->constant ? !read || !read->constant || value->constant->scaling || read->constant->data != value->constant->data : r->snapshots[i] != NULL;
        known = known && inputs[i];
    }
    opf_error_bound bound = {0};
    if (known && !is_exact(r)) {
        opf_bound_schedule schedule = opf_bound_schedule_of(step->nest);
        opf_status status = opf_bound_group(&bound, group, r->program->module->pool, inputs, inexact, &schedule, r->symbols, r->arena);
        if (status != OPF_OK && r->status == OPF_OK) r->status = status;
    }
    for (size_t k = 0; k < group->results.count; k++) {
        const opf_tensor *bounds = known && bound.errors ? bound.errors[k] : NULL;
        check_result(r, step, index, group->results.data[k].value, bounds, bounds || is_exact(r), &bound);
        if (known) excuse_overflow(r, group, inputs, &r->out->checks.data[r->out->checks.count - 1]);
    }
}

static void check_library(replaying *r, const opf_step *step, int index) {
    for (int k = 0; k < step->node->n_outputs; k++)
        if (step->node->outputs[k] && buffer_of(r, step, step->node->outputs[k]) >= 0) check_result(r, step, index, step->node->outputs[k], NULL, is_exact(r), NULL);
}

static void watch(void *data, int index, int begin) {
    replaying *r = data;
    const opf_step *step = &r->program->steps.data[index];
    if (r->status != OPF_OK) return;
    r->symbols = opf_runner_symbols(r->runner, r->arena); /* sizes may have been found meanwhile */
    if (begin && step->kind == OPF_RUN_KERNEL) put_inputs(r, step);
    else if (!begin && step->kind == OPF_RUN_KERNEL) check_kernel(r, step, index);
    else if (!begin && step->kind == OPF_RUN_LIBRARY) check_library(r, step, index);
}

/* ---- all of it ---- */

static void find_ratios(opf_replay *out, opf_arena *arena) {
    double *ratios = OPF_ARRAY(arena, double, out->checks.count + 1);
    size_t n = 0;
    for (size_t i = 0; i < out->checks.count; i++)
        if (out->checks.data[i].verdict == OPF_GROUP_WITHIN && isfinite(out->checks.data[i].most)) ratios[n++] = out->checks.data[i].most / out->checks.data[i].error;
    qsort(ratios, n, sizeof *ratios, opf_ascending);
    out->median_ratio = n ? ratios[n / 2] : 0;
    out->worst_ratio = n ? ratios[n - 1] : 0;
}

opf_status opf_check_replay(opf_replay *out, opf_runner *runner, const opf_program *program, const opf_graph *graph, const opf_eval *eval, const void *const *inputs,
                            void *const *outputs, opf_arena *arena) {
    *out = (opf_replay){0};
    replaying r = {.out = out, .runner = runner, .program = program, .graph = graph, .eval = eval, .arena = arena};
    opf_runner_trace(runner, watch, &r);
    opf_status status = opf_runner_run(runner, inputs, outputs);
    opf_runner_trace(runner, NULL, NULL);
    if (status == OPF_OK) status = r.status;
    find_ratios(out, arena);
    return status;
}

/* ---- text ---- */

static void print_nodes(const opf_group_check *c, opf_text *out) {
    opf_text_printf(out, "'%s'", c->value->name);
    for (size_t i = 0; c->group && i < c->group->nodes.count; i++) opf_text_printf(out, "%s%s", i ? " + " : "  of ", c->group->nodes.data[i]->name);
}

void opf_replay_print(const opf_replay *replay, bool all, opf_text *out) {
    size_t counts[OPF_GROUP_UNSEEN + 1] = {0};
    opf_text_add(out, "step  verdict            error       bound  bound/error  result\n");
    for (size_t i = 0; i < replay->checks.count; i++) {
        const opf_group_check *c = &replay->checks.data[i];
        counts[c->verdict]++;
        if (!all && (c->verdict == OPF_GROUP_EXACT || c->verdict == OPF_GROUP_UNSEEN)) continue;
        opf_text_printf(out, "%4d  %-12s  %10.3g  %10.3g", c->step, opf_group_verdict_name(c->verdict), c->error, c->most);
        if (c->error > 0 && c->most > 0 && isfinite(c->most)) opf_text_printf(out, "  %11.3g  ", c->most / c->error);
        else opf_text_add(out, "               ");
        print_nodes(c, out);
        if (c->verdict == OPF_GROUP_BEYOND || c->verdict == OPF_GROUP_UNBOUNDED)
            opf_text_printf(out, "\n      element %lld is %.9g for %.9g, bound %.3g; %lld of %lld elements; %s", (long long)c->worst, c->got, c->expected, c->bound, (long long)c->beyond,
                            (long long)c->elements, c->cause);
        opf_text_add(out, "\n");
    }
    opf_text_printf(out, "results of groups on the evaluator's inputs: %zu exact, %zu within their bounds, %zu beyond, %zu without a bound, %zu not seen by the evaluator\n",
                    counts[OPF_GROUP_EXACT], counts[OPF_GROUP_WITHIN], counts[OPF_GROUP_BEYOND], counts[OPF_GROUP_UNBOUNDED], counts[OPF_GROUP_UNSEEN]);
    if (replay->median_ratio > 0) opf_text_printf(out, "bound over error: median %.3g, largest %.3g\n", replay->median_ratio, replay->worst_ratio);
}
