/* The versions of a build: one for each target, in the order in which they are preferred. */
#include <ctype.h>
#include <string.h>

#include "api/build.h"

static opf_place place_of(const opf_building *b) { return (opf_place){b->path, NULL, NULL, -1}; }

static opf_status refuse(const opf_building *b, const char *message, const char *hint) {
    opf_diags *diags = b->model->context->diags;
    opf_diag *diag = opf_diag_add(diags, OPF_ERROR, "machine", place_of(b), "%s", message);
    opf_diag_hint(diags, diag, "%s", hint);
    return OPF_ERROR_INPUT;
}

/* ---- the list ---- */

static void add_target(opf_building *b, const char *target) { b->versions[b->n_versions++] = (opf_build_version){.target = target}; }

/* A file with commas in its name is one target. */
static void split(opf_building *b, const char *targets) {
    size_t commas = 0;
    for (const char *c = targets; c && *c; c++) commas += *c == ',';
    b->versions = OPF_ARRAY(b->arena, opf_build_version, commas + 1);
    if (!commas || opf_file_exists(targets)) {
        add_target(b, targets);
        return;
    }
    for (;;) {
        size_t length = strcspn(targets, ",");
        add_target(b, opf_arena_string_n(b->arena, targets, length));
        if (!targets[length]) return;
        targets += length + 1;
    }
}

/* Does every processor that runs `a` run `b`? */
static bool asks_no_more(const opf_machine *b, const opf_machine *a) {
    const char *architecture = opf_machine_architecture(b);
    if (architecture && opf_machine_architecture(a) != architecture) return false;
    for (const char *const *wanted = opf_machine_features(b); *wanted; wanted++) {
        bool found = false;
        for (const char *const *f = opf_machine_features(a); *f; f++) found = found || strcmp(*f, *wanted) == 0;
        if (!found) return false;
    }
    return true;
}

static const char *table_name(const opf_building *b, const opf_machine *machine) {
    char *name = opf_arena_printf(b->arena, "%s_%s", b->library.name, machine->name);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c)) *c = '_';
    return name;
}

/* Each of several is a row of the table, and the first that a processor runs must not hide a later one from all of them. */
static opf_status name_versions(opf_building *b) {
    for (size_t v = 0; v < b->n_versions; v++) {
        opf_machine machine;
        const char *target = b->versions[v].target;
        opf_status status = opf_machine_choose(&machine, target, b->arena, b->model->context->diags);
        if (status != OPF_OK) return status;
        const opf_machine *row = opf_machine_named(machine.name);
        if (!*target || !row || (strcmp(target, "native") != 0 && strcmp(target, row->name) != 0))
            return refuse(b, opf_arena_printf(b->arena, "'%s' cannot be one of several targets", target), "several targets are rows of the machine table: `opfuse doctor` lists them");
        b->versions[v].named = (opf_library_version){row, table_name(b, row)};
        for (size_t before = 0; before < v; before++)
            if (asks_no_more(b->versions[before].named.machine, row))
                return refuse(b, opf_arena_printf(b->arena, "the version for %s would never be chosen: every processor that runs it runs the one for %s, which stands before it", row->name,
                                                  b->versions[before].named.machine->name),
                              "name the targets from the best to the least: x86-64-v4,x86-64-v3,generic, or aarch64,generic");
    }
    return OPF_OK;
}

/* ---- sessions ---- */

static opf_status make_sessions(opf_building *b) {
    opf_options *options = &b->model->context->options;
    const char *machine = options->machine;
    opf_status status = OPF_OK;
    for (size_t v = 0; v < b->n_versions && status == OPF_OK; v++) {
        if (b->versions[v].target) options->machine = b->versions[v].target;
        status = opf_session_make(&b->versions[v].session, b->model, options->policy, false, false);
        if (!b->versions[v].session) b->n_versions = v; /* failed, or stopped before its end */
    }
    options->machine = machine;
    return status;
}

opf_status opf_build_versions(opf_building *b, const char *targets) {
    split(b, targets);
    opf_status status = b->n_versions > 1 ? name_versions(b) : OPF_OK;
    if (status != OPF_OK) b->n_versions = 0;
    return status == OPF_OK ? make_sessions(b) : status;
}

void opf_build_versions_free(opf_building *b) {
    for (size_t v = 0; v < b->n_versions; v++) opf_session_free(b->versions[v].session);
}
