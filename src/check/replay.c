/* Every group on the evaluator's own inputs. */
#include "check/replay.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/arithmetic.h"
#include "check/bound.h"
#include "check/counterpart.h"
#include "check/recurrent.h"
#include "loop/tile.h"

typedef struct replaying {
    opf_replay *out;
    opf_replay_options options;
    opf_runner *runner;
    const opf_program *program;
    const opf_counterparts *counterparts;
    opf_arena *arena;
    const int64_t *symbols;
    int64_t *runs;                /* per step: how often it has begun */
    const opf_graph *graph;       /* as read, that of the step at hand; NULL: a pass has made it */
    int64_t run;                  /* which run of that graph this is */
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

/* The evaluator's tensor for a value of the compiled graph, as it is when the step at hand runs. */
static const opf_tensor *reference_of(const replaying *r, const opf_value *value) {
    if (value->kind != OPF_VALUE_TENSOR) return NULL;
    const opf_tensor *tensor = opf_counterpart_tensor(r->counterparts, value, r->graph, r->run);
    return tensor && !tensor->is_list && tensor->dtype == value->dtype && tensor->rank == value->rank ? tensor : NULL;
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
    if (buffer < 0 || value->kind != OPF_VALUE_TENSOR || value->rank > OPF_MAX_RANK) return NULL;
    for (int k = 0; k < value->rank; k++)
        if (!opf_dim_eval(value->dims[k], r->symbols, &dims[k])) return NULL;
    const void *bytes = opf_runner_bytes(r->runner, buffer, r->symbols);
    return bytes ? opf_tensor_new(r->arena, value->dtype, value->rank, dims, bytes, &why) : NULL;
}

/* ---- before a step ---- */

/* The memory is the program's own: not an input of the caller, nor a constant. */
static bool is_own(const replaying *r, const opf_step *step, const opf_value *value) {
    const opf_buffer *storage = opf_program_storage(r->program, buffer_of(r, step, value));
    return (storage->kind == OPF_BUFFER_WORKSPACE || storage->kind == OPF_BUFFER_OUTPUT) && value->dtype != OPF_STRING;
}

/* The evaluator's value in the place of the program's. What the evaluator does not know is kept as it is: a copy, else NULL. */
static const opf_tensor *put_input(replaying *r, const opf_step *step, const opf_value *value) {
    const opf_tensor *reference = reference_of(r, value), *here = held(r, step, value);
    if (!here) return NULL;
    bool known = reference && reference->bytes == here->bytes, plain = known && opf_tensor_is_plain(reference);
    if (known && is_own(r, step, value) && !(plain && memcmp(reference->data, here->data, here->bytes) == 0)) opf_tensor_copy(reference, (void *)(uintptr_t)here->data);
    if (known) return NULL;
    opf_tensor *kept = OPF_NEW(r->arena, opf_tensor);
    *kept = *here;
    kept->data = opf_arena_copy(r->arena, here->data, here->bytes);
    return kept;
}

static void put_inputs(replaying *r, const opf_step *step) {
    const opf_group *group = step->nest->group;
    r->snapshots = OPF_ARRAY(r->arena, const opf_tensor *, group->stages.inputs.count + 1);
    for (size_t i = 0; i < group->stages.inputs.count; i++)
        if (!group->stages.inputs.data[i]->constant) r->snapshots[i] = put_input(r, step, group->stages.inputs.data[i]);
}

static void put_operands(replaying *r, const opf_step *step) {
    r->snapshots = OPF_ARRAY(r->arena, const opf_tensor *, step->node->n_inputs + 1);
    for (int k = 0; k < step->node->n_inputs; k++)
        if (step->node->inputs[k] && !step->node->inputs[k]->constant) r->snapshots[k] = put_input(r, step, step->node->inputs[k]);
}

/* ---- causes ---- */

static bool is_narrow(opf_dtype dtype) { return opf_dtype_is_float(dtype) && opf_dtype_bits(dtype) <= 16; }

/* An error of so many times its bound, which allows for magnitudes and cancellation, is half of the type's digits. */
static bool is_formula(const opf_group_check *c) {
    double most = is_narrow(c->value->dtype) ? 16 : 0x1p14;
    return opf_dtype_is_float(c->value->dtype) && isfinite(c->bound) && c->bound > 0 && fabs(c->got - c->expected) > most * c->bound;
}

/* Which property explains the worst element, the surest sign first. A bound above zero allows for every order of a sum. */
static const char *cause_of(const opf_group_check *c, const char *suspect) {
    const opf_traits traits = c->group ? opf_traits_of(c->group, suspect) : (opf_traits){0};
    opf_dtype dtype = c->value->dtype;
    if (dtype == OPF_STRING) return "another text";
    if (isnan(c->got) != isnan(c->expected)) return "a NaN on one side only: a rule for NaN, or an operation without a value";
    if (is_narrow(dtype) && isinf(c->got) != isinf(c->expected)) return "overflow of a half type";
    if (isinf(c->got) != isinf(c->expected)) return fabs(c->expected) > 65504 ? "overflow on one side only: past what a half type holds" : "overflow on one side only";
    if (is_formula(c)) return "none of rounding: the error is far above what any order, function or cancellation of this type gives";
    if (!opf_dtype_is_float(dtype)) return traits.rounds ? "rounding to an integer that flips" : "integers that differ: no rounding explains them";
    if (traits.sums && c->bound > 1e3 * 0x1p-24 * fabs(c->expected)) return "cancellation in a sum: its terms are far larger than it, and lose more than any order of them does";
    if (traits.sums && c->spreads) return "a sum by Winograd's products";
    if (traits.sums && traits.approximates && c->bound <= 0) return "a sum added in another order, or a function in it by another formula: under `exact` both are the evaluator's";
    if (traits.sums && traits.approximates) return "an approximated function, or the sum over it: more is lost than its digits and any order allow";
    if (traits.sums) return c->bound > 0 ? "a sum that loses more than any order of its terms does: its terms or what runs on have too few digits" : "a sum added in another order";
    if (traits.approximates) return "an approximated function";
    if (traits.rounds) return "rounding to an integer that flips";
    return is_narrow(dtype) ? "rounding to a half type" : "none of rounding: operations like these lose no more than their last digit";
}

/* Why a result that differs has no bound. */
static const char *why_unbounded(const replaying *r, const opf_step *step, const opf_tensor *bounds) {
    if (step->kind == OPF_RUN_KERNEL)
        return bounds ? "numbers on the way to it may leave what float32 holds, where no bound is finite" : "which element is read, or is the extreme, hangs on how numbers round";
    const opf_library_kernel *kernel = step->library->kernel;
    if (!kernel->own) return opf_arena_printf(r->arena, "the kernel %s of the prelude has no stages from which a bound could follow", kernel->name);
    return opf_arena_printf(r->arena, "%s of %s is a kernel of your own: nothing says how it computes, so that no bound follows; the outputs' tolerance (--rtol, --atol) judges it",
                            kernel->name, kernel->own->path);
}

/* ---- after a step ---- */

static bool same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static void note(opf_group_check *c, double *furthest, double distance, int64_t index, double got, double expected, double bound) {
    if (distance <= *furthest) return;
    *furthest = distance;
    c->worst = index;
    c->got = got;
    c->expected = expected;
    c->bound = bound;
}

/* What a result is measured by. */
typedef struct measure {
    const opf_tensor *expected;        /* NULL: the evaluator has no such value */
    const opf_tensor *bounds;          /* NULL: none can be stated */
    const opf_error_bound *bound;      /* that they are of; NULL: of no group */
    const opf_tensor *const *inputs;   /* of the group, or NULL */
    int result;                        /* of the group */
} measure;

/* Of the position of an extreme: may it be there? */
static bool is_candidate(const measure *by, int64_t index, double got) { return !by->bound || opf_bound_admits(by->bound, by->result, index, (int64_t)got); }

/* bits: 0 and -0 differ. */
static void compare(opf_group_check *c, const opf_tensor *got, measure by, bool bits) {
    const opf_tensor *expected = by.expected, *bounds = by.bounds;
    double furthest = -1;
    for (int64_t i = 0; i < expected->elements; i++) {
        double a = opf_tensor_get(got, i), b = opf_tensor_get(expected, i), bound = bounds ? opf_tensor_get(bounds, i) : bits ? 0 : INFINITY;
        double error = same(a, b) ? 0 : fabs(a - b);
        if (isfinite(bound) && bound > c->most) c->most = bound;
        if (error == 0 && !(bits && a == 0 && signbit(a) != signbit(b))) continue;
        if (error > c->error || isnan(error)) c->error = error;
        /* An infinite bound says that anything may come, a NaN too: an infinity of either sign lies in front. Where infinities or NaN
         * are operands the bound is NaN; then a NaN on one side alone is what counts. */
        bool beyond = isfinite(bound) ? bits || !(error <= bound) || !is_candidate(&by, i, a) : bounds && isnan(bound) && isnan(a) != isnan(b) && !c->spreads;
        c->beyond += beyond;
        c->open += !beyond && !isfinite(bound);
        double distance = !isfinite(bound) ? (bounds ? 0 : error) : bound > 0 && !isnan(error) ? error / bound : INFINITY;
        note(c, &furthest, beyond && !isfinite(bound) ? INFINITY : distance, i, a, b, bound);
    }
}

static void compare_strings(opf_group_check *c, const opf_tensor *got, const opf_tensor *expected) {
    const char *const *a = got->data, *const *b = expected->data;
    for (int64_t i = 0; i < expected->elements; i++) {
        if (strcmp(a[i], b[i]) == 0) continue;
        c->beyond++;
        c->worst = i;
    }
}

/* Of several runs of a step the worst, by verdict, then by how near its bound the worst element comes. */
static bool is_worse(const opf_group_check *a, const opf_group_check *b) {
    static const int severity[] = {[OPF_GROUP_UNSEEN] = 0, [OPF_GROUP_EXACT] = 1, [OPF_GROUP_WITHIN] = 2, [OPF_GROUP_UNBOUNDED] = 3, [OPF_GROUP_BEYOND] = 4};
    if (a->verdict != b->verdict) return severity[a->verdict] > severity[b->verdict];
    return a->most > 0 && b->most > 0 ? a->error / a->most > b->error / b->most : a->error > b->error;
}

static void add_check(replaying *r, opf_group_check c) {
    for (size_t i = r->out->checks.count; i-- > 0;) {
        opf_group_check *before = &r->out->checks.data[i];
        if (before->step != c.step || before->value != c.value) continue;
        c.runs = before->runs + 1;
        if (is_worse(&c, before)) *before = c;
        else before->runs = c.runs;
        return;
    }
    OPF_PUSH(r->arena, &r->out->checks, c);
}

static opf_group_verdict verdict_of(const opf_group_check *c) {
    return c->worst < 0 ? OPF_GROUP_EXACT : c->beyond ? OPF_GROUP_BEYOND : c->open ? OPF_GROUP_UNBOUNDED : OPF_GROUP_WITHIN;
}

/* The arithmetic of the operator that is suspected, where this result is beyond its bound. */
static void find_arithmetic(replaying *r, opf_group_check *c, const opf_tensor *got, measure by) {
    if (!r->options.suspect || c->verdict != OPF_GROUP_BEYOND || !c->group || !by.inputs || !by.bounds) return;
    opf_suspect suspect = {c->group, r->options.suspect, by.result, by.inputs, got, by.expected, by.bounds, r->program->module->pool, r->symbols};
    opf_status status = opf_suspect_arithmetic(&c->arithmetic, &suspect, r->arena);
    if (status != OPF_OK && r->status == OPF_OK) r->status = status;
}

static opf_group_check judge(replaying *r, const opf_step *step, int index, const opf_value *value, measure by) {
    opf_group_check c = {.step = index, .runs = 1, .group = step->kind == OPF_RUN_KERNEL ? step->nest->group : NULL, .value = value, .verdict = OPF_GROUP_UNSEEN, .worst = -1};
    c.spreads = step->kind == OPF_RUN_KERNEL && step->nest->tile && step->nest->tile->winograd;
    const opf_tensor *got = held(r, step, value);
    if (by.expected && got && got->elements == by.expected->elements) {
        c.elements = by.expected->elements;
        if (value->dtype == OPF_STRING) compare_strings(&c, got, by.expected);
        else compare(&c, got, by, is_exact(r));
        c.verdict = verdict_of(&c);
        find_arithmetic(r, &c, got, by);
        if (c.worst >= 0) c.cause = c.verdict == OPF_GROUP_UNBOUNDED ? why_unbounded(r, step, by.bounds) : cause_of(&c, r->options.suspect);
    }
    return c;
}

/* Has a pass made a constant of one element that a stage of this node has as a number? */
static bool has_number_anew(const replaying *r, const opf_node *node) {
    for (int k = 0; node && k < node->n_inputs; k++) {
        const opf_value *value = node->inputs[k], *read = value && value->constant && value->constant->elements == 1 ? opf_counterpart_value(r->counterparts, value) : NULL;
        if (value && value->constant && value->constant->elements == 1 && (!read || !read->constant)) return true;
    }
    return false;
}

/* What the group's stages make of its inputs: of results that the evaluator has not, or that hang on inputs that it has not. */
static opf_tensor **by_stages(replaying *r, const opf_group *group, const opf_tensor *const *inputs) {
    int n = (int)group->results.count, *results = OPF_ARRAY(r->arena, int, n + 1);
    opf_tensor **out = OPF_ARRAY(r->arena, opf_tensor *, n + 1);
    for (int k = 0; k < n; k++) results[k] = group->results.data[k].stage;
    opf_status status = opf_eval_stage_list(group->nodes.count ? group->nodes.data[0] : NULL, &group->stages, results, n, inputs, r->symbols, out, r->arena);
    if (status != OPF_OK && r->status == OPF_OK) r->status = status;
    return out;
}

static void check_kernel(replaying *r, const opf_step *step, int index) {
    const opf_group *group = step->nest->group;
    size_t n = group->stages.inputs.count;
    const opf_tensor **inputs = OPF_ARRAY(r->arena, const opf_tensor *, n + 1);
    bool *inexact = OPF_ARRAY(r->arena, bool, n + 1), known = true, own = false; /* own: an input is the program's, for the evaluator has no such value */
    for (size_t i = 0; i < n; i++) {
        const opf_value *value = group->stages.inputs.data[i], *read = opf_counterpart_value(r->counterparts, value);
        inputs[i] = value->constant ? value->constant : r->snapshots[i] ? r->snapshots[i] : reference_of(r, value);
        /* a constant that a pass has made, or scaled: it was rounded anew */
        inexact[i] = value->constant ? !read || !read->constant || value->constant->scaling || read->constant->data != value->constant->data : r->snapshots[i] != NULL;
        known = known && inputs[i];
        own = own || (!value->constant && r->snapshots[i]);
    }
    bool *anew = OPF_ARRAY(r->arena, bool, group->stages.list.count + 1);
    for (size_t s = 0; s < group->stages.list.count; s++) anew[s] = has_number_anew(r, group->stages.list.data[s]->origin);
    opf_error_bound bound = {0};
    if (known && !is_exact(r)) {
        opf_bound_schedule schedule = opf_bound_schedule_of(step->nest);
        opf_status status = opf_bound_group(&bound, group, r->program->module->pool, inputs, inexact, anew, &schedule, r->symbols, r->arena);
        if (status != OPF_OK && r->status == OPF_OK) r->status = status;
    }
    opf_tensor **staged = NULL;
    for (size_t k = 0; k < group->results.count; k++) {
        const opf_value *value = group->results.data[k].value;
        measure by = {reference_of(r, value), known && bound.errors ? bound.errors[k] : NULL, bound.errors ? &bound : NULL, known ? inputs : NULL, (int)k};
        opf_group_check c = judge(r, step, index, value, by);
        if (bound.errors && r->status == OPF_OK && (c.verdict == OPF_GROUP_UNSEEN || (own && c.verdict == OPF_GROUP_BEYOND))) {
            if (!staged) staged = by_stages(r, group, inputs);
            by.expected = staged[k];
            c = judge(r, step, index, value, by);
        }
        add_check(r, c);
    }
}

/* Recurrent layers have no stages, but steps. */
static void check_recurrent(replaying *r, const opf_step *step, int index) {
    const opf_node *node = step->node;
    const opf_library_call *library = step->library;
    const opf_tensor *in[12] = {NULL}, *got[3] = {NULL};
    int64_t *ints = OPF_ARRAY(r->arena, int64_t, library->ints.count + 1);
    opf_recurrent_reference reference = {{NULL}, {NULL}};
    bool known = true;
    for (int k = 0; k < node->n_inputs; k++) {
        const opf_value *value = node->inputs[k];
        if (value) in[k] = value->constant ? value->constant : r->snapshots[k] ? r->snapshots[k] : reference_of(r, value);
        known = known && (!value || in[k]);
    }
    for (int k = 0; k < node->n_outputs; k++) got[k] = node->outputs[k] ? held(r, step, node->outputs[k]) : NULL;
    for (size_t k = 0; k < library->ints.count; k++) known = known && opf_dim_eval(library->ints.data[k], r->symbols, &ints[k]);
    if (known) opf_recurrent_bound(&reference, library, ints, in, got, r->arena);
    for (int k = 0; k < node->n_outputs; k++)
        if (got[k]) add_check(r, judge(r, step, index, node->outputs[k], (measure){.expected = reference.expected[k], .bounds = reference.bounds[k]}));
}

static void check_library(replaying *r, const opf_step *step, int index) {
    if (opf_is_recurrent(step->library) && !is_exact(r)) {
        check_recurrent(r, step, index);
        return;
    }
    for (int k = 0; k < step->node->n_outputs; k++) {
        const opf_value *value = step->node->outputs[k];
        if (value && buffer_of(r, step, value) >= 0) add_check(r, judge(r, step, index, value, (measure){.expected = reference_of(r, value)}));
    }
}

/* Where we are: a step runs once each time that its graph does. */
static void enter(replaying *r, const opf_step *step, int index, int begin) {
    const opf_graph *graph = step->kind == OPF_RUN_KERNEL ? step->nest->group->results.data[0].value->graph : step->node->graph;
    r->graph = opf_counterpart_graph(r->counterparts, graph);
    r->runs[index] += begin;
    r->run = r->runs[index] - 1;
    r->symbols = opf_runner_symbols(r->runner, r->arena); /* sizes may have been found meanwhile */
}

static void watch(void *data, int index, int begin) {
    replaying *r = data;
    const opf_step *step = &r->program->steps.data[index];
    if (r->status != OPF_OK || (step->kind != OPF_RUN_KERNEL && step->kind != OPF_RUN_LIBRARY)) return;
    if (r->options.wanted && !r->options.wanted(r->options.data, step)) {
        r->runs[index] += begin; /* of a step that is not looked at */
        return;
    }
    enter(r, step, index, begin);
    if (begin && step->kind == OPF_RUN_KERNEL) put_inputs(r, step);
    else if (begin) put_operands(r, step);
    else if (step->kind == OPF_RUN_KERNEL) check_kernel(r, step, index);
    else check_library(r, step, index);
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

opf_status opf_check_replay(opf_replay *out, const opf_replay_options *options, opf_runner *runner, const opf_program *program, const opf_graph *graph, const opf_eval *eval, const void *const *inputs,
                            void *const *outputs, opf_arena *arena) {
    *out = (opf_replay){0};
    replaying r = {.out = out, .options = options ? *options : (opf_replay_options){0}, .runner = runner, .program = program, .counterparts = opf_counterparts_new(graph, eval, arena), .arena = arena};
    r.runs = OPF_ARRAY(arena, int64_t, program->steps.count + 1);
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
