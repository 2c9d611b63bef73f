/* Sizes of compiled code: sections by binutils' `size`, stack by the reports that -fstack-usage leaves beside objects. */
#include "run/sizes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/process.h"

const char **opf_objects_beside(const char *object, opf_arena *arena, int *n) {
    const char *slash = strrchr(object, '/');
    OPF_VEC(const char *) found = {0};
    for (int i = 0;; i++) {
        const char *path = opf_arena_printf(arena, "%.*s/%d.o", (int)(slash - object), object, i);
        if (!opf_file_exists(path)) break;
        OPF_PUSH(arena, &found, path);
    }
    *n = (int)found.count;
    return found.data;
}

/* ---- sections ---- */

/* Lines of `size`: "   text    data     bss     dec     hex filename", then numbers. */
static void add_sections(const char *text, opf_object_sizes *sizes) {
    for (const char *line = strchr(text, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
        long long code, data, bss;
        if (sscanf(line + 1, "%lld %lld %lld", &code, &data, &bss) != 3) continue;
        sizes->text += code;
        sizes->data += data + bss;
    }
}

static void measure_sections(const char **objects, int n, opf_arena *arena, opf_object_sizes *sizes) {
    const char **argv = OPF_ARRAY(arena, const char *, n + 2);
    argv[0] = "size";
    memcpy(argv + 1, objects, (size_t)n * sizeof *objects);
    opf_process *process;
    opf_text text = {0};
    int code = 1;
    bool told = opf_process_start(&process, argv, NULL) == OPF_OK && opf_process_wait(process, &code, &text, NULL) == OPF_OK && code == 0;
    sizes->text = sizes->data = told ? 0 : -1;
    if (told) add_sections(opf_text_string(&text), sizes);
    opf_text_free(&text);
}

/* ---- stack ---- */

/* Frames by the place that a function has in a chain of calls. */
typedef struct frames { int64_t program, kernel, helper; bool any; } frames;

static void raise(int64_t *most, int64_t bytes) { *most = bytes > *most ? bytes : *most; }

/* "kernels_0.c:12:13:name<tab>bytes<tab>static". Helpers, which kernels and the program call, have names of the prelude's. */
static void add_frame(const char *line, size_t length, bool main_file, frames *f) {
    const char *tab = memchr(line, '\t', length);
    if (!tab) return;
    int64_t bytes = strtoll(tab + 1, NULL, 10);
    const char *name = tab;
    while (name > line && name[-1] != ':') name--;
    bool helper = strncmp(name, "opf_", 4) == 0;
    f->any = true;
    if (main_file && !helper) f->program += bytes; /* run and its parts; small ones beside it */
    else raise(helper ? &f->helper : &f->kernel, bytes);
}

static void add_frames(const char *path, bool main_file, frames *f) {
    opf_diags *quiet = opf_diags_new();
    opf_mapping file = {0};
    if (opf_file_exists(path) && opf_file_map(&file, path, quiet) == OPF_OK) {
        for (size_t at = 0; at < file.size;) {
            const char *line = (const char *)file.data + at;
            const char *end = memchr(line, '\n', file.size - at);
            size_t length = end ? (size_t)(end - line) : file.size - at;
            add_frame(line, length, main_file, f);
            at += length + 1;
        }
        opf_file_unmap(&file);
    }
    opf_diags_free(quiet);
}

opf_object_sizes opf_object_measure(const char *object, opf_arena *arena) {
    opf_object_sizes sizes = {-1, -1, -1};
    int n;
    const char **objects = opf_objects_beside(object, arena, &n);
    if (!n) return sizes;
    measure_sections(objects, n, arena, &sizes);
    frames f = {0};
    for (int i = 0; i < n; i++) add_frames(opf_arena_printf(arena, "%.*s.su", (int)strlen(objects[i]) - 2, objects[i]), i + 1 == n, &f);
    if (f.any) sizes.stack = f.program + f.kernel + 2 * f.helper; /* helpers call one another: two deep */
    return sizes;
}
