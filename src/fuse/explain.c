/* What the forms of `explain` share. */
#include "fuse/explain.h"

#include "base/map.h"
#include "fuse/fuser.h"
#include "ops/control.h"

/* ---- parts ---- */

static void add_part(opf_parts *parts, const opf_fusion *fusion, int *next, opf_arena *arena) {
    OPF_PUSH(arena, &parts->list, (opf_part){fusion, *next});
    *next += (int)fusion->groups.count;
    for (size_t g = 0; g < fusion->groups.count; g++)
        for (size_t b = 0; b < OPF_COUNT(fusion->groups.data[g]->bodies); b++)
            if (fusion->groups.data[g]->bodies[b])
                add_part(parts, fusion->groups.data[g]->bodies[b], next, arena);
}

opf_parts opf_fusion_parts(const opf_fusion *fusion, opf_arena *arena) {
    opf_parts parts = {0};
    int next = 0;
    add_part(&parts, fusion, &next, arena);
    return parts;
}

/* ---- totals ---- */

/* Inputs and constants of the main graph, each as far as the group that asks for most of it does. */
static int64_t least_read(const opf_fusion *fusion) {
    opf_arena *scratch = opf_arena_new();
    opf_map seen = opf_map_new(scratch);
    double total = 0;
    for (size_t g = 0; g < fusion->groups.count; g++) {
        const opf_group *group = fusion->groups.data[g];
        if (group->step == OPF_STEP_FOLDED || group->step == OPF_STEP_VIEW)
            continue;
        double *bytes = OPF_ARRAY(scratch, double, group->stages.inputs.count + 1);
        opf_group_bytes_read(group, fusion->module->pool, bytes);
        for (size_t i = 0; i < group->stages.inputs.count; i++) {
            const opf_value *value = group->stages.inputs.data[i];
            double *most = opf_map_get(&seen, value);
            if (value->producer)
                continue;
            if (!most)
                opf_map_set(&seen, value, most = OPF_NEW(scratch, double));
            total += bytes[i] > *most ? bytes[i] - *most : 0;
            *most = bytes[i] > *most ? bytes[i] : *most;
        }
    }
    opf_arena_free(scratch);
    return total < 9e18 ? (int64_t)total : INT64_MAX;
}

static int64_t written(const opf_graph *graph) {
    int64_t bytes = 0;
    for (size_t o = 0; o < graph->outputs.count; o++)
        if (graph->outputs.data[o]->producer)
            bytes += opf_value_nominal_bytes(graph->outputs.data[o]);
    return bytes;
}

opf_totals opf_fusion_totals(const opf_parts *parts) {
    opf_totals totals = {0};
    for (size_t p = 0; p < parts->list.count; p++) {
        const opf_fusion *fusion = parts->list.data[p].fusion;
        totals.nodes += (int)fusion->graph->nodes.count;
        totals.groups += (int)fusion->groups.count;
        for (size_t g = 0; g < fusion->groups.count; g++) {
            const opf_group *group = fusion->groups.data[g];
            totals.kernels += group->step == OPF_STEP_KERNEL;
            totals.bytes_before += group->bytes_before;
            totals.bytes_after += group->bytes_after;
        }
    }
    const opf_fusion *whole = parts->list.data[0].fusion;
    totals.bytes_least = least_read(whole) + written(whole->graph);
    return totals;
}

/* ---- uses ---- */

int64_t opf_edge_bytes_lost(const opf_fusion *fusion, const opf_edge *edge) {
    if (edge->verdict != OPF_REFUSED)
        return 0;
    bool stored_for_it = !edge->value->is_output;
    for (size_t u = 0; u < edge->value->uses.count; u++)
        stored_for_it = stored_for_it && opf_node_within(edge->value->uses.data[u].node, fusion->graph) == edge->to;
    return stored_for_it ? 2 * edge->buffer_bytes : edge->buffer_bytes;
}

/* ---- words ---- */

void opf_print_bytes(int64_t bytes, opf_text *out) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double size = (double)bytes;
    size_t unit = 0;
    for (; size >= 1024 && unit + 1 < OPF_COUNT(units); unit++)
        size /= 1024;
    opf_text_printf(out, size < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", size, units[unit]);
}
