/* Schedules every group that needs code. */
#include "plan/program.h"

opf_status opf_plan_nests(const opf_nest *const **out, const opf_fusion *fusion, const opf_machine *machine) {
    const opf_nest **nests = OPF_ARRAY(fusion->module->arena, const opf_nest *, fusion->groups.count + 1);
    opf_status status = OPF_OK;
    for (size_t i = 0; i < fusion->groups.count; i++) {
        const opf_group *group = fusion->groups.data[i];
        if (group->step != OPF_STEP_KERNEL) continue;
        opf_nest *nest = NULL;
        opf_status one = opf_nest_schedule(&nest, group, machine);
        if (one == OPF_OK) nests[i] = nest;
        else status = one; /* the others are scheduled all the same, so that every problem is told at once */
    }
    *out = nests;
    return status;
}
