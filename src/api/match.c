/* `match`: where the user's patterns are, what becomes of each match, and where they nearly were. */
#include "api/pipeline.h"
#include "fuse/explain_json.h"

static const char *const states[] = {"taken", "overlapped", "refused"};

static bool is_of(const opf_match *match, const opf_pattern *pattern) { return match->pattern == pattern; }

static void print_nodes(opf_node *const *nodes, int n, const opf_graph *graph, opf_text *out) {
    for (int k = 0; k < n; k++) opf_text_printf(out, "%s%s", k ? " + " : "", nodes[k]->name);
    if (graph->parent) opf_text_printf(out, " (in %s)", graph->path);
}

static void print_match(const opf_match *match, opf_text *out) {
    opf_text_printf(out, "  %-11s ", states[match->state]);
    print_nodes(match->nodes, match->n_nodes, match->graph, out);
    if (match->reason) opf_text_printf(out, ": %s", match->reason);
    opf_text_add(out, "\n");
}

static void print_miss(const opf_near_miss *miss, opf_text *out) {
    opf_text_add(out, "  near miss   ");
    print_nodes(miss->nodes, miss->n_nodes, miss->graph, out);
    opf_text_printf(out, ": then %s is wanted; ", miss->wanted);
    if (miss->at) opf_text_printf(out, "'%s' is not: ", miss->at->name);
    opf_text_printf(out, "%s\n", miss->reason);
}

static void print_pattern(const opf_matches *matches, const opf_pattern *pattern, opf_text *out) {
    size_t counts[3] = {0}, misses = 0;
    for (size_t m = 0; m < matches->list.count; m++) counts[matches->list.data[m]->state] += is_of(matches->list.data[m], pattern);
    for (size_t m = 0; m < matches->misses.count; m++) misses += matches->misses.data[m].pattern == pattern;
    opf_text_printf(out, "pattern %s (%s), %s, priority %d: %zu taken, %zu overlapped, %zu refused, %zu near\n", pattern->name, pattern->source, opf_pattern_action_name(pattern->action),
                    pattern->priority, counts[0], counts[1], counts[2], misses);
    for (size_t m = 0; m < matches->list.count; m++)
        if (is_of(matches->list.data[m], pattern)) print_match(matches->list.data[m], out);
    for (size_t m = 0; m < matches->misses.count; m++)
        if (matches->misses.data[m].pattern == pattern) print_miss(&matches->misses.data[m], out);
}

void opf_matches_text(const opf_pipeline *p, opf_text *out) {
    const opf_patterns *patterns = p->context->patterns;
    for (size_t k = 0; p->matches && k < patterns->list.count; k++) print_pattern(p->matches, patterns->list.data[k], out);
}

/* ---- JSON ---- */

static json_t *names(opf_node *const *nodes, int n) {
    json_t *list = json_array();
    for (int k = 0; k < n; k++) json_array_append_new(list, opf_json_text(nodes[k]->name));
    return list;
}

static json_t *pattern_object(const opf_matches *matches, const opf_pattern *pattern) {
    json_t *found = json_array(), *misses = json_array();
    for (size_t m = 0; m < matches->list.count; m++) {
        const opf_match *match = matches->list.data[m];
        if (is_of(match, pattern))
            json_array_append_new(found, json_pack("{s:o, s:o, s:s, s:o}", "graph", opf_json_text(match->graph->path), "nodes", names(match->nodes, match->n_nodes), "state", states[match->state],
                                                   "reason", opf_json_text(match->reason)));
    }
    for (size_t m = 0; m < matches->misses.count; m++) {
        const opf_near_miss *miss = &matches->misses.data[m];
        if (miss->pattern == pattern)
            json_array_append_new(misses, json_pack("{s:o, s:o, s:o, s:o, s:o}", "graph", opf_json_text(miss->graph->path), "nodes", names(miss->nodes, miss->n_nodes), "wanted",
                                                    opf_json_text(miss->wanted), "at", opf_json_text(miss->at ? miss->at->name : NULL), "reason", opf_json_text(miss->reason)));
    }
    return json_pack("{s:s, s:o, s:s, s:i, s:o, s:o}", "name", pattern->name, "source", opf_json_text(pattern->source), "action", opf_pattern_action_name(pattern->action), "priority",
                     pattern->priority, "matches", found, "near_misses", misses);
}

static json_t *matches_object(const opf_pipeline *p) {
    json_t *list = json_array();
    for (size_t k = 0; p->matches && k < p->context->patterns->list.count; k++) json_array_append_new(list, pattern_object(p->matches, p->context->patterns->list.data[k]));
    return json_pack("{s:i, s:o, s:o}", "schema", 1, "model", opf_json_text(p->module->path), "patterns", list);
}

/* What fusing refuses is known behind it. */
opf_status opf_model_match(opf_model *model, const char *format, char **out) {
    bool json;
    *out = NULL;
    opf_status status = opf_context_format(model->context, format, &json);
    if (status != OPF_OK) return status;
    if (!model->context->patterns->list.count) {
        opf_diag *diag = opf_diag_add(model->context->diags, OPF_ERROR, "usage", OPF_NO_PLACE, "there are no patterns to match");
        opf_diag_hint(model->context->diags, diag, "--patterns FILE gives some");
        return OPF_ERROR_USAGE;
    }
    opf_policy policy = model->context->options.policy;
    opf_pipeline pipeline = {.model = model, .context = model->context, .policy = policy == OPF_POLICY_NONE ? OPF_POLICY_BEST : policy, .misses = true};
    opf_text text = {0};
    status = opf_pipeline_run(&pipeline, OPF_TO_GROUPS);
    if (status == OPF_OK && !pipeline.stopped) {
        if (json) opf_json_print(matches_object(&pipeline), JSON_INDENT(1), &text);
        else opf_matches_text(&pipeline, &text);
        *out = opf_text_take(&text);
    }
    opf_text_free(&text);
    opf_pipeline_free(&pipeline);
    return status;
}
