/* One build for all sizes, model by model: tool_api_model_sizes TABLE POLICY MODEL FILE.
 *
 * TABLE is test/models/sizes.txt, which says what a line holds. The model is loaded once; every size of its lines runs through the
 * same program, which the cache must hold alone at the end, and is compared with the evaluator. What an exception names must be
 * refused with a message, and the model must still hold afterwards. A line a size that does not hold, then a count; exit status 1
 * where one does not. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/vec.h"
#include "opfuse/opfuse.h"

enum { MOST_SYMBOLS = 8, MOST_INPUTS = 8, MOST_WORDS = 32, LEAST_SIZES = 3 };

typedef struct subject {
    const char *name, *path, *cache;
    opf_context *context;
    opf_model *model;
    int symbols;
    const char *names[MOST_SYMBOLS]; /* as the model calls them */
    int right, refused, wrong;
} subject;

static void fail(const char *what, const char *name) {
    fprintf(stderr, "%s: %s\n", name, what);
    exit(2);
}

static void find_symbols(subject *u) {
    for (size_t i = 0; i < opf_model_inputs(u->model); i++) {
        opf_port port = opf_model_input(u->model, i);
        for (int k = 0; k < port.rank; k++) {
            int known = port.dims[k] >= 0 ? 0 : -1;
            for (int s = 0; s < u->symbols && known < 0; s++)
                if (strcmp(u->names[s], port.dim_names[k]) == 0) known = s;
            if (known >= 0) continue;
            if (u->symbols == MOST_SYMBOLS) fail("has more open sizes than this test takes", u->name);
            u->names[u->symbols++] = port.dim_names[k];
        }
    }
}

/* ---- inputs ---- */

static int64_t size_of(const subject *u, const int64_t *sizes, const char *name) {
    for (int s = 0; s < u->symbols; s++)
        if (strcmp(u->names[s], name) == 0) return sizes[s];
    fail("has a size of no name", u->name);
    return 0;
}

/* The kind of an input: that of "INPUT=KIND", else NULL. */
static const char *kind_of(const char *name, const char *given) {
    size_t length = strlen(name);
    return strncmp(name, given, length) == 0 && given[length] == '=' ? given + length + 1 : NULL;
}

/* Made up by a second reading of the model whose sizes these are. The arrays live as long as the context. */
static void make_inputs(const subject *u, opf_context *context, const int64_t *sizes, const char *kind, opf_array *inputs) {
    opf_model *model;
    for (size_t i = 0; i < opf_model_inputs(u->model); i++) {
        opf_port port = opf_model_input(u->model, i);
        char text[512];
        int length = snprintf(text, sizeof text, "%s=", port.name);
        for (int k = 0; k < port.rank; k++)
            length += snprintf(text + length, sizeof text - (size_t)length, "%s%lld", k ? "," : "", (long long)(port.dims[k] >= 0 ? port.dims[k] : size_of(u, sizes, port.dim_names[k])));
        if (port.rank > 0 && opf_context_set(context, "hint-shape", text) != OPF_OK) fail(text, u->name);
    }
    if (opf_model_load(&model, context, u->path) != OPF_OK) fail("cannot be read with these sizes", u->name);
    for (size_t i = 0; i < opf_model_inputs(model); i++) {
        if (opf_model_make_input(&inputs[i], model, i, kind_of(opf_model_input(model, i).name, kind)) != OPF_OK) fail("an input cannot be made", u->name);
    }
    opf_model_free(model);
}

/* ---- runs ---- */

static void complain(subject *u, const char *sizes, const char *what, const char *report) {
    printf("%s %s: %s\n%s", u->name, sizes, what, report ? report : "");
    for (size_t k = 0; k < opf_context_messages(u->context); k++) {
        opf_message message = opf_context_message(u->context, k);
        if (message.severity == OPF_ERROR) printf("%s", message.text);
    }
    u->wrong++;
}

static void run(subject *u, const char *text, const char *tolerance, const char *kind, bool allowed) {
    int64_t sizes[MOST_SYMBOLS];
    opf_array inputs[MOST_INPUTS];
    char *report = NULL, *end;
    const char *at = text;
    for (int s = 0; s < u->symbols; s++, at = *end == ',' ? end + 1 : end) {
        sizes[s] = strtoll(at, &end, 10);
        if (end == at || (*end == ',') != (s + 1 < u->symbols)) fail(text, "one size for each open size of the inputs");
    }
    if (opf_model_inputs(u->model) > MOST_INPUTS) fail("has more inputs than this test takes", u->name);
    opf_context *context = opf_context_new();
    make_inputs(u, context, sizes, kind, inputs);
    opf_context_clear_messages(u->context);
    opf_status status = opf_model_verify(u->model, inputs, &(opf_verify_options){.tolerance = tolerance, .rtol = -1, .atol = -1}, &report);
    bool refused = status == OPF_ERROR_INPUT && opf_context_messages(u->context) > 0;
    if (allowed && status != OPF_OK) complain(u, text, "does not hold", report);
    else if (!allowed && !refused) complain(u, text, "is an exception, but not refused", report);
    else *(allowed ? &u->right : &u->refused) += 1;
    opf_string_free(report);
    opf_context_free(context);
}

static int count_programs(const char *cache) {
    char path[512];
    snprintf(path, sizeof path, "%s/programs", cache);
    DIR *folder = opendir(path);
    int count = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) count += entry->d_name[0] != '.';
    if (folder) closedir(folder);
    return count;
}

static void run_line(subject *u, char *line) {
    char *words[MOST_WORDS], *reason = NULL, *rest = line;
    int n = 0;
    while (n < MOST_WORDS && (words[n] = strtok_r(n ? NULL : line, " \t\n", &rest))) n++;
    if (n == 0 || words[0][0] == '#' || strcmp(words[0], u->name) != 0) return;
    if (n > 3 && strcmp(words[1], "!") == 0) reason = words[3];
    else if (n < 3 + LEAST_SIZES) fail("a line of the table has fewer than three sizes, or an exception no reason", u->name);
    if (reason) run(u, words[2], "fp32", "-", false);
    for (int k = 3; k < n && !reason; k++) run(u, words[k], words[1], words[2], true);
}

static void run_table(subject *u, const char *path) {
    FILE *table = fopen(path, "r");
    char line[1024];
    if (!table) fail(strerror(errno), path);
    while (fgets(line, sizeof line, table)) run_line(u, line);
    fclose(table);
}

int main(int argc, char **argv) {
    if (argc != 5) fail("TABLE POLICY MODEL FILE", "usage");
    char cache[] = "/tmp/opfuse-sizes-XXXXXX";
    if (!mkdtemp(cache)) fail(strerror(errno), cache);
    subject u = {.name = argv[3], .path = argv[4], .cache = cache, .context = opf_context_new()};
    opf_context_set(u.context, "cache", cache);
    if (opf_context_set(u.context, "fuse", argv[2]) != OPF_OK) fail("is no policy", argv[2]);
    if (opf_model_load(&u.model, u.context, u.path) != OPF_OK) fail("cannot be read", u.path);
    find_symbols(&u);
    run_table(&u, argv[1]);
    if (count_programs(cache) != 1) complain(&u, "in all", "was compiled more than once", NULL);
    if (u.right < LEAST_SIZES) complain(&u, "in all", "fewer than three sizes hold", NULL);
    printf("%s %s: %d sizes hold, %d refused as expected, %d wrong, %d program\n", u.name, argv[2], u.right, u.refused, u.wrong, count_programs(cache));
    opf_model_free(u.model);
    opf_context_free(u.context);
    opf_folder_remove(cache);
    return u.wrong > 0;
}
