/* opfuse run: outputs as files, or what is in them in short. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tool/tool.h"

typedef struct summary { double low, high, mean; bool numbers; } summary;

static summary summarise(const opf_array *array) {
    int64_t n = opf_array_elements(array);
    summary s = {NAN, NAN, NAN, array->dtype != 8 && n > 0 && array->dtype != 14 && array->dtype != 15};
    double sum = 0;
    for (int64_t i = 0; s.numbers && i < n; i++) {
        double x = opf_array_get(array, i);
        sum += x;
        if (!(x >= s.low)) s.low = x < s.low || isnan(s.low) ? x : s.low;
        if (!(x <= s.high)) s.high = x > s.high || isnan(s.high) ? x : s.high;
    }
    s.mean = s.numbers ? sum / (double)n : NAN;
    return s;
}

/* JSON has no NaN and no infinity: null. */
static json_t *number(double x) { return isfinite(x) ? json_real(x) : json_null(); }

/* An element's file stands beside the one that is named. */
static char *item_file(const char *file, size_t k) {
    size_t room = file ? strlen(file) + 32 : 0, stem = room && strlen(file) > 4 && strcmp(file + strlen(file) - 4, ".npy") == 0 ? strlen(file) - 4 : 0;
    char *path = stem ? malloc(room) : NULL;
    if (path) snprintf(path, room, "%.*s.%zu.npy", (int)stem, file, k);
    return path;
}

static json_t *array_json(const opf_array *array, const char *file);

static json_t *list_json(const opf_array *array, const char *file) {
    json_t *items = json_array(), *name = array->name ? json_string(array->name) : NULL;
    char *first = item_file(file, 0);
    bool together = file && !first;
    free(first);
    for (size_t k = 0; k < array->n_items; k++) {
        char *path = item_file(file, k);
        json_array_append_new(items, array_json(&array->items[k], path));
        free(path);
    }
    json_t *object = json_pack("{s:o, s:s, s:s, s:o}", "name", name ? name : json_string("?"), "dtype", opf_array_dtype_name(array->dtype), "kind",
                               array->kind == OPF_ARRAY_SEQUENCE ? "sequence" : "absent", "items", items);
    if (together) json_object_set_new(object, "file", json_string(file));
    return object;
}

static json_t *array_json(const opf_array *array, const char *file) {
    if (array->kind != OPF_ARRAY_TENSOR) return list_json(array, file);
    summary s = summarise(array);
    json_t *dims = json_array(), *name = array->name ? json_string(array->name) : NULL;
    for (int k = 0; k < array->rank; k++) json_array_append_new(dims, json_integer(array->dims[k]));
    json_t *object = json_pack("{s:o, s:s, s:o}", "name", name ? name : json_string("?"), "dtype", opf_array_dtype_name(array->dtype), "shape", dims);
    if (s.numbers) {
        json_object_set_new(object, "min", number(s.low));
        json_object_set_new(object, "max", number(s.high));
        json_object_set_new(object, "mean", number(s.mean));
    }
    if (file) json_object_set_new(object, "file", json_string(file));
    return object;
}

static void print_tensor(const opf_array *array, const char *file);

static void print_list(const opf_array *array, const char *file) {
    char *first = item_file(file, 0);
    printf_out("%s  ", array->name);
    if (array->kind == OPF_ARRAY_ABSENT) print("absent");
    else printf_out("sequence of %zu %s", array->n_items, opf_array_dtype_name(array->dtype));
    if (file && !first) printf_out("  -> %s", file);
    print("\n");
    for (size_t k = 0; k < array->n_items; k++) {
        char *path = item_file(file, k);
        printf_out("%s.%zu", array->name, k);
        print_tensor(&array->items[k], path);
        free(path);
    }
    free(first);
}

static void print_array(const opf_array *array, const char *file) {
    if (array->kind != OPF_ARRAY_TENSOR) {
        print_list(array, file);
        return;
    }
    print(array->name);
    print_tensor(array, file);
}

static void print_tensor(const opf_array *array, const char *file) {
    summary s = summarise(array);
    printf_out("  %s%s", opf_array_dtype_name(array->dtype), shape_of(array).text);
    if (s.numbers) printf_out("  min %.6g  max %.6g  mean %.6g", s.low, s.high, s.mean);
    if (file) printf_out("  -> %s", file);
    print("\n");
}

/* ---- files ---- */

/* DIR/NAME.npy or DIR/output_K.pb. `taken`: another output has that name already; then NAME_K.npy. */
static char *file_of(const tool *t, const opf_array *array, size_t index, bool taken) {
    size_t folder = strlen(t->output), room = folder + strlen(array->name) + 40;
    char *path = malloc(room);
    if (!path) return NULL;
    int length = snprintf(path, room, "%s%s", t->output, t->output[folder - 1] == '/' ? "" : "/");
    char *name = path + length;
    room -= (size_t)length;
    if (t->format && strcmp(t->format, "pb") == 0) {
        snprintf(name, room, "output_%zu.pb", index);
        return path;
    }
    const char *own = array->name[0] ? array->name : "_";
    if (taken) snprintf(name, room, "%s_%zu.npy", own, index);
    else snprintf(name, room, "%s.npy", own);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c)) *c = '_';
    return path;
}

static bool is_among(const char *path, char *const *files, size_t n) {
    for (size_t i = 0; path && i < n; i++)
        if (strcmp(files[i], path) == 0) return true;
    return false;
}

/* Outputs whose names differ in nothing but what a file name cannot hold get files of their own. */
static char *free_file_of(const tool *t, const opf_array *array, size_t index, char *const *files) {
    char *path = file_of(t, array, index, false);
    if (!is_among(path, files, index)) return path;
    free(path);
    return file_of(t, array, index, true);
}

/* With parents, like mkdir -p. */
static bool make_folder(const tool *t, const char *path) {
    char *partial = strdup(path);
    bool good = partial != NULL;
    int error = good ? 0 : ENOMEM;
    for (size_t end = 1; good && partial[end - 1]; end++) {
        char after = partial[end];
        struct stat about;
        if (after && after != '/') continue;
        partial[end] = '\0';
        error = mkdir(partial, 0777) == 0 ? 0 : errno; /* before stat has one of its own */
        good = error == 0 || (stat(partial, &about) == 0 && S_ISDIR(about.st_mode));
        partial[end] = after;
    }
    if (!good) complain(t, "io", "-o %s: the folder cannot be made: %s", path, strerror(error));
    free(partial);
    return good;
}

static opf_status write_outputs(tool *t, const opf_model *model, const opf_array *outputs, size_t n, char **files) {
    opf_status status = make_folder(t, t->output) ? OPF_OK : OPF_ERROR_SYSTEM;
    for (size_t i = 0; i < n && status == OPF_OK; i++) {
        files[i] = free_file_of(t, &outputs[i], i, files);
        opf_port port = opf_model_output(model, i);
        status = files[i] ? opf_port_write(t->context, &port, &outputs[i], files[i]) : OPF_ERROR_SYSTEM;
    }
    return status;
}

/* ---- whole ---- */

static void show(const tool *t, const opf_array *outputs, size_t n, char **files) {
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        if (t->json) json_array_append_new(list, array_json(&outputs[i], files[i]));
        else print_array(&outputs[i], files[i]);
    }
    if (t->json) print_json(json_pack("{s:i, s:s, s:O}", "schema", 1, "model", t->model, "outputs", list));
    json_decref(list);
}

static opf_status run_once(tool *t, opf_session *session, const feed *f) {
    opf_array *outputs = calloc(f->n_outputs + 1, sizeof *outputs);
    char **files = calloc(f->n_outputs + 1, sizeof *files);
    opf_status status = outputs && files ? opf_session_run(session, f->inputs, outputs) : OPF_ERROR_SYSTEM;
    if (status == OPF_OK && t->output) status = write_outputs(t, f->model, outputs, f->n_outputs, files);
    tell(t);
    if (status == OPF_OK) show(t, outputs, f->n_outputs, files);
    for (size_t i = 0; files && i < f->n_outputs; i++) free(files[i]);
    free(files);
    free(outputs);
    return status;
}

int cmd_run(tool *t) {
    opf_model *model;
    opf_session *session = NULL;
    char **folders = NULL;
    size_t count = 0;
    feed f = {0};
    opf_status status = model_open(t, &model);
    if (status != OPF_OK) return exit_status(status);
    status = data_sets(t, &folders, &count);
    if (status == OPF_OK && count > 1) note(t, "of %zu data sets the first is taken: %s", count, folders[0]);
    if (status == OPF_OK) status = feed_fill(t, &f, model, folders[0]);
    if (status == OPF_OK) status = opf_session_new(&session, model);
    tell(t);
    if (status == OPF_OK && session) status = run_once(t, session, &f);
    opf_session_free(session);
    feed_free(&f);
    data_sets_free(folders, count);
    opf_model_free(model);
    return exit_status(status);
}
