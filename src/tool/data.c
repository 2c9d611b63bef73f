/* Models and their inputs, as the command line gives them. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/tool.h"

enum { MOST_DATA_SETS = 10000 };

static void *blank(size_t count, size_t size) {
    void *memory = calloc(count + 1, size);
    if (!memory) {
        fputs("opfuse: error[memory]: out of memory\n", stderr);
        exit(EXIT_ERROR);
    }
    return memory;
}

static char *path_of(const char *folder, const char *format, size_t number) {
    size_t room = strlen(folder) + 64;
    char *path = blank(room, 1);
    int length = snprintf(path, room, "%s/", folder);
    snprintf(path + length, room - (size_t)length, format, number);
    return path;
}

static bool exists(const char *path) { return access(path, F_OK) == 0; }

bool ends_in(const char *path, const char *ending) {
    size_t length = strlen(path), tail = strlen(ending);
    return length >= tail && strcmp(path + length - tail, ending) == 0;
}

shape_text shape_of(const opf_array *array) {
    if (array->kind != OPF_ARRAY_TENSOR) return (shape_text){""};
    shape_text shape = {"["};
    size_t at = 1;
    for (int k = 0; k < array->rank && k < 16; k++) at += (size_t)snprintf(shape.text + at, sizeof shape.text - at, "%s%lld", k ? "," : "", (long long)array->dims[k]);
    snprintf(shape.text + at, sizeof shape.text - at, "]");
    return shape;
}

opf_status model_open(tool *t, opf_model **out) {
    opf_status status = opf_model_load(out, t->context, t->model);
    tell(t);
    return status;
}

/* ---- data sets ---- */

static int by_number(const void *a, const void *b) {
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    size_t length_x = strlen(x), length_y = strlen(y); /* same stem: the shorter has the smaller number */
    return length_x != length_y ? (length_x < length_y ? -1 : 1) : strcmp(x, y);
}

static bool is_data_set(const char *folder) {
    char *input = path_of(folder, "input_%zu.pb", 0), *output = path_of(folder, "output_%zu.pb", 0);
    bool found = exists(input) || exists(output);
    free(input);
    free(output);
    return found;
}

void data_sets_free(char **folders, size_t count) {
    for (size_t i = 0; folders && i < count; i++) free(folders[i]);
    free(folders);
}

opf_status data_sets(tool *t, char ***folders, size_t *count) {
    *folders = blank(MOST_DATA_SETS, sizeof **folders);
    *count = 0;
    if (!t->data || is_data_set(t->data)) {
        (*folders)[(*count)++] = t->data ? strdup(t->data) : NULL;
        return OPF_OK;
    }
    DIR *folder = opendir(t->data);
    for (struct dirent *entry; folder && (entry = readdir(folder)) && *count < MOST_DATA_SETS;) {
        if (strncmp(entry->d_name, "test_data_set_", 14) != 0) continue;
        size_t room = strlen(t->data) + strlen(entry->d_name) + 2;
        char *path = blank(room, 1);
        snprintf(path, room, "%s/%s", t->data, entry->d_name);
        (*folders)[(*count)++] = path;
    }
    if (folder) closedir(folder);
    qsort(*folders, *count, sizeof **folders, by_number);
    if (*count) return OPF_OK;
    complain(t, "io", "--data %s: %s", t->data, folder ? "the folder holds neither input_0.pb nor test_data_set_*" : "there is no such folder");
    return OPF_ERROR_INPUT;
}

/* ---- one input ---- */

/* The --input for this name: what stands behind "NAME=". Of several names that fit, the longest is meant. */
static const char *given_for(const tool *t, const opf_model *model, size_t index, bool *used) {
    const char *found = NULL, *name = opf_model_input(model, index).name;
    for (size_t i = 0; i < t->n_inputs; i++) {
        size_t longest = 0, meant = index + 1;
        for (size_t k = 0; k < opf_model_inputs(model); k++) {
            const char *other = opf_model_input(model, k).name;
            size_t length = strlen(other);
            if (strncmp(t->inputs[i], other, length) != 0 || t->inputs[i][length] != '=' || length < longest) continue;
            longest = length;
            meant = k;
        }
        if (meant != index) continue;
        found = t->inputs[i] + strlen(name) + 1;
        used[i] = true;
    }
    return found;
}

static bool is_kind(const char *what) { return strcmp(what, "zeros") == 0 || strcmp(what, "ones") == 0 || strncmp(what, "uniform:", 8) == 0; }

/* Element types that .npy lacks come as wider ones. */
static bool npy_lacks(int dtype) { return dtype == 16 || (dtype >= 17 && dtype <= 26); }

static opf_status read_input(tool *t, opf_array *out, const opf_port *port, const char *path) {
    opf_status status = opf_port_read(out, t->context, port, path);
    if (status == OPF_OK && out->kind == OPF_ARRAY_TENSOR && out->dtype != port->dtype && npy_lacks(port->dtype)) status = opf_array_convert(out, t->context, out, port->dtype);
    return status;
}

static opf_status make_input(tool *t, opf_array *out, opf_model *model, size_t index, const char *kind) {
    opf_status status = opf_model_make_input(out, model, index, kind);
    if (status == OPF_OK) note(t, "input '%s' is made up: %s, %s%s", out->name, kind ? kind : "seeded", opf_array_dtype_name(out->dtype), shape_of(out).text);
    return status;
}

static opf_status fill_input(tool *t, feed *f, size_t index, const char *data_set, bool *used) {
    opf_port port = opf_model_input(f->model, index);
    const char *given = given_for(t, f->model, index, used);
    if (given) return is_kind(given) ? make_input(t, &f->inputs[index], f->model, index, given) : read_input(t, &f->inputs[index], &port, given);
    char *path = data_set ? path_of(data_set, "input_%zu.pb", index) : NULL;
    bool there = path && exists(path);
    f->made[index] = !there;
    opf_status status = there ? read_input(t, &f->inputs[index], &port, path) : make_input(t, &f->inputs[index], f->model, index, NULL);
    free(path);
    return status;
}

/* ---- all of them ---- */

static opf_status fill_expected(tool *t, feed *f, const char *data_set) {
    opf_status status = OPF_OK;
    for (size_t i = 0; i < f->n_outputs && status == OPF_OK; i++) {
        char *path = path_of(data_set, "output_%zu.pb", i);
        opf_port port = opf_model_output(f->model, i);
        if (exists(path)) status = opf_port_read(&f->expected[i], t->context, &port, path);
        if (exists(path)) f->has_expected = true;
        free(path);
    }
    return status;
}

static bool needs_values(const opf_model *model) {
    bool needs = false;
    for (size_t i = 0; i < opf_model_inputs(model); i++) needs = needs || opf_model_input(model, i).by_value;
    return needs;
}

/* Inputs that turn out to be needed by value once others are bound must not be made up either. */
static opf_status check_made(tool *t, const feed *f) {
    bool any = false;
    for (size_t i = 0; i < f->n_inputs; i++) any = any || f->made[i];
    if (!any || !needs_values(f->model)) return OPF_OK;
    opf_model *bound;
    opf_status status = opf_model_bind(&bound, f->model, f->inputs);
    for (size_t i = 0; i < f->n_inputs && bound; i++) {
        if (!f->made[i] || !opf_model_input(bound, i).by_value) continue;
        complain(t, "input", "input '%s' decides a size, an axis or an order; it must be given: --input %s=FILE", f->inputs[i].name, f->inputs[i].name);
        status = OPF_ERROR_INPUT;
    }
    opf_model_free(bound);
    return status;
}

opf_status feed_fill(tool *t, feed *f, opf_model *model, const char *data_set) {
    *f = (feed){.model = model, .n_inputs = opf_model_inputs(model), .n_outputs = opf_model_outputs(model)};
    f->inputs = blank(f->n_inputs, sizeof *f->inputs);
    f->made = blank(f->n_inputs, sizeof *f->made);
    f->expected = blank(f->n_outputs, sizeof *f->expected);
    bool *used = blank(t->n_inputs, sizeof *used);
    opf_status status = OPF_OK;
    for (size_t i = 0; i < f->n_inputs; i++) given_for(t, model, i, used);
    for (size_t i = 0; i < t->n_inputs && status == OPF_OK; i++) {
        if (used[i]) continue;
        complain(t, "usage", "--input %s: the model has no such input", t->inputs[i]);
        status = OPF_ERROR_USAGE;
    }
    for (size_t i = 0; i < f->n_inputs && status == OPF_OK; i++) status = fill_input(t, f, i, data_set, used);
    if (status == OPF_OK) status = check_made(t, f);
    if (status == OPF_OK && data_set) status = fill_expected(t, f, data_set);
    free(used);
    tell(t);
    return status;
}

opf_status feed_first(tool *t, feed *f, opf_model *model, bool told) {
    char **folders;
    size_t count;
    bool quiet = t->quiet;
    *f = (feed){0};
    opf_status status = data_sets(t, &folders, &count);
    t->quiet = quiet || told;
    if (status == OPF_OK) status = feed_fill(t, f, model, folders[0]);
    t->quiet = quiet;
    data_sets_free(folders, count);
    return status;
}

void feed_free(feed *f) {
    free(f->inputs);
    free(f->made);
    free(f->expected);
}

/* ---- for verbs that run nothing ---- */

static opf_status hint_sizes(tool *t, const feed *f) {
    opf_status status = OPF_OK;
    for (size_t i = 0; i < f->n_inputs && status == OPF_OK; i++) {
        shape_text shape = shape_of(&f->inputs[i]);
        if (f->inputs[i].kind != OPF_ARRAY_TENSOR) continue;
        shape.text[strlen(shape.text) - 1] = '\0';
        const char *name = opf_model_input(f->model, i).name;
        char *hint = blank(strlen(name) + sizeof shape.text + 2, 1);
        sprintf(hint, "%s=%s", name, shape.text + 1);
        if (f->inputs[i].rank && f->inputs[i].kind == OPF_ARRAY_TENSOR) status = opf_context_set(t->context, "hint-shape", hint);
        free(hint);
    }
    return status;
}

static opf_status reopen(tool *t, opened *out, const feed *f) {
    opf_status status = hint_sizes(t, f);
    opf_model_free(out->loaded);
    *out = (opened){0};
    if (status == OPF_OK) status = model_open(t, &out->loaded);
    out->bound = out->loaded;
    if (status == OPF_OK && needs_values(out->loaded)) status = opf_model_bind(&out->bound, out->loaded, f->inputs);
    return status;
}

opf_status model_open_bound(tool *t, opened *out) {
    *out = (opened){0};
    opf_status status = model_open(t, &out->loaded);
    out->bound = out->loaded;
    if (status != OPF_OK || (!t->data && !t->n_inputs)) return status;
    feed f;
    status = feed_first(t, &f, out->loaded, false);
    if (status == OPF_OK) status = reopen(t, out, &f);
    feed_free(&f);
    tell(t);
    if (status != OPF_OK) model_close(out);
    return status;
}

void model_close(opened *o) {
    if (o->bound != o->loaded) opf_model_free(o->bound);
    opf_model_free(o->loaded);
    *o = (opened){0};
}
