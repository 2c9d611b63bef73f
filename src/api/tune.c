/* `tune`: the search over schedules, and the database's way in and out. */
#include <stdlib.h>
#include <string.h>

#include "api/session.h"
#include "base/clock.h"
#include "base/order.h"
#include "tune/code.h"
#include "tune/search.h"

enum { WARMUP = 3, MOST_RUNS = 101 };
static const double MOST_SECONDS = 5;

typedef struct tuning {
    opf_model *model;
    const opf_array *inputs;
    const opf_tune_options *options;
    const char *path;          /* of the database */
    opf_database *database;
    opf_session *session;      /* by the heuristic */
    opf_arena *arena;
    opf_text *out;
} tuning;

/* ---- the database ---- */

static opf_status database_path(const char **out, opf_context *context, opf_arena *arena) {
    opf_compile_options compiling = opf_context_compile_options(context);
    const char *named = context->options.database;
    *out = named ? named : opf_database_default(opf_cache_folder(&compiling, arena), arena);
    if (*out && strcmp(*out, "none") != 0) return OPF_OK;
    opf_diag_add(context->diags, OPF_ERROR, "usage", OPF_NO_PLACE, named ? "--db none leaves no place for what is found" : "there is no folder for the database of schedules: --db FILE names one");
    return OPF_ERROR_USAGE;
}

/* ---- the whole model, before and after ---- */

static opf_status timed(opf_session *session, const tuning *t, opf_array *outputs, double *milliseconds) {
    int64_t begun = opf_clock_now();
    opf_status status = opf_session_run(session, t->inputs, outputs);
    *milliseconds = (double)(opf_clock_now() - begun) / 1e6;
    return status;
}

static opf_status compare_runs(const tuning *t, opf_session *tuned) {
    opf_array *outputs = OPF_ARRAY(t->arena, opf_array, opf_model_outputs(t->model) + 1);
    double before[MOST_RUNS], after[MOST_RUNS], ratios[MOST_RUNS], ignored;
    int runs = 0;
    opf_status status = OPF_OK;
    for (int i = 0; i < WARMUP && status == OPF_OK; i++) {
        status = timed(t->session, t, outputs, &ignored);
        if (status == OPF_OK) status = timed(tuned, t, outputs, &ignored);
    }
    for (int64_t begun = opf_clock_now(); status == OPF_OK && runs < MOST_RUNS && (runs < 5 || (double)(opf_clock_now() - begun) < MOST_SECONDS * 1e9); runs++) {
        status = timed(runs % 2 ? tuned : t->session, t, outputs, runs % 2 ? &after[runs] : &before[runs]);
        if (status == OPF_OK) status = timed(runs % 2 ? t->session : tuned, t, outputs, runs % 2 ? &before[runs] : &after[runs]);
        ratios[runs] = after[runs] / before[runs];
    }
    if (status != OPF_OK) return status;
    qsort(before, (size_t)runs, sizeof *before, opf_ascending);
    qsort(after, (size_t)runs, sizeof *after, opf_ascending);
    qsort(ratios, (size_t)runs, sizeof *ratios, opf_ascending);
    opf_text_printf(t->out, "whole model, medians of %d runs in turns: %.3f ms by the heuristic, %.3f ms tuned (%.3f of it)\n", runs, before[runs / 2], after[runs / 2], ratios[runs / 2]);
    return OPF_OK;
}

static opf_status tell_gain(const tuning *t, const opf_findings *findings) {
    bool any = false;
    opf_session *tuned = NULL;
    for (size_t i = 0; i < findings->list.count; i++) any = any || findings->list.data[i].ratio < 1;
    if (!any || findings->stopped) return OPF_OK;
    opf_status status = opf_session_make(&tuned, t->model, t->model->context->options.policy, false, true);
    if (status == OPF_OK && tuned) status = compare_runs(t, tuned);
    opf_session_free(tuned);
    return status;
}

/* ---- the search ---- */

static bool stop(void *data) {
    const opf_tune_options *options = data;
    return options->stop && options->stop(options->stop_data);
}

static opf_status search(const tuning *t, opf_findings *findings) {
    opf_context *context = t->model->context;
    const opf_program *program = t->session->pipeline.program;
    opf_tunables tunables;
    opf_compile_options compiling = opf_context_compile_options(context);
    opf_status status = opf_session_prepare(t->session, t->inputs);
    if (status == OPF_OK) status = opf_capture(&tunables, t->session->runner, program, t->session->inputs, t->session->outputs, t->arena);
    if (status != OPF_OK) return status;
    opf_fuse_options fusing = opf_pipeline_fuse_options(&t->session->pipeline);
    opf_search_options options = {.seconds = t->options->seconds, .database = t->database, .cpu = opf_cpu_identity(t->arena), .progress = opf_context_progress, .progress_data = context, .fusion = t->session->pipeline.fusion, .fusing = &fusing};
    options.race = (opf_race_options){.compiling = &compiling, .program = program, .machine = program->machine, .threads = opf_context_threads(context), .bytes = tunables.bytes, .stop = stop,
                                      .stop_data = (void *)(uintptr_t)t->options};
    status = opf_search(findings, &tunables, &options, t->arena, context->diags);
    opf_capture_end(t->session->runner);
    if (status == OPF_OK) opf_findings_print(findings, t->out);
    return status;
}

/* The heuristic's program: what all candidates are measured against. */
static opf_status open_session(tuning *t) {
    opf_options *options = &t->model->context->options;
    const char *database = options->database, *pins = options->schedule_file;
    options->database = "none";
    options->schedule_file = NULL;
    opf_status status = opf_session_make(&t->session, t->model, options->policy, false, false);
    options->database = database;
    options->schedule_file = pins;
    return status;
}

static opf_status tune(tuning *t) {
    opf_context *context = t->model->context;
    opf_findings findings;
    opf_machine machine;
    opf_status status = opf_machine_choose(&machine, context->options.machine, t->arena, context->diags);
    if (status == OPF_OK && opf_machine_is_foreign(&machine)) {
        opf_diag_add(context->diags, OPF_ERROR, "usage", OPF_NO_PLACE, "this CPU cannot run code for %s, so that nothing can be measured", machine.name);
        return OPF_ERROR_USAGE;
    }
    if (status == OPF_OK) status = database_path(&t->path, context, t->arena);
    if (status == OPF_OK) status = opf_database_open(&t->database, t->path, true, context->diags);
    if (status == OPF_OK) status = open_session(t);
    if (status == OPF_OK && t->session) status = search(t, &findings);
    if (status == OPF_OK && t->session) status = tell_gain(t, &findings);
    if (status == OPF_OK && t->session) opf_text_printf(t->out, "database: %s\n", t->path);
    return status;
}

opf_status opf_model_tune(opf_model *model, const opf_array *inputs, const opf_tune_options *options, char **report) {
    opf_text text = {0};
    tuning t = {.model = model, .inputs = inputs, .options = options, .arena = opf_arena_new(), .out = &text};
    opf_model *bound = NULL;
    *report = NULL;
    opf_status status = model->needs_values ? opf_model_bind(&bound, model, inputs) : OPF_OK;
    if (bound) t.model = bound;
    if (status == OPF_OK) status = tune(&t);
    if (status == OPF_OK) *report = opf_text_take(&text);
    opf_text_free(&text);
    opf_session_free(t.session);
    opf_database_close(t.database);
    opf_model_free(bound);
    opf_arena_free(t.arena);
    return status;
}

/* ---- in and out ---- */

opf_status opf_schedules_export(opf_context *context, const char *path) {
    opf_arena *arena = opf_arena_new();
    opf_database *database = NULL;
    opf_tunings all = {0};
    opf_text text = {0};
    const char *from;
    opf_status status = database_path(&from, context, arena);
    if (status == OPF_OK) status = opf_database_open(&database, from, false, context->diags);
    if (status == OPF_OK && database) status = opf_database_find(database, NULL, NULL, &all, arena);
    opf_text_add(&text, "# opfuse schedules: docs/tuning.md\n\n");
    for (size_t i = 0; i < all.list.count; i++) opf_tuning_print(&all.list.data[i], &text);
    if (status == OPF_OK) status = opf_file_write(path, opf_text_string(&text), text.length, context->diags);
    opf_text_free(&text);
    opf_database_close(database);
    opf_arena_free(arena);
    return status;
}

static opf_status check_whole(opf_context *context, const char *path, const opf_tunings *tunings) {
    for (size_t i = 0; i < tunings->list.count; i++) {
        const opf_tuning *t = &tunings->list.data[i];
        if (t->cpu && t->threads && t->best_ms > 0) continue;
        opf_diag *diag = opf_diag_add(context->diags, OPF_ERROR, "schedule", (opf_place){path, NULL, NULL, -1}, "kernel %s has no cpu, threads or best_ms: it was never measured", t->kernel);
        opf_diag_hint(context->diags, diag, "--schedule FILE uses it without a database");
        return OPF_ERROR_INPUT;
    }
    return OPF_OK;
}

opf_status opf_schedules_import(opf_context *context, const char *path, char **report) {
    opf_arena *arena = opf_arena_new();
    opf_database *database = NULL;
    opf_tunings all = {0};
    const char *into;
    size_t taken = 0, uncoded = 0;
    if (report) *report = NULL;
    opf_status status = opf_tunings_read(&all, path, arena, context->diags);
    if (status == OPF_OK) status = check_whole(context, path, &all);
    if (status == OPF_OK) status = database_path(&into, context, arena);
    if (status == OPF_OK) status = opf_database_open(&database, into, true, context->diags);
    for (size_t i = 0; i < all.list.count && status == OPF_OK; i++) {
        bool one;
        status = opf_database_merge(database, &all.list.data[i], &one);
        taken += status == OPF_OK && one;
        uncoded += status == OPF_OK && one && !all.list.data[i].default_code;
    }
    if (status == OPF_OK && report) {
        opf_text text = {0};
        opf_text_printf(&text, "%zu of %zu schedules taken into %s\n", taken, all.list.count, into);
        if (uncoded) opf_text_printf(&text, "%zu of them do not tell the code that was measured: `opfuse tune` measures them before they are used\n", uncoded);
        *report = opf_text_take(&text);
    }
    opf_database_close(database);
    opf_arena_free(arena);
    return status;
}

/* ---- what was chosen ---- */

static opf_status print_schedules(const opf_pipeline *p, bool json, void *data, opf_text *out) {
    opf_map seen = opf_map_new(p->module->arena);
    (void)json;
    (void)data;
    opf_text_printf(out, "# schedules of the kernels of %s: docs/tuning.md\n\n", p->model->source.path);
    for (size_t i = 0; i < p->fusion->groups.count; i++) {
        const opf_nest *nest = p->nests[i];
        if (!nest) continue;
        const char *kernel = opf_intern(p->module->names, opf_hash_print(opf_schedule_key(nest->group, &p->machine)).text);
        if (opf_map_has(&seen, kernel)) continue;
        opf_map_set(&seen, kernel, out);
        opf_text_add(out, "# ");
        for (size_t k = 0; k < nest->group->nodes.count; k++) opf_text_printf(out, "%s%s", k ? " + " : "", nest->group->nodes.data[k]->name);
        opf_text_add(out, "\n");
        opf_tuning told = {.kernel = kernel, .operators = opf_schedule_operators(nest->group), .schedule = nest->chosen};
        opf_hash usual;
        told.best_code = opf_code_print(opf_code_of(&p->nests[i], 1, &nest->chosen), p->module->arena);
        told.default_code = opf_code_of_default(&usual, nest->group, &p->machine) ? opf_code_print(usual, p->module->arena) : NULL;
        opf_tuning_print(&told, out);
    }
    return OPF_OK;
}

opf_status opf_model_schedules(opf_model *model, char **out) { return opf_pipeline_report(model, OPF_TO_PROGRAM, "text", print_schedules, NULL, out); }
