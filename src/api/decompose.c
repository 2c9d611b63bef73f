/* `explain --try-decompose`: which operators, written out in smaller ones, would let more be fused. Each that takes part in a
 * refused use is written out in a copy of the model, and that is fused anew. */
#include <string.h>

#include "api/pipeline.h"
#include "api/trial.h"
#include "fuse/explain_json.h"
#include "pass/decompose.h"

/* Operators of one name. */
typedef struct candidate {
    const char *op;            /* NULL: all of them at once */
    int nodes, refused;        /* nodes of this operator, refused uses that they take part in */
    int64_t lost;              /* bytes of these */
    bool tried;
    opf_totals totals;         /* of the model fused with it written out */
} candidate;

typedef struct survey {
    opf_model *model;
    opf_arena *arena;
    opf_totals totals;
    opf_policy policy;
    OPF_VEC(candidate) list;
} survey;

/* ---- candidates ---- */

static candidate *candidate_of(survey *s, const char *op) {
    for (size_t i = 0; i < s->list.count; i++)
        if (strcmp(s->list.data[i].op, op) == 0) return &s->list.data[i];
    candidate made = {.op = op};
    OPF_PUSH(s->arena, &s->list, made);
    return &s->list.data[s->list.count - 1];
}

/* Only the main graph is written out anew. */
static void find_candidates(survey *s, const opf_fusion *fusion) {
    for (size_t e = 0; e < fusion->edges.count; e++) {
        const opf_edge *edge = &fusion->edges.data[e];
        const opf_node *ends[] = {edge->from, edge->to};
        for (size_t k = 0; k < OPF_COUNT(ends) && edge->verdict == OPF_REFUSED; k++) {
            if (!opf_has_decomposition(ends[k])) continue;
            candidate *c = candidate_of(s, ends[k]->op);
            c->refused++;
            c->lost += opf_edge_bytes_lost(fusion, edge);
        }
    }
    for (size_t i = 0; i < fusion->graph->nodes.count; i++)
        for (size_t c = 0; c < s->list.count; c++)
            if (strcmp(fusion->graph->nodes.data[i]->op, s->list.data[c].op) == 0) s->list.data[c].nodes++;
}

/* ---- trials ---- */

/* trial->node: the operator, or NULL for all that have a form. */
static bool write_out(opf_module *module, const opf_trial *trial) {
    opf_graph *graph = module->graph;
    size_t n = graph->nodes.count;
    opf_node **nodes = opf_arena_copy(module->arena, graph->nodes.data, n * sizeof *nodes);
    bool any = false;
    for (size_t i = 0; i < n; i++)
        if (opf_has_decomposition(nodes[i]) && (!trial->node || strcmp(nodes[i]->op, trial->node) == 0)) any = opf_decompose(nodes[i]) || any;
    return any;
}

static void try_candidate(survey *s, candidate *c) {
    opf_tried tried;
    opf_trial trial = {.what = c->op, .policy = s->policy, .max_depth = s->model->context->options.max_depth, .change = write_out, .node = c->op};
    if (opf_try(&tried, s->model, &trial) != OPF_OK) return;
    c->tried = true;
    c->totals = tried.totals;
    opf_module_free(tried.module);
}

static bool is_gain(const survey *s, const candidate *c) { return c->tried && c->totals.bytes_after < s->totals.bytes_after; }

/* ---- printing ---- */

static void print_candidate(const survey *s, const candidate *c, opf_text *out) {
    if (c->op) opf_text_printf(out, "  %s, %d node%s in %d refused use%s: ", c->op, c->nodes, c->nodes == 1 ? "" : "s", c->refused, c->refused == 1 ? "" : "s");
    else opf_text_add(out, "  all of them: ");
    if (!c->tried) {
        opf_text_add(out, "it has no written-out form as it is used here\n");
        return;
    }
    opf_text_printf(out, "%d kernels, ", c->totals.kernels);
    opf_print_bytes(c->totals.bytes_after, out);
    opf_text_add(out, is_gain(s, c) ? ": it would gain " : ": nothing gained");
    if (is_gain(s, c)) opf_print_bytes(s->totals.bytes_after - c->totals.bytes_after, out);
    opf_text_add(out, "\n");
}

static void print_survey(const survey *s, opf_text *out) {
    opf_text_printf(out, "%s: %d kernels under policy %s, ", s->model->source.path, s->totals.kernels, opf_policy_name(s->policy));
    opf_print_bytes(s->totals.bytes_after, out);
    opf_text_add(out, " read and written\n");
    if (s->list.count == 0) opf_text_add(out, "no operator of a refused use has a written-out form\n");
    else opf_text_add(out, "with these operators written out:\n");
    for (size_t i = 0; i < s->list.count; i++) print_candidate(s, &s->list.data[i], out);
}

static json_t *survey_object(const survey *s) {
    json_t *list = json_array();
    for (size_t i = 0; i < s->list.count; i++) {
        const candidate *c = &s->list.data[i];
        json_array_append_new(list, json_pack("{s:o,s:i,s:i,s:I,s:b,s:i,s:I}", "op", opf_json_text(c->op), "nodes", c->nodes, "refused", c->refused, "bytes_lost",
                                              (json_int_t)c->lost, "tried", c->tried, "kernels", c->totals.kernels, "bytes_after", (json_int_t)c->totals.bytes_after));
    }
    return json_pack("{s:i,s:o,s:s,s:i,s:I,s:o}", "schema", 1, "model", opf_json_text(s->model->source.path), "policy", opf_policy_name(s->policy), "kernels",
                     s->totals.kernels, "bytes_after", (json_int_t)s->totals.bytes_after, "written_out", list);
}

/* The pipeline's module is the model's own reading: what is tried is read anew. */
static void make_survey(survey *s, const opf_fusion *fusion) {
    opf_parts parts = opf_fusion_parts(fusion, s->arena);
    s->totals = opf_fusion_totals(&parts);
    find_candidates(s, fusion);
    for (size_t i = 0; i < s->list.count; i++) try_candidate(s, &s->list.data[i]);
    if (s->list.count < 2) return;
    candidate all = {0};
    try_candidate(s, &all);
    OPF_PUSH(s->arena, &s->list, all);
}

static opf_status print(const opf_pipeline *pipeline, bool json, void *data, opf_text *out) {
    (void)data;
    survey s = {.model = pipeline->model, .arena = pipeline->module->arena, .policy = pipeline->policy};
    make_survey(&s, pipeline->fusion);
    if (json) opf_json_print(survey_object(&s), JSON_INDENT(1), out);
    else print_survey(&s, out);
    return OPF_OK;
}

opf_status opf_model_try_decompose(opf_model *model, const char *format, char **out) { return opf_pipeline_report(model, OPF_TO_GROUPS, format, print, NULL, out); }
