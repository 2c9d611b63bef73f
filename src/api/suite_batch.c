/* One batch of a suite: every trial read and emitted, all programs compiled as one, every trial run and compared. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/lists.h"
#include "api/reference.h"
#include "api/session.h"
#include "api/suite.h"
#include "base/clock.h"
#include "check/compare.h"
#include "run/unit.h"

/* Bytes of generated text: more than a case can mean, and what one call of the compiler gets. */
enum { MOST_TEXT = 1 << 20, TEXT_OF_UNIT = 2 << 20 };

typedef struct attempt {
    opf_trial *trial;
    opf_context *context;      /* of its own: its messages are its verdict */
    opf_model *loaded, *bound; /* bound: NULL where nothing had to be bound */
    opf_session *session;      /* NULL: it has its verdict */
    opf_array *inputs;
    size_t n_inputs, n_outputs;
    int64_t time;              /* nanoseconds spent so far */
} attempt;

typedef struct batch {
    const opf_suite *suite;
    int pipe;
    opf_arena *arena;
    attempt *attempts;
    int count;
    const char *folder;
    int units;                 /* compiled so far */
} batch;

/* ---- telling ---- */

static void tell(const batch *b, const char *line) {
    size_t length = strlen(line);
    if (write(b->pipe, line, length) != (ssize_t)length) _exit(1); /* the parent is gone */
}

static void tell_begin(const batch *b, const char *what, const attempt *a) { tell(b, opf_arena_printf(b->arena, "%s %d\n", what, a->trial->number)); }

/* A line in a pipe arrives whole up to 4096 bytes. */
static void finish(const batch *b, attempt *a, const char *code, const char *reason) {
    char *line = opf_arena_printf(b->arena, "done %d %.6f %s %.2000s", a->trial->number, (double)a->time / 1e9, code, reason);
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ') *c = ' ';
    tell(b, opf_arena_printf(b->arena, "%s\n", line));
    opf_session_free(a->session);
    opf_model_free(a->bound);
    opf_model_free(a->loaded);
    opf_context_free(a->context);
    *a = (attempt){.trial = a->trial};
}

/* The first error is the reason. */
static void finish_failed(const batch *b, attempt *a, opf_status status) {
    for (size_t i = 0; i < opf_context_messages(a->context); i++) {
        opf_message message = opf_context_message(a->context, i);
        if (message.severity != OPF_ERROR) continue;
        const char *op = message.op ? opf_arena_printf(b->arena, "%s: ", message.op) : "";
        const char *text = opf_arena_printf(b->arena, "%s%s", op, message.message);
        finish(b, a, opf_arena_string(b->arena, message.code), text);
        return;
    }
    finish(b, a, "internal", opf_arena_printf(b->arena, "status %d without a message", (int)status));
}

/* ---- building ---- */

static opf_status read_inputs(const batch *b, attempt *a) {
    a->n_inputs = opf_model_inputs(a->loaded);
    a->n_outputs = opf_model_outputs(a->loaded);
    a->inputs = OPF_ARRAY(b->arena, opf_array, a->n_inputs + 1);
    opf_status status = OPF_OK;
    for (size_t i = 0; i < a->n_inputs && status == OPF_OK; i++)
        status = opf_port_read(&a->inputs[i], a->context, &a->loaded->inputs[i], opf_arena_printf(b->arena, "%s/input_%zu.pb", a->trial->of->sets[a->trial->set], i));
    return status;
}

static opf_context *new_context(const batch *b, int policy) {
    opf_context *context = opf_context_new();
    opf_context_set(context, "fuse", opf_suite_policy_names[policy]);
    opf_context_set(context, "cache", b->folder);
    opf_context_set(context, "threads", "1");
    context->operators = b->suite->context->operators;
    context->patterns = b->suite->context->patterns;
    context->options.rules = b->suite->context->options.rules;
    context->options.accuracy = b->suite->context->options.accuracy;
    if (b->suite->context->options.machine) opf_context_set(context, "machine", b->suite->context->options.machine);
    return context;
}

static size_t text_of(const attempt *a) { return opf_unit_length(a->session->pipeline.sources); }

static void build(const batch *b, attempt *a) {
    tell_begin(b, "build", a);
    int64_t begun = opf_clock_now();
    a->context = new_context(b, a->trial->policy);
    opf_status status = opf_model_load(&a->loaded, a->context, opf_arena_printf(b->arena, "%s/model.onnx", a->trial->of->folder));
    if (status == OPF_OK) status = read_inputs(b, a);
    if (status == OPF_OK && a->loaded->needs_values) status = opf_model_bind(&a->bound, a->loaded, a->inputs);
    if (status == OPF_OK) status = opf_session_emit(&a->session, a->bound ? a->bound : a->loaded, opf_suite_policies[a->trial->policy]);
    a->time += opf_clock_now() - begun;
    if (status != OPF_OK) finish_failed(b, a, status);
    else if (text_of(a) > MOST_TEXT) finish(b, a, "size", opf_arena_printf(b->arena, "the generated code has %zu bytes", text_of(a)));
}

/* ---- compiling ---- */

static void compile(batch *b, attempt **list, int count);

static void compile_halves(batch *b, attempt **list, int count) {
    compile(b, list, count / 2);
    compile(b, list + count / 2, count - count / 2);
}

static void open_session(const batch *b, attempt *a, const char *object) {
    opf_status status = opf_session_open(a->session, object, opf_arena_printf(b->arena, "opf_entry_%d", a->trial->number));
    if (status != OPF_OK) finish_failed(b, a, status);
}

/* A program that the compiler refuses is found by halving. */
static void compile(batch *b, attempt **list, int count) {
    if (!count) return;
    tell(b, "compile\n");
    opf_unit *unit = opf_unit_new();
    opf_diags *diags = opf_diags_new();
    opf_compile_options options = {.level = "-O1", .jobs = 1};
    const char *object = NULL, *folder = opf_arena_printf(b->arena, "%s/%d", b->folder, b->units++);
    for (int i = 0; i < count; i++) opf_unit_add(unit, list[i]->session->pipeline.sources, list[i]->trial->number);
    opf_status status = opf_folder_make(folder, diags);
    if (status == OPF_OK) status = opf_unit_compile(&object, unit, folder, &list[0]->session->pipeline.machine, &options, b->arena, diags);
    for (int i = 0; i < count && status == OPF_OK; i++) open_session(b, list[i], object);
    if (status != OPF_OK && count > 1) compile_halves(b, list, count);
    else if (status != OPF_OK) {
        const opf_diag *diag = opf_diags_at(diags, 0);
        finish(b, list[0], diag->code, opf_arena_printf(b->arena, "%s: %s", diag->message, diag->details ? diag->details : ""));
    }
    opf_unit_free(unit);
    opf_diags_free(diags);
}

static void compile_all(batch *b) {
    attempt **list = OPF_ARRAY(b->arena, attempt *, b->count + 1);
    int count = 0;
    size_t length = 0;
    for (int i = 0; i < b->count; i++) {
        attempt *a = &b->attempts[i];
        if (!a->session) continue;
        size_t more = text_of(a);
        if (length + more > TEXT_OF_UNIT) {
            compile(b, list, count);
            count = 0;
            length = 0;
        }
        list[count++] = a;
        length += more;
    }
    compile(b, list, count);
}

/* ---- running ---- */

/* One step of a type that has few digits: its relative size, and the smallest one. */
static opf_tolerance tolerance_of(const batch *b, int dtype) {
    static const struct { opf_dtype dtype; double relative, least; } steps[] = {
        {OPF_BFLOAT16, 0x1p-7, 0},        {OPF_FLOAT8E4M3FN, 0x1p-3, 0x1p-9},   {OPF_FLOAT8E4M3FNUZ, 0x1p-3, 0x1p-10}, {OPF_FLOAT8E5M2, 0x1p-2, 0x1p-16},
        {OPF_FLOAT8E5M2FNUZ, 0x1p-2, 0x1p-17}, {OPF_FLOAT8E8M0, 1, 0},           {OPF_FLOAT4E2M1, 0.5, 0.5},
    };
    const opf_suite_options *o = b->suite->options;
    opf_tolerance tolerance = {OPF_TOL_ELEMENT, o->rtol >= 0 ? o->rtol : 1e-3, o->atol >= 0 ? o->atol : 1e-5};
    for (size_t i = 0; i < OPF_COUNT(steps); i++) {
        if ((int)steps[i].dtype != dtype) continue;
        if (steps[i].relative > tolerance.rtol) tolerance.rtol = steps[i].relative;
        if (steps[i].least > tolerance.atol) tolerance.atol = steps[i].least;
    }
    return tolerance;
}

/* NULL where the tensors agree, else what is wrong. */
static const char *difference_of(const batch *b, const char *name, const opf_tensor *got, const opf_tensor *expected, opf_tolerance tolerance) {
    opf_comparison c = opf_compare(got, expected, tolerance, b->arena);
    if (c.holds) return NULL;
    if (c.why) return opf_arena_printf(b->arena, "output '%s': %s", name, c.why);
    return opf_arena_printf(b->arena, "output '%s': %lld of %lld elements differ, the worst is %.9g for %.9g", name, (long long)c.differing, (long long)expected->elements, c.got,
                            c.expected);
}

/* NULL where the output is the expected one, else what is wrong. */
static const char *difference(const batch *b, attempt *a, const opf_array *got, const opf_array *expected, bool list) {
    const opf_tensor *x = NULL, *y = NULL;
    if (opf_array_value(&x, got, list, b->arena, a->context->diags) != OPF_OK || opf_array_value(&y, expected, list, b->arena, a->context->diags) != OPF_OK)
        return opf_arena_printf(b->arena, "output '%s' is no tensor", got->name);
    return difference_of(b, got->name, x, y, tolerance_of(b, expected->dtype));
}

/* Under --accuracy=exact the evaluator has the same bits. NULL where that is so, else what is wrong. */
static const char *other_bits(const batch *b, attempt *a, const opf_array *outputs) {
    opf_module *module;
    opf_eval *eval = NULL;
    const char *wrong = NULL;
    opf_status status = opf_model_as_read(&module, a->bound ? a->bound : a->loaded);
    if (status == OPF_OK) status = opf_reference_run(&eval, module->graph, a->inputs, false, NULL, b->arena, a->context->diags);
    for (size_t i = 0; i < a->n_outputs && status == OPF_OK && !wrong; i++) {
        const opf_value *output = module->graph->outputs.data[i];
        const opf_tensor *expected = opf_eval_value(eval, output), *got = NULL;
        status = opf_array_value(&got, &outputs[i], output->list, b->arena, a->context->diags);
        if (status == OPF_OK && expected) wrong = difference_of(b, outputs[i].name, got, expected, (opf_tolerance){.rule = OPF_TOL_BITS});
    }
    opf_eval_free(eval);
    if (wrong) return opf_arena_printf(b->arena, "other bits than the evaluator's: %s", wrong);
    return status == OPF_OK ? NULL : "the evaluator fails";
}

static void compare(const batch *b, attempt *a, const opf_array *outputs) {
    const char *bits = b->suite->context->options.accuracy == OPF_ACCURACY_EXACT ? other_bits(b, a, outputs) : NULL;
    if (bits) {
        finish(b, a, "differs", bits);
        return;
    }
    for (size_t i = 0; i < a->n_outputs; i++) {
        opf_array expected;
        const char *path = opf_arena_printf(b->arena, "%s/output_%zu.pb", a->trial->of->sets[a->trial->set], i);
        if (!opf_file_exists(path)) continue; /* an output that the suite does not hold */
        const opf_port *port = &a->loaded->outputs[i];
        opf_status status = opf_port_read(&expected, a->context, port, path);
        const char *wrong = status == OPF_OK ? difference(b, a, &outputs[i], &expected, port->sequence || port->optional) : NULL;
        if (status != OPF_OK) finish_failed(b, a, status);
        else if (wrong) finish(b, a, "differs", wrong);
        if (status != OPF_OK || wrong) return;
    }
    finish(b, a, "-", "");
}

static void run(const batch *b, attempt *a) {
    opf_array *outputs = OPF_ARRAY(b->arena, opf_array, a->n_outputs + 1);
    tell_begin(b, "run", a);
    int64_t begun = opf_clock_now();
    opf_status status = opf_session_run(a->session, a->inputs, outputs);
    a->time += opf_clock_now() - begun;
    if (status == OPF_OK) compare(b, a, outputs);
    else finish_failed(b, a, status);
}

void opf_suite_run_batch(const opf_suite *suite, opf_trial *const *trials, int count, int pipe) {
    batch b = {.suite = suite, .pipe = pipe, .arena = opf_arena_new(), .count = count};
    b.attempts = OPF_ARRAY(b.arena, attempt, count);
    b.folder = opf_arena_printf(b.arena, "%s/%d", suite->scratch, (int)getpid());
    opf_folder_make(b.folder, suite->context->diags);
    for (int i = 0; i < count; i++) b.attempts[i].trial = trials[i];
    for (int i = 0; i < count; i++) build(&b, &b.attempts[i]);
    compile_all(&b);
    for (int i = 0; i < count; i++)
        if (b.attempts[i].session) run(&b, &b.attempts[i]);
    opf_folder_remove(b.folder);
}
