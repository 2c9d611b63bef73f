/* The workspace over time: what the plan says about buffers, at nominal sizes, as text and as JSON. */
#include "report/memory.h"

#include <stdlib.h>

#include "base/map.h"
#include "fuse/explain_json.h"

/* ---- numbers ---- */

/* Where each slot begins when all have their nominal sizes. */
static int64_t *slot_offsets(const opf_program *program, opf_arena *arena, int64_t *total) {
    int64_t *offsets = OPF_ARRAY(arena, int64_t, program->slots.count + 1);
    *total = 0;
    for (size_t s = 0; s < program->slots.count; s++) {
        int64_t most = 0;
        for (size_t i = 0; i < program->slots.data[s].sizes.count; i++) {
            int64_t size = opf_dim_nominal(program->slots.data[s].sizes.data[i]);
            most = size > most ? size : most;
        }
        offsets[s] = *total;
        *total += (most + OPF_WORKSPACE_ALIGN - 1) / OPF_WORKSPACE_ALIGN * OPF_WORKSPACE_ALIGN;
    }
    return offsets;
}

static int by_offset(const void *a, const void *b) {
    const opf_memory_buffer *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->first_step < y->first_step ? -1 : x->first_step > y->first_step;
}

static void take_buffers(opf_memory_plan *plan, const opf_program *program, opf_arena *arena) {
    int64_t *offsets = slot_offsets(program, arena, &plan->bytes);
    for (size_t b = 0; b < program->buffers.count; b++) {
        const opf_buffer *buffer = &program->buffers.data[b];
        if (buffer->kind != OPF_BUFFER_WORKSPACE || buffer->first_step < 0)
            continue;
        opf_memory_buffer shown = {buffer->value, offsets[buffer->index] + buffer->offset, opf_dim_nominal(buffer->bytes), buffer->first_step, buffer->last_step};
        OPF_PUSH(arena, &plan->buffers, shown);
    }
    if (plan->buffers.count > 1)
        qsort(plan->buffers.data, plan->buffers.count, sizeof *plan->buffers.data, by_offset);
}

/* Node → group, over all sub-graphs: library steps name their node only. */
static opf_map groups_by_node(const opf_program *program, opf_arena *arena) {
    opf_map map = opf_map_new(arena);
    opf_parts parts = opf_fusion_parts(program->fusion, arena);
    for (size_t p = 0; p < parts.list.count; p++)
        for (size_t g = 0; g < parts.list.data[p].fusion->groups.count; g++) {
            opf_group *group = parts.list.data[p].fusion->groups.data[g];
            for (size_t i = 0; i < group->nodes.count; i++)
                opf_map_set(&map, group->nodes.data[i], group);
        }
    return map;
}

opf_memory_plan opf_memory_of(const opf_program *program, opf_arena *arena) {
    opf_memory_plan plan = {0};
    opf_map group_of = groups_by_node(program, arena);
    take_buffers(&plan, program, arena);
    for (size_t i = 0; i < program->steps.count; i++) {
        const opf_step *step = &program->steps.data[i];
        opf_memory_step shown = {step, step->nest ? step->nest->group : step->node ? opf_map_get(&group_of, step->node) : NULL, 0};
        for (size_t b = 0; b < plan.buffers.count; b++)
            if (plan.buffers.data[b].first_step <= (int)i && (int)i <= plan.buffers.data[b].last_step)
                shown.live += plan.buffers.data[b].bytes;
        plan.most_live = shown.live > plan.most_live ? shown.live : plan.most_live;
        OPF_PUSH(arena, &plan.steps, shown);
    }
    return plan;
}

static bool is_result(const opf_group *group, const opf_value *value) {
    for (size_t r = 0; r < group->results.count; r++)
        if (group->results.data[r].value == value)
            return true;
    return false;
}

int64_t opf_group_never_stored(const opf_group *group) {
    int64_t bytes = 0;
    for (size_t i = 0; i < group->nodes.count && group->nodes.count > 1; i++) {
        const opf_node *node = group->nodes.data[i];
        for (int k = 0; k < node->n_outputs; k++)
            if (node->outputs[k] && node->outputs[k]->uses.count > 0 && !is_result(group, node->outputs[k]))
                bytes += opf_value_nominal_bytes(node->outputs[k]);
    }
    return bytes;
}

/* ---- words ---- */

static const char *const kinds_of_steps[] = {
    [OPF_RUN_KERNEL] = "kernel", [OPF_RUN_COPY] = "copy", [OPF_RUN_FILL] = "fill", [OPF_RUN_LIBRARY] = "library", [OPF_RUN_CHECK] = "check",
    [OPF_RUN_IF] = "if", [OPF_RUN_ELSE] = "else", [OPF_RUN_LOOP] = "loop", [OPF_RUN_GOES_ON] = "goes-on", [OPF_RUN_END] = "end",
    [OPF_RUN_SET] = "set", [OPF_RUN_SLICE] = "slice", [OPF_RUN_STACK] = "stack",
};

static const char *what_of(const opf_program *program, const opf_step *step) {
    return step->kind == OPF_RUN_KERNEL ? program->kernels.data[step->kernel].name : step->node ? step->node->name : kinds_of_steps[step->kind];
}

static const char *name_of(const opf_memory_buffer *buffer) { return buffer->value ? buffer->value->name : "(room of the step)"; }

/* Report numbers of all groups: group → number + 1. */
static opf_map numbers_of(const opf_program *program, opf_arena *arena) {
    opf_map map = opf_map_new(arena);
    opf_parts parts = opf_fusion_parts(program->fusion, arena);
    for (size_t p = 0; p < parts.list.count; p++)
        for (size_t g = 0; g < parts.list.data[p].fusion->groups.count; g++)
            opf_map_set(&map, parts.list.data[p].fusion->groups.data[g], (void *)(intptr_t)(parts.list.data[p].first_id + (int)g + 1));
    return map;
}

static int number_of(const opf_map *numbers, const opf_group *group) { return group ? (int)(intptr_t)opf_map_get(numbers, group) - 1 : -1; }

static void print_sized(const char *before, int64_t bytes, opf_text *out) {
    opf_text_add(out, before);
    opf_print_bytes(bytes, out);
}

static void print_step(const opf_program *program, const opf_memory_plan *plan, size_t i, opf_text *out) {
    opf_text live = {0};
    opf_print_bytes(plan->steps.data[i].live, &live);
    opf_text_printf(out, "%5zu  %9s  %s", i, opf_text_string(&live), what_of(program, plan->steps.data[i].step));
    opf_text_free(&live);
    for (size_t b = 0; b < plan->buffers.count; b++) {
        const opf_memory_buffer *buffer = &plan->buffers.data[b];
        if (buffer->first_step != (int)i)
            continue;
        opf_text_printf(out, "  + %s ", name_of(buffer));
        opf_print_bytes(buffer->bytes, out);
        opf_text_printf(out, " at %lld", (long long)buffer->offset);
    }
    for (size_t b = 0; b < plan->buffers.count; b++)
        if (plan->buffers.data[b].last_step == (int)i)
            opf_text_printf(out, "  - %s", name_of(&plan->buffers.data[b]));
    opf_text_add(out, "\n");
}

static void print_saved(const opf_program *program, opf_arena *arena, opf_text *out) {
    opf_parts parts = opf_fusion_parts(program->fusion, arena);
    bool any = false;
    for (size_t p = 0; p < parts.list.count; p++)
        for (size_t g = 0; g < parts.list.data[p].fusion->groups.count; g++) {
            const opf_group *group = parts.list.data[p].fusion->groups.data[g];
            int64_t never = opf_group_never_stored(group);
            if (!never)
                continue;
            opf_text_add(out, any ? "" : "\nsaved by fusion (values never stored; bytes not moved):\n");
            any = true;
            opf_text_printf(out, "%5d  ", parts.list.data[p].first_id + (int)g);
            opf_print_bytes(never, out);
            print_sized("; ", group->bytes_before - group->bytes_after, out);
            for (size_t i = 0; i < group->nodes.count; i++)
                opf_text_printf(out, "%s%s", i ? " + " : "  ", group->nodes.data[i]->name);
            opf_text_add(out, "\n");
        }
}

void opf_memory_text(const opf_program *program, int64_t unfused_bytes, opf_text *out) {
    opf_arena *arena = opf_arena_new();
    opf_memory_plan plan = opf_memory_of(program, arena);
    print_sized("workspace: ", plan.bytes, out);
    print_sized(", most alive at once: ", plan.most_live, out);
    if (unfused_bytes >= 0)
        print_sized(", unfused: ", unfused_bytes, out);
    opf_text_add(out, "\n\n step       live  what runs, values that begin and end with it\n");
    for (size_t i = 0; i < plan.steps.count; i++)
        print_step(program, &plan, i, out);
    print_saved(program, arena, out);
    opf_arena_free(arena);
}

/* ---- JSON ---- */

static json_t *saved_object(const opf_program *program, opf_arena *arena) {
    json_t *list = json_array();
    opf_parts parts = opf_fusion_parts(program->fusion, arena);
    for (size_t p = 0; p < parts.list.count; p++)
        for (size_t g = 0; g < parts.list.data[p].fusion->groups.count; g++) {
            const opf_group *group = parts.list.data[p].fusion->groups.data[g];
            int64_t never = opf_group_never_stored(group);
            if (never)
                json_array_append_new(list, json_pack("{s:i,s:I,s:I}", "group", parts.list.data[p].first_id + (int)g, "never_stored", (json_int_t)never,
                                                      "bytes_saved", (json_int_t)(group->bytes_before - group->bytes_after)));
        }
    return list;
}

json_t *opf_memory_object(const opf_program *program, int64_t unfused_bytes) {
    opf_arena *arena = opf_arena_new();
    opf_memory_plan plan = opf_memory_of(program, arena);
    opf_map numbers = numbers_of(program, arena);
    json_t *steps = json_array(), *buffers = json_array();
    for (size_t i = 0; i < plan.steps.count; i++) {
        int number = number_of(&numbers, plan.steps.data[i].group);
        json_array_append_new(steps, json_pack("{s:o,s:s,s:o,s:I}", "what", opf_json_text(what_of(program, plan.steps.data[i].step)),
            "kind", kinds_of_steps[plan.steps.data[i].step->kind], "group", number >= 0 ? json_integer(number) : json_null(),
            "live", (json_int_t)plan.steps.data[i].live));
    }
    for (size_t b = 0; b < plan.buffers.count; b++) {
        const opf_memory_buffer *buffer = &plan.buffers.data[b];
        json_array_append_new(buffers, json_pack("{s:o,s:I,s:I,s:i,s:i}", "value", buffer->value ? opf_json_text(buffer->value->name) : json_null(),
            "offset", (json_int_t)buffer->offset, "bytes", (json_int_t)buffer->bytes, "first", buffer->first_step, "last", buffer->last_step));
    }
    json_t *object = json_pack("{s:I,s:o,s:I,s:o,s:o,s:o}", "bytes", (json_int_t)plan.bytes,
        "unfused_bytes", unfused_bytes >= 0 ? json_integer(unfused_bytes) : json_null(), "most_live", (json_int_t)plan.most_live,
        "steps", steps, "buffers", buffers, "saved", saved_object(program, arena));
    opf_arena_free(arena);
    return object;
}
