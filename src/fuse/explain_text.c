/* `explain`: the log for people. */
#include "fuse/explain.h"

static bool is_copied(const opf_group *group, const opf_node *node) {
    for (size_t i = 0; i < group->copied.count; i++)
        if (group->copied.data[i] == node)
            return true;
    return false;
}

static void print_nodes(const opf_group *group, opf_text *out) {
    for (size_t i = 0; i < group->nodes.count; i++) {
        const opf_node *node = group->nodes.data[i];
        opf_text_printf(out, "%s%s%s", i ? " + " : "", node->name, is_copied(group, node) ? " (again)" : "");
        for (int k = 0; k < node->n_origins; k++)
            if (node->origins[k] != node->name)
                opf_text_printf(out, " (with %s)", node->origins[k]);
    }
}

static void print_group(const opf_group *group, int id, opf_text *out) {
    opf_text_printf(out, "%5d  %-7s %-20s  ", id, opf_step_kind_name(group->step), opf_kind_name(group->kind));
    print_nodes(group, out);
    if (group->step == OPF_STEP_KERNEL) {
        opf_text_add(out, "  ");
        if (group->bytes_before != group->bytes_after) {
            opf_print_bytes(group->bytes_before, out);
            opf_text_add(out, " -> ");
        }
        opf_print_bytes(group->bytes_after, out);
    }
    if (group->nodes.count > 1)
        opf_text_printf(out, "  [%s]", group->rule);
    opf_text_add(out, "\n");
}

static void print_summary(const opf_fusion *fusion, const opf_parts *parts, opf_text *out) {
    opf_totals totals = opf_fusion_totals(parts);
    opf_text_printf(out, "%s: %d nodes -> %d kernels under policy %s, ", fusion->module->path, totals.nodes, totals.kernels,
                    opf_policy_name(fusion->policy));
    opf_print_bytes(totals.bytes_before, out);
    opf_text_add(out, " -> ");
    opf_print_bytes(totals.bytes_after, out);
    opf_text_add(out, " read and written, at least ");
    opf_print_bytes(totals.bytes_least, out);
    opf_text_add(out, "\n");
}

/* Milliseconds of what plans differ in. */
static void print_plan(const opf_fusion *fusion, opf_text *out) {
    const opf_plans *plan = &fusion->plans;
    if (plan->ran)
        opf_text_printf(out, "plan: greedy %.4g ms, dynamic programme %.4g ms (%d down-sets, %d possible groups): %s\n", plan->greedy_seconds * 1e3,
                        plan->seconds * 1e3, plan->down_sets, plan->groups, plan->taken ? "the programme's is taken" : "the greedy one stays");
    else if (plan->why)
        opf_text_printf(out, "plan: greedy %.4g ms, no dynamic programme: %s (%d down-sets, %d possible groups so far)\n", plan->greedy_seconds * 1e3, plan->why,
                        plan->down_sets, plan->groups);
}

static void print_groups(const opf_part *part, opf_text *out) {
    if (part->fusion->graph->parent)
        opf_text_printf(out, "sub-graph %s:\n", part->fusion->graph->path);
    print_plan(part->fusion, out);
    for (size_t g = 0; g < part->fusion->groups.count; g++)
        print_group(part->fusion->groups.data[g], part->first_id + (int)g, out);
}

static void print_refused(const opf_parts *parts, opf_text *out) {
    bool any = false;
    for (size_t p = 0; p < parts->list.count; p++) {
        const opf_fusion *fusion = parts->list.data[p].fusion;
        for (size_t e = 0; e < fusion->edges.count; e++) {
            const opf_edge *edge = &fusion->edges.data[e];
            if (edge->verdict != OPF_REFUSED)
                continue;
            opf_text_printf(out, "%s  '%s' -> '%s'  ", any ? "" : "\nnot fused:\n", edge->from->name, edge->to->name);
            any = true;
            opf_print_bytes(edge->buffer_bytes, out);
            opf_text_printf(out, "  [%s] %s\n", edge->rule, edge->reason);
        }
    }
}

static void print_removed(const opf_fusion *fusion, opf_text *out) {
    for (size_t r = 0; r < fusion->module->removed.count; r++) {
        const opf_removed *node = &fusion->module->removed.data[r];
        opf_text_printf(out, "%s  '%s': %s", r ? "" : "\nremoved:\n", node->node, node->why);
        if (node->into)
            opf_text_printf(out, " (into '%s')", node->into);
        opf_text_add(out, "\n");
    }
}

static void print_quantised(const opf_parts *parts, opf_text *out) {
    bool any = false;
    for (size_t p = 0; p < parts->list.count; p++) {
        const opf_fusion *fusion = parts->list.data[p].fusion;
        for (size_t q = 0; q < fusion->quantised.count; q++, any = true) {
            const opf_quantised *one = &fusion->quantised.data[q];
            opf_text_printf(out, "%s  '%s' (%s) -> '%s'  [%s] %s\n", any ? "" : "\nbetween dequantised and quantised numbers, in floating point:\n",
                            one->node->name, one->node->op, one->quantize->name, one->rule, one->reason);
        }
    }
}

void opf_explain_text(const opf_fusion *fusion, opf_text *out) {
    opf_parts parts = opf_fusion_parts(fusion, fusion->module->arena);
    print_summary(fusion, &parts, out);
    for (size_t p = 0; p < parts.list.count; p++)
        print_groups(&parts.list.data[p], out);
    print_refused(&parts, out);
    print_quantised(&parts, out);
    print_removed(fusion, out);
}
