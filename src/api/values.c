/* Values of a run by name, from a model or from files, side by side: `diff`. And what ranges values take over data sets. */
#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/session.h"
#include "check/compare.h"
#include "eval/eval.h"

struct opf_values {
    opf_arena *arena;
    opf_context *context;      /* of values read from files: it owns their bytes */
    OPF_VEC(opf_array) list;
    bool ran;                  /* of a run: in the order of its steps */
    OPF_VEC(const char *) hidden; /* values of the model that its kernels do not store */
};

void opf_values_free(opf_values *values) {
    if (values) opf_arena_free(values->arena);
}

size_t opf_values_count(const opf_values *values) { return values->list.count; }
opf_array opf_values_at(const opf_values *values, size_t index) { return values->list.data[index]; }

static opf_values *new_values(opf_context *context) {
    opf_arena *arena = opf_arena_new();
    opf_values *values = OPF_NEW(arena, opf_values);
    values->arena = arena;
    values->context = context;
    return values;
}

/* ---- of a run ---- */

static bool is_numbers(const opf_array *array) { return array->kind == OPF_ARRAY_TENSOR && array->dtype != OPF_STRING && array->data; }

static void keep(opf_values *values, const opf_array *array) {
    opf_array kept = *array;
    size_t bytes = opf_dtype_bytes((opf_dtype)array->dtype, (size_t)opf_array_elements(array));
    kept.name = opf_arena_string(values->arena, array->name ? array->name : "");
    kept.dims = opf_arena_copy(values->arena, array->dims, (size_t)array->rank * sizeof *array->dims);
    kept.data = opf_arena_copy(values->arena, array->data, bytes);
    OPF_PUSH(values->arena, &values->list, kept);
}

/* Taps come in the order of steps; the graph's own outputs, which come first, are put behind them. */
static void keep_all(opf_values *values, const opf_array *outputs, size_t n, size_t n_outputs) {
    for (size_t i = n_outputs; i < n; i++)
        if (is_numbers(&outputs[i])) keep(values, &outputs[i]);
    for (size_t i = 0; i < n_outputs; i++)
        if (is_numbers(&outputs[i])) keep(values, &outputs[i]);
}

/* Names of files are changed where a file system wants it: what `run -o` writes for this name. */
static bool same_name(const char *a, const char *b) {
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    for (; *a && *b; a++, b++)
        if (*a != *b && !(*a == '_' && !strchr(plain, *b)) && !(*b == '_' && !strchr(plain, *a))) return false;
    return !*a && !*b;
}

static const opf_array *find(const opf_values *values, const char *name) {
    for (size_t i = 0; i < values->list.count; i++)
        if (strcmp(values->list.data[i].name, name) == 0) return &values->list.data[i];
    for (size_t i = 0; i < values->list.count; i++)
        if (same_name(values->list.data[i].name, name)) return &values->list.data[i];
    return NULL;
}

static void note_hidden(opf_values *values, const opf_graph *graph) {
    for (size_t i = 0; i < graph->values.count; i++) {
        const opf_value *value = graph->values.data[i];
        if (value->producer && !find(values, value->name)) OPF_PUSH(values->arena, &values->hidden, opf_arena_string(values->arena, value->name));
    }
}

opf_status opf_values_run(opf_values **out, opf_model *model, const opf_array *inputs) {
    opf_session *session = NULL;
    opf_model *bound = NULL;
    *out = NULL;
    opf_status status = model->needs_values ? opf_model_bind(&bound, model, inputs) : OPF_OK;
    if (status == OPF_OK) status = opf_session_make(&session, bound ? bound : model, model->context->options.policy, true, false);
    if (status == OPF_OK && session) {
        size_t n = session->pipeline.program->outputs.count;
        opf_values *values = new_values(model->context);
        opf_array *outputs = OPF_ARRAY(values->arena, opf_array, n + 1);
        status = opf_session_run_all(session, inputs, outputs);
        const opf_graph *graph = session->pipeline.program->fusion->graph;
        values->ran = true;
        if (status == OPF_OK) keep_all(values, outputs, n, graph->outputs.count);
        if (status == OPF_OK) note_hidden(values, graph);
        if (status == OPF_OK) *out = values;
        else opf_values_free(values);
    }
    opf_session_free(session);
    opf_model_free(bound);
    return status;
}

/* ---- of files ---- */

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static bool is_tensor_file(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot && (strcmp(dot, ".npy") == 0 || strcmp(dot, ".pb") == 0);
}

/* A .pb file says the value's name; an .npy file is called after it. */
static opf_status read_file(opf_values *values, const char *folder, const char *name) {
    opf_array array;
    opf_status status = opf_array_read(&array, values->context, opf_arena_printf(values->arena, "%s/%s", folder, name));
    if (status != OPF_OK) return status;
    if (!array.name || !*array.name) array.name = opf_arena_string_n(values->arena, name, (size_t)(strrchr(name, '.') - name));
    if (is_numbers(&array)) OPF_PUSH(values->arena, &values->list, array);
    return OPF_OK;
}

opf_status opf_values_read(opf_values **out, opf_context *context, const char *folder) {
    opf_values *values = new_values(context);
    OPF_VEC(const char *) names = {0};
    opf_status status = OPF_OK;
    DIR *open = opendir(folder);
    *out = NULL;
    for (struct dirent *entry; open && (entry = readdir(open));)
        if (is_tensor_file(entry->d_name)) OPF_PUSH(values->arena, &names, opf_arena_string(values->arena, entry->d_name));
    if (open) closedir(open);
    if (!names.count) {
        opf_diag_add(context->diags, OPF_ERROR, "io", (opf_place){folder, NULL, NULL, -1}, open ? "the folder holds neither .npy nor .pb files" : "there is no such folder");
        status = OPF_ERROR_INPUT;
    }
    if (names.count) qsort(names.data, names.count, sizeof *names.data, by_name);
    for (size_t i = 0; i < names.count && status == OPF_OK; i++) status = read_file(values, folder, names.data[i]);
    if (status == OPF_OK) *out = values;
    else opf_values_free(values);
    return status;
}

/* ---- side by side ---- */

typedef struct diffing {
    opf_context *context;
    opf_arena *arena;
    opf_tolerance tolerance;
    size_t equal, within, differing, alone_a, alone_b, hidden;
    opf_text lines;
} diffing;

static void print_difference(diffing *d, const char *name, const opf_comparison *c, int64_t elements) {
    opf_text_printf(&d->lines, "%s  '%s': ", d->differing == 1 && !c->holds ? "FIRST  " : c->holds ? "within " : "DIFFERS", name);
    if (c->why) {
        opf_text_printf(&d->lines, "%s\n", c->why);
        return;
    }
    opf_text_printf(&d->lines, "largest difference %.3g, %.4g ULP, at element %" PRId64 " (%.9g and %.9g)", c->max_absolute, c->max_ulp, c->worst, c->got, c->expected);
    if (!c->holds) opf_text_printf(&d->lines, ", %" PRId64 " of %" PRId64 " elements outside the tolerance", c->differing, elements);
    opf_text_add(&d->lines, "\n");
}

static opf_status compare(diffing *d, const opf_array *a, const opf_array *b) {
    const opf_tensor *x, *y;
    opf_status status = opf_array_tensor(&x, a, d->arena, d->context->diags);
    if (status == OPF_OK) status = opf_array_tensor(&y, b, d->arena, d->context->diags);
    if (status != OPF_OK) return status;
    opf_comparison c = opf_compare(x, y, d->tolerance, d->arena);
    bool equal = c.holds && c.max_absolute == 0;
    d->equal += equal;
    d->within += c.holds && !equal;
    d->differing += !c.holds;
    if (!equal) print_difference(d, a->name, &c, y->elements);
    return OPF_OK;
}

static bool is_hidden(const opf_values *values, const char *name) {
    for (size_t i = 0; i < values->hidden.count; i++)
        if (same_name(values->hidden.data[i], name)) return true;
    return false;
}

/* Values of one side that the other one lacks. Of a folder: some may only not be stored by the model that has run. */
static size_t count_alone(diffing *d, const opf_values *values, const opf_values *other) {
    size_t alone = 0;
    for (size_t i = 0; i < values->list.count; i++) {
        const char *name = values->list.data[i].name;
        if (find(other, name)) continue;
        alone++;
        d->hidden += !values->ran && is_hidden(other, name);
    }
    return alone;
}

/* In the order of steps, where one side has run: the first divergence is where it begins. */
opf_status opf_values_compare(opf_context *context, const opf_values *a, const opf_values *b, double rtol, double atol, char **report) {
    diffing d = {.context = context, .arena = opf_arena_new(), .tolerance = {OPF_TOL_ELEMENT, rtol >= 0 ? rtol : 1e-3, atol >= 0 ? atol : 1e-5}};
    bool turned = b->ran && !a->ran;
    const opf_values *order = turned ? b : a;
    opf_status status = OPF_OK;
    for (size_t i = 0; i < order->list.count && status == OPF_OK; i++) {
        const opf_array *one = &order->list.data[i], *other = find(turned ? a : b, one->name);
        if (other) status = compare(&d, turned ? other : one, turned ? one : other);
    }
    d.alone_a = count_alone(&d, a, b);
    d.alone_b = count_alone(&d, b, a);
    opf_text_printf(&d.lines, "%zu values are equal to the bit, %zu within the tolerance, %zu differ; %zu are in the first alone, %zu in the second\n", d.equal, d.within, d.differing, d.alone_a,
                    d.alone_b);
    if (d.hidden) opf_text_printf(&d.lines, "%zu of those are values that the model's kernels do not store: --fuse=none compares them too\n", d.hidden);
    bool common = d.equal + d.within + d.differing > 0;
    if (!common) opf_text_add(&d.lines, "no value of one has the name of a value of the other\n");
    *report = opf_text_take(&d.lines);
    opf_arena_free(d.arena);
    return status == OPF_OK && (d.differing || !common) ? OPF_ERROR_MISMATCH : status;
}
