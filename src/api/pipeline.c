/* The corridor, top to bottom. */
#include "api/pipeline.h"

#include <string.h>

#include "base/clock.h"
#include "onnx/onnx.h"
#include "pass/pass.h"
#include "tune/cut.h"

/* ---- stages ---- */

/* The model's own reading serves the first pipeline, unless somebody wants to see the graph before it is typed. */
static opf_status read_model(opf_pipeline *p) {
    if (p->module) return OPF_OK; /* a session that was loaded from its image, and wants the program after all */
    const char *shown = p->context->options.dump_after;
    if (!shown || strcmp(shown, "read") != 0) p->module = opf_model_take(p->model);
    p->typed = p->module != NULL;
    opf_status status = p->typed ? OPF_OK : opf_model_read(&p->module, p->model);
    if (status == OPF_OK) p->module->accuracy = p->context->options.accuracy;
    return status;
}

static opf_status type_graph(opf_pipeline *p) {
    opf_status status = p->typed ? OPF_OK : opf_model_type(p->model, p->module);
    return status == OPF_OK ? opf_model_refuse_unbound(p->model, p->module) : status;
}

static void remark(void *data, const char *text) { opf_context_say(data, OPF_TEXT_REMARK, text); }

opf_catalog_options opf_pipeline_catalog(opf_context *context, opf_arena *arena) {
    const opf_options *given = &context->options;
    opf_compile_options compiling = opf_context_compile_options(context);
    opf_catalog_options options = {.pins = given->schedule_file, .threads = opf_context_threads(context), .must_work = given->database != NULL, .database = given->database};
    if (!given->database) options.database = opf_database_default(opf_cache_folder(&compiling, arena), arena);
    else if (strcmp(given->database, "none") == 0) options.database = NULL;
    return options;
}

static opf_status open_catalog(opf_pipeline *p) {
    const opf_options *given = &p->context->options;
    p->module->accuracy = given->accuracy;
    opf_status status = opf_machine_choose(&p->machine, given->machine, p->module->arena, p->context->diags);
    if (status != OPF_OK) return status;
    opf_catalog_options options = opf_pipeline_catalog(p->context, p->module->arena);
    options.one_file = p->one_file;
    if (p->policy != given->policy) options.pins = NULL; /* a second program beside the one that is asked for has other kernels */
    if (given->verbose && !p->silent) options.say = remark;
    options.say_data = p->context;
    return opf_catalog_open(&p->catalog, &options, p->context->diags);
}

static int64_t cut_of(void *data, const opf_group *group) {
    const opf_pipeline *p = data;
    return opf_catalog_cut(p->catalog, group, &p->machine);
}

/* Before any pass: patterns speak of the model as it is read. Policy none has every node alone. */
static opf_status match(opf_pipeline *p) {
    if (!p->context->patterns->list.count || p->policy == OPF_POLICY_NONE) return OPF_OK;
    p->matches = opf_patterns_match(p->context->patterns, p->module, p->misses);
    for (size_t m = 0; m < p->matches->list.count && !p->misses; m++) {
        const opf_match *one = p->matches->list.data[m];
        bool must = one->pattern->action == OPF_PATTERN_FORCE || one->pattern->action == OPF_PATTERN_BIND;
        if (one->state == OPF_MATCH_REFUSED && must)
            opf_diag_add(p->context->diags, OPF_WARNING, "patterns", opf_node_place(one->nodes[0]), "pattern '%s' (%s) is not applied here: %s", one->pattern->name, one->pattern->source, one->reason);
    }
    return OPF_OK;
}

opf_fuse_options opf_pipeline_fuse_options(const opf_pipeline *p) {
    const opf_options *given = &p->context->options;
    opf_fuse_options options = {.policy = p->policy, .max_depth = given->max_depth, .settings = &given->rules, .matches = p->matches, .aside = p->misses};
    if (p->policy != OPF_POLICY_NONE) options.groups_file = given->groups_file; /* not for the unfused build of a bench */
    return options;
}

static opf_status fuse(opf_pipeline *p) {
    opf_status opened = open_catalog(p);
    if (opened != OPF_OK) return opened;
    opf_fuse_options options = opf_pipeline_fuse_options(p);
    opf_status status = opf_fuse(&p->fusion, p->module->graph, &options);
    if (status == OPF_OK) status = opf_fuse_cut(&p->fusion, p->fusion, &options, cut_of, p);
    if (status == OPF_OK && p->context->on_fusion) p->context->on_fusion(p->context->fusion_data, p->fusion);
    return status;
}

static opf_status schedule(opf_pipeline *p) {
    return opf_plan_nests(&p->nests, p->fusion, &p->machine, p->catalog ? opf_catalog_source(p->catalog) : NULL);
}

static opf_status plan(opf_pipeline *p) {
    opf_plan_options options = {.machine = &p->machine, .kernel_body = opf_emit_kernel_body, .tap_all = p->tap_all};
    if (p->catalog) options.schedules = opf_catalog_source(p->catalog);
    opf_status status = opf_plan(&p->program, p->fusion, p->nests, &options);
    return status == OPF_OK && p->catalog ? opf_catalog_finish(p->catalog, p->model->source.path) : status;
}

static opf_status emit(opf_pipeline *p) {
    if (p->on_program) p->on_program(p->program_data, p->program);
    opf_status status = opf_sources_emit(&p->sources, p->program);
    if (status == OPF_OK && p->context->on_sources) p->context->on_sources(p->context->fusion_data, p->fusion);
    return status;
}

static opf_status compile(opf_pipeline *p) {
    opf_compile_options options = opf_context_compile_options(p->context);
    return opf_compile(&p->object, p->program, p->sources, &options);
}

/* ---- text forms ---- */

static void print_graph(const opf_pipeline *p, opf_text *out) { opf_graph_print(p->module->graph, out); }
static void print_matches(const opf_pipeline *p, opf_text *out) { opf_matches_text(p, out); }
static void print_groups(const opf_pipeline *p, opf_text *out) { opf_fusion_print(p->fusion, out); }
static void print_program(const opf_pipeline *p, opf_text *out) { opf_program_print(p->program, out); }

static void print_nests(const opf_pipeline *p, opf_text *out) {
    for (size_t i = 0; i < p->fusion->groups.count; i++)
        if (p->nests[i]) opf_nest_print(p->nests[i], out);
}

static void print_sources(const opf_pipeline *p, opf_text *out) {
    for (int i = 0; i < p->sources->count; i++) {
        opf_text_printf(out, "// ---- %s\n", p->sources->names[i]);
        opf_text_add_n(out, opf_text_string(&p->sources->texts[i]), p->sources->texts[i].length);
    }
}

static void print_object(const opf_pipeline *p, opf_text *out) { opf_text_printf(out, "%s%s\n", p->object, p->sources->warm ? " (from the cache)" : ""); }

/* ---- the table ---- */

typedef struct stage {
    const char *name;
    opf_status (*run)(opf_pipeline *pipeline); /* NULL: the row stands for the table of passes */
    void (*print)(const opf_pipeline *pipeline, opf_text *out);
    const opf_pass *pass;
} stage;

static const stage table[] = {
    {"read", read_model, print_graph, NULL}, /* functions inlined */
    {"type", type_graph, print_graph, NULL},
    {"match", match, print_matches, NULL},
    {"passes", NULL, print_graph, NULL},
    {"fuse", fuse, print_groups, NULL},
    {"loop", schedule, print_nests, NULL},
    {"plan", plan, print_program, NULL},
    {"emit", emit, print_sources, NULL},
    {"compile", compile, print_object, NULL},
};

enum { MOST_STAGES = 64 };

/* The table with the passes in their place. */
static size_t all_stages(stage out[MOST_STAGES]) {
    size_t n = 0;
    for (size_t i = 0; i < OPF_COUNT(table); i++) {
        if (table[i].run) out[n++] = table[i];
        for (size_t k = 0; !table[i].run && k < opf_pass_count() && n + OPF_COUNT(table) < MOST_STAGES; k++)
            out[n++] = (stage){opf_pass_at(k)->name, NULL, table[i].print, opf_pass_at(k)};
    }
    return n;
}

static int find(const stage *stages, size_t n, const char *name) {
    for (size_t i = 0; name && i < n; i++)
        if (strcmp(stages[i].name, name) == 0) return (int)i;
    return -1;
}

bool opf_pipeline_has(const char *name) {
    stage stages[MOST_STAGES];
    return find(stages, all_stages(stages), name) >= 0;
}

const char *opf_pipeline_names(opf_arena *arena) {
    stage stages[MOST_STAGES];
    size_t n = all_stages(stages);
    opf_text text = {0};
    opf_text_add(&text, "one of ");
    for (size_t i = 0; i < n; i++) opf_text_printf(&text, "%s%s", i ? ", " : "", stages[i].name);
    const char *names = opf_arena_string(arena, opf_text_string(&text));
    opf_text_free(&text);
    return names;
}

/* ---- running it ---- */

static bool runs_under(const stage *s, opf_policy policy) { return !s->pass || s->pass->policies & 1u << policy; }
static opf_status run_stage(opf_pipeline *p, const stage *s) { return s->pass ? opf_pass_run(s->pass, p->module) : s->run(p); }

static void dump(opf_pipeline *p, const stage *s) {
    opf_text text = {0};
    s->print(p, &text);
    opf_context_say(p->context, OPF_TEXT_DUMP, opf_text_string(&text));
    opf_text_free(&text);
}

static void tell_time(opf_pipeline *p, const stage *s, int64_t nanoseconds) {
    opf_text text = {0};
    opf_text_printf(&text, "%10.3f ms  %s\n", (double)nanoseconds / 1e6, s->name);
    opf_context_say(p->context, OPF_TEXT_TIME, opf_text_string(&text));
    opf_text_free(&text);
}

/* What the model's loading has spent on a stage that this pipeline did not have to run. */
static int64_t time_before(const opf_pipeline *p, const stage *s) {
    if (!p->typed) return 0;
    return s->run == read_model ? p->model->read_time : s->run == type_graph ? p->model->type_time : 0;
}

static int last_stage(const opf_pipeline *p, const stage *stages, size_t n, enum opf_pipeline_end end) {
    static const char *const names[] = {[OPF_TO_GRAPH] = "fuse", [OPF_TO_GROUPS] = "fuse", [OPF_TO_PROGRAM] = "plan", [OPF_TO_SOURCES] = "emit", [OPF_TO_OBJECT] = "compile"};
    int last = find(stages, n, names[end]) - (end == OPF_TO_GRAPH);
    if (p->silent) return last;
    int stop = find(stages, n, p->context->options.stop_after), shown = find(stages, n, p->context->options.dump_after);
    last = stop > last ? stop : last;
    return shown > last ? shown : last;
}

opf_status opf_pipeline_run(opf_pipeline *p, enum opf_pipeline_end end) {
    stage stages[MOST_STAGES];
    size_t n = all_stages(stages);
    const opf_options *options = &p->context->options;
    int last = last_stage(p, stages, n, end);
    for (int i = 0; i <= last; i++) {
        const stage *s = &stages[i];
        if (runs_under(s, p->policy)) {
            int64_t begun = opf_clock_now();
            opf_status status = run_stage(p, s);
            if (options->time_passes && !p->silent) tell_time(p, s, opf_clock_now() - begun + time_before(p, s));
            if (status != OPF_OK) return status;
        }
        if (p->silent) continue;
        if (options->dump_after && strcmp(options->dump_after, s->name) == 0) dump(p, s);
        if (options->stop_after && strcmp(options->stop_after, s->name) == 0) {
            p->stopped = true;
            return OPF_OK;
        }
    }
    return OPF_OK;
}

void opf_pipeline_free(opf_pipeline *p) {
    opf_catalog_close(p->catalog);
    opf_sources_free(p->sources);
    if (p->module) opf_module_free(p->module);
}
