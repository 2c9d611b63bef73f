/* Groups with their stages as text: --dump-after=fuse. */
#include "fuse/fuse.h"

static void print_values(const char *title, size_t count, opf_value *const *values, opf_text *out) {
    for (size_t i = 0; i < count; i++) {
        opf_text_printf(out, "  %s %zu '%s' ", title, i, values[i]->name);
        opf_value_print_type(values[i], out);
        opf_text_add(out, "\n");
    }
}

static void print_group(const opf_group *group, opf_text *out) {
    opf_text_printf(out, "group %d %s %s rule %s bytes %lld -> %lld flops %.0f:", group->id, opf_step_kind_name(group->step),
                    opf_kind_name(group->kind), group->rule, (long long)group->bytes_before, (long long)group->bytes_after, group->flops);
    for (size_t i = 0; i < group->nodes.count; i++)
        opf_text_printf(out, " '%s' (%s)", group->nodes.data[i]->name, group->nodes.data[i]->op);
    opf_text_add(out, "\n");
    print_values("input", group->stages.inputs.count, group->stages.inputs.data, out);
    opf_stages_print(&group->stages, out);
    for (size_t r = 0; r < group->results.count; r++) {
        opf_result result = group->results.data[r];
        opf_text_printf(out, "  result t%zu '%s' ", group->stages.inputs.count + (size_t)result.stage, result.value->name);
        opf_value_print_type(result.value, out);
        opf_text_add(out, "\n");
    }
}

void opf_fusion_print(const opf_fusion *fusion, opf_text *out) {
    for (size_t g = 0; g < fusion->groups.count; g++)
        print_group(fusion->groups.data[g], out);
}
