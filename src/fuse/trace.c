/* `explain --trace`: the tree of post-dominators, and every fusion made or tried, in order. */
#include "fuse/trace.h"

#include "fuse/explain_json.h"

static const char *name_or(const opf_node *node, const char *otherwise) { return node ? node->name : otherwise; }

static void print_tree(const opf_fusion *fusion, opf_text *out) {
    if (fusion->trace->tree.count == 0)
        return;
    opf_text_add(out, "where the ways of each node's results meet again (post-dominators), depth, largest kind on the ways:\n");
    for (size_t t = 0; t < fusion->trace->tree.count; t++) {
        const opf_meeting *at = &fusion->trace->tree.data[t];
        if (at->parent)
            opf_text_printf(out, "  '%s' -> '%s'  %d  %s\n", at->node->name, at->parent->name, at->depth, opf_kind_name(at->worst));
        else
            opf_text_printf(out, "  '%s' -> nowhere  %d\n", at->node->name, at->depth);
    }
}

static void print_event(const opf_event *event, opf_text *out) {
    opf_text_printf(out, "  %s [%s]", event->joined ? "joined " : "refused", event->rule);
    if (event->source)
        opf_text_printf(out, " '%s' into '%s'", event->source->name, name_or(event->sink, "nothing"));
    if (event->blocker && event->blocker != event->sink)
        opf_text_printf(out, ": '%s' is in the way", event->blocker->name);
    for (int i = 0; i < event->n_nodes; i++)
        if (event->nodes[i] != event->source)
            opf_text_printf(out, "%s%s", i == 0 || (i == 1 && event->nodes[0] == event->source) ? event->source ? ", with " : " " : " + ", event->nodes[i]->name);
    opf_text_add(out, "\n");
}

void opf_trace_text(const opf_parts *parts, opf_text *out) {
    for (size_t p = 0; p < parts->list.count; p++) {
        const opf_fusion *fusion = parts->list.data[p].fusion;
        if (fusion->graph->parent)
            opf_text_printf(out, "%ssub-graph %s:\n", p ? "\n" : "", fusion->graph->path);
        print_tree(fusion, out);
        const char *phase = "";
        for (size_t e = 0; e < fusion->trace->events.count; e++) {
            const opf_event *event = &fusion->trace->events.data[e];
            if (event->phase != phase)
                opf_text_printf(out, "%s:\n", phase = event->phase);
            print_event(event, out);
        }
        int kernels = 0;
        for (size_t g = 0; g < fusion->groups.count; g++)
            kernels += fusion->groups.data[g]->step == OPF_STEP_KERNEL;
        opf_text_printf(out, "%zu nodes in %zu groups, %d of them kernels\n", fusion->graph->nodes.count, fusion->groups.count, kernels);
    }
}

static json_t *name_json(const opf_node *node) { return opf_json_text(node ? node->name : NULL); }

json_t *opf_trace_object(const opf_parts *parts) {
    json_t *tree = json_array(), *events = json_array();
    for (size_t p = 0; p < parts->list.count; p++) {
        const opf_fusion *fusion = parts->list.data[p].fusion;
        const char *path = fusion->graph->path ? fusion->graph->path : "";
        for (size_t t = 0; t < fusion->trace->tree.count; t++) {
            const opf_meeting *at = &fusion->trace->tree.data[t];
            json_array_append_new(tree, json_pack("{s:o,s:o,s:i,s:s,s:o}", "node", name_json(at->node), "parent", name_json(at->parent), "depth", at->depth,
                                                  "worst", opf_kind_name(at->worst), "graph", opf_json_text(path)));
        }
        for (size_t e = 0; e < fusion->trace->events.count; e++) {
            const opf_event *event = &fusion->trace->events.data[e];
            json_t *nodes = json_array();
            for (int i = 0; i < event->n_nodes; i++)
                json_array_append_new(nodes, name_json(event->nodes[i]));
            json_array_append_new(events, json_pack("{s:s,s:s,s:b,s:o,s:o,s:o,s:o,s:o}", "phase", event->phase, "rule", event->rule, "joined", event->joined,
                "source", name_json(event->source), "sink", name_json(event->sink), "blocker", name_json(event->blocker), "nodes", nodes, "graph", opf_json_text(path)));
        }
    }
    const opf_fusion *whole = parts->list.data[0].fusion;
    return json_pack("{s:i,s:o,s:s,s:o,s:o}", "schema", 1, "model", opf_json_text(whole->module->path), "policy", opf_policy_name(whole->policy), "tree", tree,
                     "events", events);
}
