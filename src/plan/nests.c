/* Schedules every group that needs code. */
#include "plan/program.h"

static opf_status schedule_one(opf_nest **out, const opf_group *group, const opf_machine *machine, const opf_schedule_source *schedules) {
    const opf_schedule *wanted = schedules ? schedules->find(schedules->data, group, machine) : NULL;
    const char *why_not;
    if (wanted && opf_nest_schedule_as(out, group, machine, wanted, &why_not)) return OPF_OK;
    opf_status status = wanted ? schedules->refuse(schedules->data, group, machine, why_not) : OPF_OK;
    return status == OPF_OK ? opf_nest_schedule(out, group, machine) : status;
}

opf_status opf_plan_nests(const opf_nest *const **out, const opf_fusion *fusion, const opf_machine *machine, const opf_schedule_source *schedules) {
    const opf_nest **nests = OPF_ARRAY(fusion->module->arena, const opf_nest *, fusion->groups.count + 1);
    opf_status status = OPF_OK;
    for (size_t i = 0; i < fusion->groups.count; i++) {
        const opf_group *group = fusion->groups.data[i];
        if (group->step != OPF_STEP_KERNEL && !group->in_front) continue;
        opf_nest *nest = NULL;
        opf_status one = schedule_one(&nest, group, machine, schedules);
        if (one == OPF_OK) nests[i] = nest;
        else status = one; /* the others are scheduled all the same, so that every problem is told at once */
    }
    *out = nests;
    return status;
}
