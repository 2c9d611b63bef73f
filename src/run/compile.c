/* Sources in a folder → program.so, several compilers at once. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "run/toolchain.h"

enum { MOST_JOBS = 64, MOST_LINES = 20 };

typedef struct unit {
    const char *source, *object;
    const char *compiler; /* NULL: the toolchain's */
    int exit_code;        /* -1: could not be started */
    opf_text complaints;
} unit;

typedef struct work {
    const opf_compilation *compilation;
    unit *units;
    int count;
    atomic_int next;
    atomic_bool failed;
    pthread_mutex_t lock; /* guards done */
    pthread_cond_t changed;
    int done;
} work;

/* ---- one call of the compiler ---- */

static void call(const opf_toolchain *toolchain, const char *const *tail, size_t n_tail, bool with_flags, unit *u) {
    size_t from = u->compiler ? toolchain->n_compiler : 0, n = (with_flags ? toolchain->words.count : toolchain->n_compiler) - from;
    const char **argv = calloc(1 + n + n_tail + 1, sizeof *argv); /* no arena: several threads are here */
    if (!argv) opf_out_of_memory();
    size_t at = 0;
    if (u->compiler) argv[at++] = u->compiler;
    memcpy(argv + at, toolchain->words.data + from, n * sizeof *argv);
    memcpy(argv + at + n, tail, n_tail * sizeof *argv);
    opf_process *process;
    u->exit_code = -1;
    if (opf_process_start(&process, argv, NULL) == OPF_OK) opf_process_wait(process, &u->exit_code, NULL, &u->complaints);
    free(argv);
}

static void *compile_units(void *data) {
    work *w = data;
    for (int i; (i = atomic_fetch_add(&w->next, 1)) < w->count;) {
        unit *u = &w->units[i];
        const char *tail[] = {"-c", u->source, "-o", u->object};
        if (!atomic_load(&w->failed)) call(w->compilation->toolchain, tail, OPF_COUNT(tail), true, u);
        if (u->exit_code != 0) atomic_store(&w->failed, true);
        pthread_mutex_lock(&w->lock);
        w->done++;
        pthread_cond_signal(&w->changed);
        pthread_mutex_unlock(&w->lock);
    }
    return NULL;
}

/* ---- all of them ---- */

static void tell(const opf_compile_options *options, int done, int total) {
    if (options->progress) options->progress(options->progress_data, "compiling", done, total);
}

/* Waits for the workers; progress is told from this thread. */
static void watch(work *w) {
    int told = 0;
    tell(w->compilation->options, 0, w->count);
    while (told < w->count) {
        pthread_mutex_lock(&w->lock);
        while (w->done == told) pthread_cond_wait(&w->changed, &w->lock);
        told = w->done;
        pthread_mutex_unlock(&w->lock);
        tell(w->compilation->options, told, w->count);
    }
}

static void compile_all(work *w) {
    int jobs = w->compilation->options->jobs > 0 ? w->compilation->options->jobs : opf_cores();
    if (jobs > MOST_JOBS) jobs = MOST_JOBS;
    if (jobs > w->count) jobs = w->count;
    pthread_t threads[MOST_JOBS];
    int started = 0;
    while (started < jobs && pthread_create(&threads[started], NULL, compile_units, w) == 0) started++;
    if (!started) compile_units(w);
    watch(w);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

/* ---- failures ---- */

/* `own`: the user's file that the text is from; NULL: generated. */
static opf_status report(const opf_compilation *c, const char *what, const char *own, const unit *u) {
    const char *text = opf_text_string(&u->complaints);
    if (strstr(text, "No space left on device")) {
        opf_diag *diag = opf_diag_add(c->diags, OPF_ERROR, "cache", (opf_place){c->folder, NULL, NULL, -1}, "no space is left on the device");
        opf_diag_hint(c->diags, diag, "--cache DIR names another folder");
        return OPF_ERROR_SYSTEM;
    }
    if (u->exit_code < 0) {
        opf_diag_add(c->diags, OPF_ERROR, "compiler", OPF_NO_PLACE, "the C compiler '%s' cannot be started", u->compiler ? u->compiler : c->toolchain->words.data[0]);
        return OPF_ERROR_SYSTEM;
    }
    opf_diag *diag = own ? opf_diag_add(c->diags, OPF_ERROR, "patterns", (opf_place){own, NULL, NULL, -1}, "the kernel does not compile ('%s', exit status %d)", u->compiler ? u->compiler : c->toolchain->words.data[0], u->exit_code)
                         : opf_diag_add(c->diags, OPF_ERROR, "compiler", OPF_NO_PLACE, "the C compiler '%s' failed on %s (exit status %d)", u->compiler ? u->compiler : c->toolchain->words.data[0], what, u->exit_code);
    for (int line = 0; line < MOST_LINES && *text; line++) {
        size_t length = strcspn(text, "\n");
        opf_diag_detail(c->diags, diag, "%.*s", (int)length, text);
        text += length + (text[length] == '\n');
    }
    if (own && u->exit_code <= 128) return OPF_ERROR_INPUT;
    return u->exit_code > 128 ? OPF_ERROR_SYSTEM : OPF_ERROR_INTERNAL; /* killed, or a text that is no C */
}

static opf_status link_all(const opf_compilation *c, const unit *units) {
    const char **tail = calloc((size_t)c->count + (size_t)c->n_linked + 6, sizeof *tail);
    if (!tail) opf_out_of_memory();
    size_t n = 0;
    tail[n++] = "-shared";
    tail[n++] = "-Wl,-Bsymbolic"; /* several of them in one process: each has its own */
    tail[n++] = "-Wl,--no-undefined";
    for (int i = 0; i < c->count; i++) tail[n++] = units[i].object;
    for (int i = 0; i < c->n_linked; i++) tail[n++] = c->linked[i];
    tail[n++] = "-lm";
    tail[n++] = "-o";
    tail[n++] = opf_arena_printf(c->toolchain->arena, "%s/program.so", c->folder);
    unit link = {0};
    call(c->toolchain, tail, n, true, &link);
    opf_status status = link.exit_code == 0 ? OPF_OK : report(c, "linking", NULL, &link);
    opf_text_free(&link.complaints);
    free(tail);
    return status;
}

opf_status opf_toolchain_compile(const opf_compilation *c) {
    opf_arena *arena = c->toolchain->arena;
    work w = {.compilation = c, .count = c->count, .units = OPF_ARRAY(arena, unit, c->count + 1)};
    for (int i = 0; i < c->count; i++) {
        w.units[i].source = opf_arena_printf(arena, "%s/%s", c->folder, c->names[i]);
        w.units[i].compiler = c->compilers ? c->compilers[i] : NULL;
        w.units[i].object = opf_arena_printf(arena, "%s/%d.o", c->folder, i);
    }
    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.changed, NULL);
    compile_all(&w);
    opf_status status = OPF_OK;
    for (int i = 0; i < c->count && status == OPF_OK; i++)
        if (w.units[i].exit_code != 0) status = report(c, c->names[i], c->own ? c->own[i] : NULL, &w.units[i]);
    if (status == OPF_OK && !c->objects_only) status = link_all(c, w.units);
    for (int i = 0; i < c->count; i++) opf_text_free(&w.units[i].complaints);
    pthread_mutex_destroy(&w.lock);
    pthread_cond_destroy(&w.changed);
    return status;
}
