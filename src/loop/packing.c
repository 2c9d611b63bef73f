/* Constants in a layout of a reader's own: the group that makes one, for a kernel like any other. */
#include "loop/nest.h"

/* It has a type and no place in the graph. */
static opf_value *made_value(opf_arena *arena, const opf_value *model, const opf_stage *stage) {
    opf_value *value = OPF_NEW(arena, opf_value);
    value->name = opf_arena_printf(arena, "%s.packed", model->name);
    value->graph = model->graph;
    value->dtype = stage->dtype;
    value->rank = stage->n_axes;
    value->dims = stage->extents;
    value->declared_rank = -1;
    value->input_index = -1;
    return value;
}

opf_group *opf_packing_group(opf_arena *arena, const opf_value *constant, opf_stage *stage) {
    opf_group *group = OPF_NEW(arena, opf_group);
    group->kind = OPF_KIND_INJECTIVE;
    group->step = OPF_STEP_KERNEL;
    group->rule = "packed";
    OPF_PUSH(arena, &group->stages.inputs, (opf_value *)constant);
    OPF_PUSH(arena, &group->stages.list, stage);
    OPF_PUSH(arena, &group->results, (opf_result){made_value(arena, constant, stage), 0});
    return group;
}
