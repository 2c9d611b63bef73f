/* `explain`: the log for people. */
#include "fuse/fuse.h"

static void print_bytes(int64_t bytes, opf_text *out)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double size = (double)bytes;
    size_t unit = 0;
    for (; size >= 1024 && unit + 1 < OPF_COUNT(units); unit++)
        size /= 1024;
    opf_text_printf(out, size < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", size, units[unit]);
}

static void print_group(const opf_group *group, opf_text *out)
{
    opf_text_printf(out, "%5d  %-7s %-20s  ", group->id, opf_step_kind_name(group->step), opf_kind_name(group->kind));
    for (size_t i = 0; i < group->nodes.count; i++) {
        const opf_node *node = group->nodes.data[i];
        opf_text_printf(out, "%s%s", i ? " + " : "", node->name);
        for (int k = 0; k < node->n_origins; k++)
            if (node->origins[k] != node->name)
                opf_text_printf(out, " (with %s)", node->origins[k]);
    }
    if (group->step == OPF_STEP_KERNEL) {
        opf_text_add(out, "  ");
        if (group->bytes_before != group->bytes_after) {
            print_bytes(group->bytes_before, out);
            opf_text_add(out, " -> ");
        }
        print_bytes(group->bytes_after, out);
    }
    if (group->nodes.count > 1)
        opf_text_printf(out, "  [%s]", group->rule);
    opf_text_add(out, "\n");
}

static void print_summary(const opf_fusion *fusion, opf_text *out)
{
    int kernels = 0;
    int64_t before = 0, after = 0;
    for (size_t g = 0; g < fusion->groups.count; g++) {
        kernels += fusion->groups.data[g]->step == OPF_STEP_KERNEL;
        before += fusion->groups.data[g]->bytes_before;
        after += fusion->groups.data[g]->bytes_after;
    }
    opf_text_printf(out, "%s: %zu nodes -> %d kernels under policy %s, ", fusion->module->path, fusion->graph->nodes.count, kernels,
                    opf_policy_name(fusion->policy));
    print_bytes(before, out);
    opf_text_add(out, " -> ");
    print_bytes(after, out);
    opf_text_add(out, " read and written\n");
}

static void print_refused(const opf_fusion *fusion, opf_text *out)
{
    bool any = false;
    for (size_t e = 0; e < fusion->edges.count; e++) {
        const opf_edge *edge = &fusion->edges.data[e];
        if (edge->verdict != OPF_REFUSED)
            continue;
        opf_text_printf(out, "%s  '%s' -> '%s'  ", any ? "" : "\nnot fused:\n", edge->from->name, edge->to->name);
        any = true;
        print_bytes(edge->buffer_bytes, out);
        opf_text_printf(out, "  [%s] %s\n", edge->rule, edge->reason);
    }
}

static void print_removed(const opf_fusion *fusion, opf_text *out)
{
    for (size_t r = 0; r < fusion->module->removed.count; r++) {
        const opf_removed *node = &fusion->module->removed.data[r];
        opf_text_printf(out, "%s  '%s': %s", r ? "" : "\nremoved:\n", node->node, node->why);
        if (node->into)
            opf_text_printf(out, " (into '%s')", node->into);
        opf_text_add(out, "\n");
    }
}

void opf_explain_text(const opf_fusion *fusion, opf_text *out)
{
    print_summary(fusion, out);
    for (size_t g = 0; g < fusion->groups.count; g++)
        print_group(fusion->groups.data[g], out);
    print_refused(fusion, out);
    print_removed(fusion, out);
}
