/* Groups taken apart in two, by way of a file of groups. */
#include "tune/cut.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "fuse/explain_json.h"

/* ---- the file ---- */

static json_t *half(const opf_group *group, size_t from, size_t to) {
    json_t *nodes = json_array();
    for (size_t i = from; i < to; i++) json_array_append_new(nodes, opf_json_text(group->nodes.data[i]->name));
    return json_pack("{s:o}", "nodes", nodes);
}

/* Groups of the main graph that are cut go, their halves come. False where there is none. */
static bool replace(const opf_fusion *fusion, json_t *groups, int64_t (*cut_of)(void *data, const opf_group *group), void *data) {
    bool any = false;
    for (size_t g = json_array_size(groups); g-- > 0;) {
        const json_t *object = json_array_get(groups, g);
        if (json_string_length(json_object_get(object, "graph")) > 0) continue; /* of a sub-graph */
        const opf_group *group = fusion->groups.data[json_integer_value(json_object_get(object, "id"))];
        int64_t at = group->step == OPF_STEP_KERNEL && !group->copied.count ? cut_of(data, group) : 0;
        if (at <= 0 || (size_t)at >= group->nodes.count) continue;
        any = true;
        json_array_set_new(groups, g, half(group, 0, (size_t)at));
        json_array_insert_new(groups, g + 1, half(group, (size_t)at, group->nodes.count));
    }
    return any;
}

static opf_status fuse_by(opf_fusion **out, opf_fusion *fusion, const opf_fuse_options *given, const char *text) {
    opf_diags *diags = fusion->module->diags;
    opf_arena *arena = fusion->module->arena;
    opf_fuse_options options = *given;
    char *folder;
    opf_status status = opf_folder_temporary(&folder, arena, diags);
    if (status != OPF_OK) return status;
    options.groups_file = opf_arena_printf(arena, "%s/groups.json", folder);
    status = opf_file_write(options.groups_file, text, strlen(text), diags);
    if (status == OPF_OK) status = opf_fuse(out, fusion->graph, &options);
    opf_folder_remove(folder);
    return status;
}

opf_status opf_fuse_cut(opf_fusion **out, opf_fusion *fusion, const opf_fuse_options *options, int64_t (*cut_of)(void *data, const opf_group *group), void *data) {
    bool any = false;
    *out = fusion;
    if (options->policy == OPF_POLICY_NONE || options->groups_file) return OPF_OK; /* nobody is together, or the user says who is */
    for (size_t g = 0; g < fusion->groups.count && !any; g++) any = fusion->groups.data[g]->step == OPF_STEP_KERNEL && cut_of(data, fusion->groups.data[g]) > 0;
    if (!any) return OPF_OK;
    json_t *explanation = opf_explain_object(fusion);
    any = replace(fusion, json_object_get(explanation, "groups"), cut_of, data);
    char *text = json_dumps(explanation, 0);
    json_decref(explanation);
    if (!text) opf_out_of_memory();
    opf_status status = any ? fuse_by(out, fusion, options, text) : OPF_OK;
    free(text);
    return status;
}

/* ---- places ---- */

int opf_cut_places(const opf_group *group, int64_t *out, int most) {
    int count = 0;
    if (group->copied.count) return 0;
    for (size_t i = 1; i < group->nodes.count && count < most; i++) {
        opf_kind kind = opf_node_kind(group->nodes.data[i]);
        if (kind == OPF_KIND_OUT_ELEMWISE_FUSABLE || kind == OPF_KIND_COMM_REDUCE) out[count++] = (int64_t)i;
    }
    return count;
}

static const opf_group *group_of(const opf_fusion *fusion, const opf_group *group, size_t from, size_t to) {
    for (size_t g = 0; g < fusion->groups.count; g++) {
        const opf_group *here = fusion->groups.data[g];
        if (here->step != OPF_STEP_KERNEL || here->nodes.count != to - from) continue;
        bool same = true;
        for (size_t i = from; i < to && same; i++) same = here->nodes.data[i - from] == group->nodes.data[i];
        if (same) return here;
    }
    return NULL;
}

bool opf_cut_halves(const opf_fusion *cut, const opf_group *group, int64_t at, const opf_group *out[2]) {
    out[0] = group_of(cut, group, 0, (size_t)at);
    out[1] = group_of(cut, group, (size_t)at, group->nodes.count);
    return out[0] && out[1];
}
