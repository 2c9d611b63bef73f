/* `build -o FOLDER/`: plain C to take away, with a self-test. The files are made in a folder beside it; one that is new is put
 * in place by one renaming, one that exists gets file by file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/build.h"
#include "api/reference.h"

static const char *const file_names[] = {"model.h", "model.c", "model.weights", "selftest.c", "selftest.data", "Makefile", "versions.h"};
enum { FILE_HEADER, FILE_SOURCE, FILE_WEIGHTS, FILE_TEST, FILE_DATA, FILE_MAKE, FILE_VERSIONS, FILES };

typedef struct plain {
    opf_building *b;
    opf_text texts[FILES];
    opf_text *versions;        /* of several: one file each */
    const opf_tensor **inputs, **outputs;
    int64_t *offsets;
} plain;

/* ---- what goes in and comes out ---- */

static opf_status evaluate(plain *p, opf_eval **eval) {
    opf_building *b = p->b;
    opf_module *module = NULL;
    opf_status status = opf_model_as_read(&module, b->model);
    if (status != OPF_OK) return status;
    opf_graph *graph = module->graph;
    p->outputs = OPF_ARRAY(b->arena, const opf_tensor *, graph->outputs.count + 1);
    status = opf_reference_run(eval, graph, b->inputs, false, &p->inputs, b->arena, b->model->context->diags);
    for (size_t k = 0; k < graph->outputs.count && status == OPF_OK; k++) p->outputs[k] = opf_eval_value(*eval, graph->outputs.data[k]);
    return status;
}

static void add_tensor(opf_text *data, const opf_tensor *tensor, int64_t *offset) {
    static const char zeros[OPF_WORKSPACE_ALIGN];
    opf_text_add_n(data, zeros, (OPF_WORKSPACE_ALIGN - data->length % OPF_WORKSPACE_ALIGN) % OPF_WORKSPACE_ALIGN);
    *offset = (int64_t)data->length;
    opf_tensor_copy(tensor, opf_text_add_room(data, tensor->bytes));
}

static opf_status gather_test(plain *p) {
    const opf_graph *graph = opf_build_program(p->b)->fusion->graph;
    size_t n = graph->inputs.count, m = graph->outputs.count;
    opf_eval *eval = NULL;
    opf_status status = evaluate(p, &eval);
    p->offsets = OPF_ARRAY(p->b->arena, int64_t, n + m + 1);
    for (size_t i = 0; i < n && status == OPF_OK; i++) add_tensor(&p->texts[FILE_DATA], p->inputs[i], &p->offsets[i]);
    for (size_t k = 0; k < m && status == OPF_OK; k++) {
        add_tensor(&p->texts[FILE_DATA], p->outputs[k], &p->offsets[n + k]);
        p->outputs[k] = opf_tensor_new(p->b->arena, p->outputs[k]->dtype, p->outputs[k]->rank, p->outputs[k]->dims, p->texts[FILE_DATA].data, &(const char *){NULL});
    }
    if (eval) opf_eval_free(eval);
    return status;
}

/* ---- texts ---- */

/* FNV-1a, 64 bits: ten lines in any language, for whoever checks the file on a small device. */
static uint64_t checksum_of(const opf_text *data) {
    uint64_t checksum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < data->length; i++) checksum = (checksum ^ (unsigned char)data->data[i]) * 0x100000001b3u;
    return checksum;
}

/* A file of the user's own kernels. */
static const char *own_name(const plain *p, size_t number) {
    return opf_arena_printf(p->b->arena, "own_%zu.c", number);
}

static const char *version_name(const plain *p, size_t v, const char *ending) {
    return opf_arena_printf(p->b->arena, "model%s%s", p->b->versions[v].named.table + strlen(p->b->library.name), ending);
}

/* What is compiled beside the self-test, and by which rules. */
static void emit_makefile(plain *p) {
    const opf_building *b = p->b;
    const opf_program *program = opf_build_program(b);
    bool several = b->n_versions > 1;
    opf_text own = {0}, objects = {0}, *out = &p->texts[FILE_MAKE];
    for (size_t k = 0; k < opf_emit_own_files(program); k++) opf_text_printf(&own, " %s", own_name(p, k));
    for (size_t v = 0; v < b->n_versions && several; v++) opf_text_printf(&objects, " %s", version_name(p, v, ".o"));
    opf_text_printf(out, "CFLAGS = -std=c11 -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math%s%s\n", several ? "" : " ", several ? "" : program->machine->flags);
    opf_text_printf(out, "check: selftest\n\t./selftest\nselftest: selftest.c model.c model.h%s%s\n\t$(CC) $(CFLAGS) selftest.c model.c%s%s -o selftest -lm\n", opf_text_string(&own),
                    opf_text_string(&objects), opf_text_string(&own), opf_text_string(&objects));
    for (size_t v = 0; v < b->n_versions && several; v++)
        opf_text_printf(out, "%s: %s model.h versions.h\n\t$(CC) $(CFLAGS) %s%s-c %s -o %s\n", version_name(p, v, ".o"), version_name(p, v, ".c"), b->versions[v].named.machine->flags,
                        *b->versions[v].named.machine->flags ? " " : "", version_name(p, v, ".c"), version_name(p, v, ".o"));
    opf_text_free(&own);
    opf_text_free(&objects);
}

/* One file with everything, or one a version and the interface. */
static opf_status emit_sources(plain *p) {
    opf_building *b = p->b;
    if (b->n_versions == 1) {
        opf_library library = opf_build_library(b, &b->versions[0]);
        return opf_emit_plain(opf_build_program(b), &library, file_names[FILE_HEADER], &p->texts[FILE_SOURCE]);
    }
    opf_status status = OPF_OK;
    p->versions = OPF_ARRAY(b->arena, opf_text, b->n_versions);
    opf_emit_versions_header(&b->library, &p->texts[FILE_VERSIONS]);
    opf_emit_versions_source(opf_build_program(b), &b->library, file_names[FILE_HEADER], &p->texts[FILE_SOURCE]);
    for (size_t v = 0; v < b->n_versions && status == OPF_OK; v++) {
        opf_library library = opf_build_library(b, &b->versions[v]);
        status = opf_emit_plain(b->versions[v].session->pipeline.program, &library, file_names[FILE_HEADER], &p->versions[v]);
    }
    return status;
}

static opf_status emit(plain *p) {
    opf_building *b = p->b;
    const opf_program *program = opf_build_program(b);
    b->library.constants_given = !b->options->embed_weights;
    b->library.data = file_names[FILE_WEIGHTS];
    b->library.data_checksum = checksum_of(&b->data);
    opf_self_test test = {.header = file_names[FILE_HEADER], .data = file_names[FILE_DATA], .constants = b->library.constants_given ? file_names[FILE_WEIGHTS] : NULL,
                          .inputs = p->inputs, .outputs = p->outputs, .offsets = p->offsets, .data_bytes = (int64_t)p->texts[FILE_DATA].length};
    opf_emit_library_header(program, &b->library, &p->texts[FILE_HEADER]);
    opf_emit_self_test(program, &b->library, &test, &p->texts[FILE_TEST]);
    emit_makefile(p);
    opf_text_add_n(&p->texts[FILE_WEIGHTS], opf_text_string(&b->data), b->data.length);
    return emit_sources(p);
}

/* ---- files ---- */

static opf_status write_own(plain *p, const char *folder) {
    const opf_program *program = opf_build_program(p->b);
    opf_status status = OPF_OK;
    for (size_t k = 0; k < opf_emit_own_files(program) && status == OPF_OK; k++) {
        opf_text text = {0};
        opf_emit_own_file(program, k, p->b->library.name, &text);
        status = opf_file_write(opf_arena_printf(p->b->arena, "%s/%s", folder, own_name(p, k)), opf_text_string(&text), text.length, p->b->model->context->diags);
        opf_text_free(&text);
    }
    return status;
}

static opf_status write_files(plain *p, const char *folder) {
    const opf_building *b = p->b;
    opf_diags *diags = b->model->context->diags;
    opf_status status = OPF_OK;
    for (int i = 0; i < FILES && status == OPF_OK; i++) {
        if (i == FILE_VERSIONS && b->n_versions == 1) continue;
        status = opf_file_write(opf_arena_printf(b->arena, "%s/%s", folder, file_names[i]), opf_text_string(&p->texts[i]), p->texts[i].length, diags);
    }
    for (size_t v = 0; v < b->n_versions && b->n_versions > 1 && status == OPF_OK; v++)
        status = opf_file_write(opf_arena_printf(b->arena, "%s/%s", folder, version_name(p, v, ".c")), opf_text_string(&p->versions[v]), p->versions[v].length, diags);
    return status == OPF_OK ? write_own(p, folder) : status;
}

static opf_status place(plain *p) {
    opf_building *b = p->b;
    opf_diags *diags = b->model->context->diags;
    size_t length = strlen(b->path);
    while (length > 1 && b->path[length - 1] == '/') length--;
    const char *folder = opf_arena_printf(b->arena, "%.*s", (int)length, b->path);
    if (opf_file_exists(folder)) return write_files(p, folder);
    char *made = opf_arena_printf(b->arena, "%s.XXXXXX", folder);
    if (!mkdtemp(made)) {
        opf_diag_add(diags, OPF_ERROR, "io", (opf_place){b->path, NULL, NULL, -1}, "the folder cannot be made here");
        return OPF_ERROR_SYSTEM;
    }
    opf_status status = chmod(made, 0755) == 0 ? write_files(p, made) : OPF_ERROR_SYSTEM;
    if (status == OPF_OK && rename(made, folder) != 0) {
        opf_diag_add(diags, OPF_ERROR, "io", (opf_place){b->path, NULL, NULL, -1}, "the folder cannot be put in place");
        status = OPF_ERROR_SYSTEM;
    }
    if (status != OPF_OK) opf_folder_remove(made);
    return status;
}

/* The self-test's data is a file of numbers. */
static opf_status check_ports(const opf_building *b) {
    const opf_program *program = opf_build_program(b);
    const opf_graph *graph = program->fusion->graph;
    bool numbers = !b->library.takes_memory;
    for (size_t i = 0; i < graph->inputs.count; i++) numbers = numbers && !graph->inputs.data[i]->list && graph->inputs.data[i]->dtype != OPF_STRING;
    for (size_t i = 0; i < graph->outputs.count; i++) numbers = numbers && !graph->outputs.data[i]->list && graph->outputs.data[i]->dtype != OPF_STRING;
    if (numbers) return OPF_OK;
    opf_diags *diags = program->module->diags;
    opf_diag *diag = opf_diag_add(diags, OPF_ERROR, "unsupported", (opf_place){program->module->path, NULL, NULL, -1},
                                  "plain C with its self-test is written for models of tensors of numbers; this one has strings, sequences, optionals or sizes without a bound");
    opf_diag_hint(diags, diag, "-o FILE.so or -o FILE.a builds it as a library");
    return OPF_ERROR_UNSUPPORTED;
}

opf_status opf_build_plain(opf_building *b) {
    plain p = {.b = b};
    opf_status status = check_ports(b);
    if (status == OPF_OK) status = gather_test(&p);
    if (status == OPF_OK) status = emit(&p);
    if (status == OPF_OK) status = place(&p);
    for (int i = 0; i < FILES; i++) opf_text_free(&p.texts[i]);
    for (size_t v = 0; p.versions && v < b->n_versions; v++) opf_text_free(&p.versions[v]);
    return status;
}
