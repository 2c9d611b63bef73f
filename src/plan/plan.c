/* Fusion with its nests → program. */
#include "ops/counts.h"
#include "plan/planner.h"

#include <math.h>

/* ---- what must hold ---- */

static void add_checks(opf_program *program, opf_arena *arena) {
    const opf_graph *graph = program->fusion->graph;
    for (size_t i = 0; i < graph->inputs.count; i++) {
        const opf_value *input = graph->inputs.data[i];
        for (int axis = 0; axis < input->rank; axis++) {
            bool source = false;
            for (size_t s = 0; s < program->n_symbols && !source; s++)
                source = program->sources[s].input == (int)i && program->sources[s].axis == axis;
            if (!source) OPF_PUSH(arena, &program->checks, (opf_condition){(int)i, axis, input->dims[axis], NULL, false});
        }
    }
    for (size_t i = 0; i < program->module->guards.count; i++) {
        const opf_guard *guard = &program->module->guards.data[i];
        bool counted = guard->inside || opf_dim_is_counted(program->module, guard->left) || opf_dim_is_counted(program->module, guard->right);
        OPF_PUSH(arena, &program->checks, (opf_condition){-1, -1, NULL, guard, counted});
    }
}

/* ---- steps ---- */

static opf_dim points_of(opf_planner *planner, const opf_group *group) {
    if (!group->results.count) return opf_int(planner->pool, 1);
    return opf_stage_elements(group->stages.list.data[group->results.data[0].stage], planner->pool);
}

static opf_step kernel_step(opf_planner *planner, const opf_nest *nest, int kernel, int n, const int *buffers) {
    opf_step step = {.kind = OPF_RUN_KERNEL, .kernel = kernel, .nest = nest, .n_buffers = n, .buffers = buffers, .units = nest->units};
    step.points = points_of(planner, nest->group);
    double nominal = (double)opf_dim_nominal(step.points);
    step.work = ceil((nest->flops + (double)nest->bytes) / (nominal < 1 ? 1 : nominal));
    return step;
}

int opf_planner_pack(opf_planner *planner, const opf_machine *machine, const opf_packed *packed) {
    opf_program *program = planner->program;
    opf_nest *packing = NULL;
    if (opf_nest_schedule(&packing, packed->group, machine) != OPF_OK) return -1;
    int kernel = opf_planner_kernel(planner, packing);
    if (kernel < 0) return -1;
    int from = opf_planner_operand(planner, packed->group->stages.inputs.data[0], false);
    if (from < 0) return -1;
    for (size_t i = 0; i < program->prepare.count; i++)
        if (program->prepare.data[i].kernel == kernel && program->prepare.data[i].buffers[0] == from) return program->prepare.data[i].buffers[1];
    int *buffers = OPF_ARRAY(planner->arena, int, 2);
    buffers[0] = from;
    buffers[1] = opf_planner_packed(planner, packed->bytes);
    OPF_PUSH(planner->arena, &program->prepare, kernel_step(planner, packing, kernel, 2, buffers));
    return buffers[1];
}

static bool is_replaced(const opf_nest *nest, size_t input) {
    for (size_t i = 0; i < nest->packed.count; i++)
        if (nest->packed.data[i].input == (int)input) return true;
    return false;
}

static opf_status add_kernel(opf_planner *planner, const opf_nest *nest) {
    const opf_group *group = nest->group;
    int kernel = opf_planner_kernel(planner, nest);
    if (kernel < 0) return OPF_ERROR_INTERNAL;
    size_t n = group->stages.inputs.count + group->results.count + nest->packed.count, at = 0;
    int *buffers = OPF_ARRAY(planner->arena, int, n + 1);
    for (size_t i = 0; i < group->stages.inputs.count; i++) {
        int buffer = opf_planner_operand(planner, group->stages.inputs.data[i], !is_replaced(nest, i));
        if (buffer < 0) return OPF_ERROR_INTERNAL;
        buffers[at++] = buffer;
    }
    for (size_t i = 0; i < group->results.count; i++) buffers[at++] = opf_planner_result(planner, group->results.data[i].value);
    for (size_t i = 0; i < nest->packed.count; i++) {
        int buffer = opf_planner_pack(planner, nest->machine, &nest->packed.data[i]);
        if (buffer < 0) return OPF_ERROR_INTERNAL;
        buffers[at++] = buffer;
    }
    opf_step step = kernel_step(planner, nest, kernel, (int)n, buffers);
    step.unless = group->in_front;
    OPF_PUSH(planner->arena, &planner->program->steps, step);
    return OPF_OK;
}

static opf_status add_steps(opf_planner *planner, const opf_fusion *fusion, const opf_nest *const *nests) {
    for (size_t i = 0; i < fusion->groups.count; i++) {
        const opf_group *group = fusion->groups.data[i];
        opf_status status = OPF_OK;
        if (group->step == OPF_STEP_LIBRARY) status = opf_planner_library(planner, group);
        else if (group->step == OPF_STEP_CONTROL) status = opf_planner_control(planner, group);
        else if (nests[i]) status = add_kernel(planner, nests[i]);
        if (status != OPF_OK) return status;
    }
    return planner->failed ? OPF_ERROR_INTERNAL : OPF_OK;
}

opf_status opf_planner_groups(opf_planner *planner, const opf_fusion *fusion) {
    const opf_nest *const *nests = NULL;
    opf_status status = opf_plan_nests(&nests, fusion, planner->options->machine, planner->options->schedules);
    return status == OPF_OK ? add_steps(planner, fusion, nests) : status;
}

/* ---- whole ---- */

void opf_planner_views(opf_planner *planner, const opf_fusion *fusion) {
    for (size_t i = 0; i < fusion->groups.count; i++) {
        const opf_group *group = fusion->groups.data[i];
        if (group->step != OPF_STEP_VIEW) continue;
        if (group->stages.inputs.count > 1) {
            opf_planner_parts(planner, group);
            continue;
        }
        for (size_t k = 0; k < group->results.count; k++)
            opf_map_set(&planner->sources, group->results.data[k].value, group->stages.inputs.data[0]);
    }
}

/* Outputs that the graph does not have: every value that a kernel stores and no output shows. */
static void add_taps(opf_planner *planner) {
    opf_program *program = planner->program;
    opf_map shown = opf_map_new(planner->arena);
    for (size_t i = 0; i < program->outputs.count; i++) opf_map_set(&shown, program->outputs.data[i], planner);
    for (size_t i = 0; i < program->fusion->groups.count; i++) {
        const opf_group *group = program->fusion->groups.data[i];
        bool computes = group->step == OPF_STEP_KERNEL || group->step == OPF_STEP_LIBRARY || group->step == OPF_STEP_CONTROL;
        for (size_t k = 0; computes && k < group->results.count; k++) {
            const opf_value *value = group->results.data[k].value;
            if (opf_map_has(&shown, value)) continue;
            opf_map_set(&shown, value, planner);
            OPF_PUSH(planner->arena, &program->outputs, value);
        }
    }
}

opf_status opf_plan(opf_program **out, const opf_fusion *fusion, const opf_nest *const *nests, const opf_plan_options *options) {
    opf_module *module = fusion->module;
    opf_program *program = OPF_NEW(module->arena, opf_program);
    program->module = module;
    program->fusion = fusion;
    program->machine = options->machine;
    program->n_symbols = opf_module_symbol_sources(module, &program->sources);
    for (size_t i = 0; i < fusion->graph->outputs.count; i++) OPF_PUSH(module->arena, &program->outputs, fusion->graph->outputs.data[i]);

    opf_arena *arena = module->arena;
    opf_planner planner = {.program = program, .options = options, .arena = arena, .pool = module->pool,
                           .sources = opf_map_new(arena), .bound = opf_map_new(arena), .buffers = opf_map_new(arena),
                           .weights = opf_map_new(arena), .kernels = opf_map_new(arena), .names = opf_map_new(arena), .found = opf_map_new(arena), .parts = opf_map_new(arena), .placed = opf_map_new(arena)};
    if (options->tap_all) add_taps(&planner);
    add_checks(program, arena);
    opf_planner_views(&planner, fusion);
    opf_planner_bind_outputs(&planner);
    opf_status status = add_steps(&planner, fusion, nests);
    if (status == OPF_OK) opf_planner_finish_outputs(&planner);
    if (status == OPF_OK && planner.failed) status = OPF_ERROR_INTERNAL;
    if (status != OPF_OK) return status;
    opf_planner_beside(program);
    opf_planner_place(&planner);
    *out = program;
    return OPF_OK;
}
