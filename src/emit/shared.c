/* Helpers that several kernels share. In files that are compiled apart each kernel brings its own, behind a guard of its name; in
 * one file for people to read a helper stands once, before the first kernel that calls it, without the guard. */
#include <string.h>

#include "emit/library.h"

static const char guard[] = "#ifndef OPF_", end[] = "#endif\n";

static const char *line_behind(const char *line) {
    const char *next = strchr(line, '\n');
    return next ? next + 1 : line + strlen(line);
}

/* `helper` starts with its guard, "#ifndef NAME" and "#define NAME"; what stands behind its end is returned. */
static const char *add_helper(opf_interner *names, opf_map *printed, const char *helper, opf_text *out) {
    const char *define = line_behind(helper), *body = line_behind(define), *stop = strstr(body, end);
    const char *name = helper + strlen("#ifndef ");
    const char *key = opf_intern_n(names, name, (size_t)(define - name));
    if (!opf_map_has(printed, key)) {
        opf_text_add_n(out, body, (size_t)(stop - body));
        opf_text_add(out, "\n");
    }
    opf_map_set(printed, key, names);
    return stop + sizeof end - 1;
}

void opf_emit_shared_once(opf_interner *names, opf_map *printed, const char *kernel, opf_text *out) {
    while (*kernel) {
        const char *next = line_behind(kernel);
        bool helper = strncmp(kernel, guard, sizeof guard - 1) == 0 && strstr(next, end);
        if (helper) {
            kernel = add_helper(names, printed, kernel, out);
            continue;
        }
        opf_text_add_n(out, kernel, (size_t)(next - kernel));
        kernel = next;
    }
}
