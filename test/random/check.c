/* A program is right where (1) every kernel, given the evaluator's own values, stays within the bound that follows from its stages,
 * and (2) in a plain run every kernel reads, byte for byte, what the maker of each value left there, so that no two values share
 * memory while both live. Neither needs a tolerance, whatever the graph does to its numbers. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/replay.h"
#include "onnx/onnx.h"

const char *const policy_names[POLICIES] = {"none", "tvm", "best"};
bool random_exactly;
static const opf_policy policies[POLICIES] = {OPF_POLICY_NONE, OPF_POLICY_TVM, OPF_POLICY_BEST};

static const char *first_error(opf_context *context, opf_arena *arena) {
    for (size_t i = 0; i < opf_context_messages(context); i++)
        if (opf_context_message(context, i).severity == OPF_ERROR) return opf_arena_string(arena, opf_context_message(context, i).text);
    return "it failed without a word";
}

/* ---- the graph and its values ---- */

static opf_context *new_context(int policy, const char *cache) {
    opf_context *context = opf_context_new();
    opf_context_set(context, "fuse", policy_names[policy]);
    opf_context_set(context, "threads", "1");
    if (random_exactly) opf_context_set(context, "accuracy", "exact");
    if (cache) opf_context_set(context, "cache", cache);
    return context;
}

static void evaluate(subject *s) {
    maker *m = s->maker;
    size_t n = m->graph->inputs.count;
    const opf_tensor **tensors = OPF_ARRAY(m->arena, const opf_tensor *, n + 1);
    s->inputs = OPF_ARRAY(m->arena, opf_array, n + 1);
    for (size_t i = 0; i < n; i++) {
        tensors[i] = data_of(m, m->graph->inputs.data[i]);
        s->inputs[i] = opf_array_of(tensors[i], m->graph->inputs.data[i]->name);
    }
    opf_module *module;
    opf_status status = opf_model_load_memory(&s->model, s->context, s->bytes.data, s->bytes.length, "random");
    if (status == OPF_OK) status = opf_model_as_read(&module, s->model);
    if (status == OPF_OK) {
        s->graph = module->graph;
        status = opf_eval_new(&s->eval, module->graph, tensors, true);
    }
    if (status == OPF_OK) status = opf_eval_run(s->eval);
    if (status != OPF_OK) s->wrong = opf_arena_printf(m->arena, "as read: %s", first_error(s->context, m->arena));
}

void subject_open(subject *s, uint64_t seed, const int *cut, int output) {
    *s = (subject){.seed = seed, .maker = make_graph(seed, cut, output), .context = new_context(0, NULL)};
    if (opf_onnx_write(s->maker->module, NULL, 0, &s->bytes) != OPF_OK) s->wrong = "it cannot be written";
    else evaluate(s);
}

void subject_close(subject *s) {
    if (s->eval) opf_eval_free(s->eval);
    opf_model_free(s->model);
    opf_context_free(s->context);
    opf_text_free(&s->bytes);
    maker_free(s->maker);
}

/* ---- groups ---- */

static bool computes_again(const opf_group *group, const opf_node *node) {
    for (size_t c = 0; c < group->copied.count; c++)
        if (group->copied.data[c] == node) return true;
    return false;
}

/* Groups stand in the order in which they run: each reads only what earlier ones have stored. */
static const char *wrong_order(const opf_fusion *fusion, opf_arena *arena) {
    opf_map home = opf_map_new(arena);
    for (size_t g = 0; g < fusion->groups.count; g++)
        for (size_t i = 0; i < fusion->groups.data[g]->nodes.count; i++)
            if (!computes_again(fusion->groups.data[g], fusion->groups.data[g]->nodes.data[i])) opf_map_set(&home, fusion->groups.data[g]->nodes.data[i], fusion->groups.data[g]);
    for (size_t g = 0; g < fusion->groups.count; g++) {
        const opf_group *group = fusion->groups.data[g];
        for (size_t i = 0; i < group->stages.inputs.count; i++) {
            const opf_value *value = group->stages.inputs.data[i];
            const opf_group *from = value && value->producer ? opf_map_get(&home, value->producer) : NULL;
            if (from && from->id >= group->id) return opf_arena_printf(arena, "group %d reads '%s' of group %d: a cycle", group->id, value->name, from->id);
        }
    }
    return NULL;
}

void program_emit(program *p, subject *of, int policy, const char *cache) {
    *p = (program){.of = of, .policy = policy, .context = new_context(policy, cache)};
    opf_arena *arena = of->maker->arena;
    opf_status status = opf_model_load_memory(&p->model, p->context, of->bytes.data, of->bytes.length, "random");
    if (status == OPF_OK) status = opf_session_emit(&p->session, p->model, policies[policy]);
    if (status != OPF_OK) p->wrong = first_error(p->context, arena);
    else p->wrong = wrong_order(p->session->pipeline.fusion, arena);
}

/* ---- bytes ---- */

typedef struct record { const opf_buffer *storage; const unsigned char *at; size_t length; unsigned char *copy; const opf_value *value; } record;

typedef struct watching {
    program *p;
    opf_runner *runner;
    const opf_program *program;
    opf_arena *arena;
    const int64_t *symbols;
    OPF_VEC(record) records;   /* what each step wrote, the latest last */
} watching;

static bool span_of(const watching *w, int buffer, const unsigned char **at, size_t *length) {
    const opf_buffer *b = &w->program->buffers.data[buffer];
    int64_t bytes;
    if (!b->value || b->found || !opf_dim_eval(b->bytes, w->symbols, &bytes)) return false;
    *at = opf_runner_bytes(w->runner, buffer, w->symbols);
    *length = (size_t)bytes;
    return true;
}

/* The latest record of a byte is what must be there. */
static void compare_bytes(watching *w, const opf_buffer *storage, const unsigned char *at, size_t length, const char *when) {
    bool *seen = OPF_ARRAY(w->arena, bool, length + 1);
    for (size_t r = w->records.count; r-- > 0;) {
        const record *made = &w->records.data[r];
        if (made->storage != storage) continue;
        for (size_t i = 0; i < made->length; i++) {
            if (made->at + i < at || made->at + i >= at + length || seen[made->at + i - at]) continue;
            seen[made->at + i - at] = true;
            if (made->at[i] != made->copy[i] && !w->p->wrong) w->p->wrong = opf_arena_printf(w->p->of->maker->arena, "'%s' is overwritten before %s", made->value->name, when);
        }
    }
}

static bool is_written(const watching *w, const opf_step *step, int buffer, int index) {
    const opf_buffer *b = buffer < 0 ? NULL : &w->program->buffers.data[buffer];
    if (!b || !b->value) return false;
    if (step->kind == OPF_RUN_COPY || step->kind == OPF_RUN_FILL) return buffer == step->buffers[0];
    if (step->kind == OPF_RUN_LIBRARY) return b->first_step == index;
    for (size_t k = 0; step->nest && k < step->nest->group->results.count; k++)
        if (step->nest->group->results.data[k].value == b->value) return true;
    return false;
}

static void watch(void *data, int index, int is_begin) {
    watching *w = data;
    bool begin = is_begin;
    const opf_step *step = &w->program->steps.data[index];
    if (step->kind > OPF_RUN_LIBRARY) return;
    w->symbols = opf_runner_symbols(w->runner, w->arena);
    for (int k = 0; k < step->n_buffers; k++) {
        const unsigned char *at;
        size_t length;
        int buffer = step->buffers[k];
        bool written = is_written(w, step, buffer, index);
        if (buffer < 0 || begin == written || !span_of(w, buffer, &at, &length)) continue;
        if (begin) compare_bytes(w, opf_program_storage(w->program, buffer), at, length, opf_arena_printf(w->arena, "step %d reads it", index));
        if (begin) continue;
        record made = {opf_program_storage(w->program, buffer), at, length, opf_arena_copy(w->arena, at, length), w->program->buffers.data[buffer].value};
        OPF_PUSH(w->arena, &w->records, made);
    }
}

/* ---- a run ---- */

static void check_shapes(program *p, const opf_array *outputs, opf_arena *arena) {
    const opf_graph *graph = p->of->graph;
    for (size_t i = 0; i < graph->outputs.count && !p->wrong; i++) {
        const opf_tensor *expected = opf_eval_value(p->of->eval, graph->outputs.data[i]);
        bool same = outputs[i].rank == expected->rank && outputs[i].dtype == (int)expected->dtype;
        for (int k = 0; same && k < expected->rank; k++) same = outputs[i].dims[k] == expected->dims[k];
        if (!same) p->wrong = opf_arena_printf(arena, "output '%s' has another type or shape than the evaluator's", graph->output_names.data[i]);
    }
}

/* Model outputs hold in the end what their makers left. */
static void check_final(watching *w) {
    for (size_t r = 0; r < w->records.count; r++) {
        const record *made = &w->records.data[r];
        if (made->storage->kind == OPF_BUFFER_OUTPUT) compare_bytes(w, made->storage, made->at, made->length, "the end");
    }
}

/* ---- groups on the evaluator's values ---- */

/* A NaN on one side only, behind an operator that has values for a part of the numbers alone: what is off by its bound may lie on
 * either side of the edge. */
static bool is_at_edge(const opf_group_check *c) {
    static const char *const partial[] = {"Sqrt", "Log", "Pow", "Acos", "Asin", "Acosh", "Atanh"};
    bool edge = false;
    for (size_t i = 0; c->group && i < c->group->nodes.count; i++)
        for (size_t k = 0; k < OPF_COUNT(partial); k++) edge = edge || strcmp(c->group->nodes.data[i]->op, partial[k]) == 0;
    return edge && c->group->nodes.count > 1 && isnan(c->got) != isnan(c->expected);
}

static bool is_bad(const opf_group_check *c) {
    if (random_exactly) return c->verdict != OPF_GROUP_EXACT && c->verdict != OPF_GROUP_UNSEEN;
    if (c->verdict == OPF_GROUP_UNBOUNDED) return !opf_dtype_is_float(c->value->dtype);
    return c->verdict == OPF_GROUP_BEYOND && !is_at_edge(c);
}

static void check_groups(program *p, opf_arena *arena) {
    opf_replay replay;
    if (opf_session_prepare(p->session, p->of->inputs) != OPF_OK ||
        opf_check_replay(&replay, NULL, p->session->runner, p->session->pipeline.program, p->of->graph, p->of->eval, p->session->inputs, p->session->outputs, arena) != OPF_OK) {
        p->wrong = first_error(p->context, arena);
        return;
    }
    for (size_t i = 0; i < replay.checks.count && !p->wrong; i++) {
        const opf_group_check *c = &replay.checks.data[i];
        p->results[c->verdict]++;
        if (!is_bad(c)) continue;
        opf_text text = {0};
        opf_text_printf(&text, "%s: '%s'[%lld] is %.9g for %.9g, bound %.3g, %lld of %lld elements:", opf_group_verdict_name(c->verdict), c->value->name, (long long)c->worst, c->got, c->expected,
                        c->bound, (long long)c->beyond, (long long)c->elements);
        for (size_t k = 0; c->group && k < c->group->nodes.count; k++) opf_text_printf(&text, " %s", c->group->nodes.data[k]->name);
        p->wrong = opf_arena_string(arena, opf_text_string(&text));
        opf_text_free(&text);
    }
}

void program_check(program *p, const char *object, const char *entry) {
    opf_arena *arena = p->of->maker->arena;
    if (p->wrong) return;
    opf_array *outputs = OPF_ARRAY(arena, opf_array, p->session->pipeline.program->outputs.count + 1);
    if (opf_session_open(p->session, object, entry) != OPF_OK) {
        p->wrong = first_error(p->context, arena);
        return;
    }
    watching w = {.p = p, .runner = p->session->runner, .program = p->session->pipeline.program, .arena = opf_arena_new()};
    opf_runner_trace(w.runner, watch, &w);
    opf_status status = opf_session_run_all(p->session, p->of->inputs, outputs);
    opf_runner_trace(w.runner, NULL, NULL);
    if (status != OPF_OK) p->wrong = first_error(p->context, arena);
    if (!p->wrong) check_shapes(p, outputs, arena);
    if (!p->wrong) check_final(&w);
    if (!p->wrong) check_groups(p, arena);
    opf_arena_free(w.arena);
}

void program_close(program *p) {
    opf_session_free(p->session);
    opf_model_free(p->model);
    opf_context_free(p->context);
}
