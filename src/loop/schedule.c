/* Group → nest. */
#include <string.h>

#include "loop/blocks.h"
#include "loop/relay.h"
#include "loop/tile.h"

/* ---- choices ---- */

int64_t opf_chunk_size(opf_scheduler *s) {
    int64_t wanted = opf_nest_wants(s->nest, OPF_KNOB_CHUNK);
    return s->nest->chosen.at[OPF_KNOB_CHUNK] = wanted ? wanted : OPF_CHUNK;
}

int64_t opf_share_size(opf_scheduler *s) {
    int64_t wanted = opf_nest_wants(s->nest, OPF_KNOB_SHARE);
    return s->nest->chosen.at[OPF_KNOB_SHARE] = wanted ? wanted : OPF_SHARE_BLOCK;
}

/* The `which`-th of `count` loops, 1 where nothing is asked for or there is no such loop. */
static int chosen_loop(opf_scheduler *s, opf_knob knob, int count) {
    int64_t wanted = opf_nest_wants(s->nest, knob), *told = &s->nest->chosen.at[knob];
    if (count < 2) return 1;
    int64_t which = wanted && wanted <= count ? wanted : 1;
    if (which > *told) *told = which;
    return (int)which;
}

void opf_order_loops(opf_scheduler *s, opf_axes *axes) {
    int last = axes->count - 1, inner = axes->count - chosen_loop(s, OPF_KNOB_INNERMOST, axes->count);
    int variable = last >= 0 ? axes->at[inner] : 0;
    if (inner < last) {
        opf_axes_remove(axes, inner);
        opf_axes_add(axes, variable);
    }
    int outer = chosen_loop(s, OPF_KNOB_OUTERMOST, last) - 1;
    for (; outer > 0; outer--) {
        variable = axes->at[outer];
        axes->at[outer] = axes->at[outer - 1];
        axes->at[outer - 1] = variable;
    }
}

bool opf_transposes(opf_scheduler *s) {
    bool off = opf_nest_wants(s->nest, OPF_KNOB_TRANSPOSE) == OPF_SWITCH_OFF;
    s->nest->chosen.at[OPF_KNOB_TRANSPOSE] = off ? OPF_SWITCH_OFF : OPF_SWITCH_ON;
    return !off;
}

/* ---- arguments ---- */

static void add_arguments(opf_scheduler *s) {
    const opf_group *group = s->group;
    for (size_t i = 0; i < group->stages.inputs.count; i++) {
        int b = opf_buffer_new(s, OPF_MEMORY_INPUT, group->stages.inputs.data[i]->dtype, opf_arena_printf(s->arena, "p%zu", i), NULL);
        opf_buffer_at(s, b)->index = (int)i;
    }
    for (size_t i = 0; i < group->results.count; i++) {
        opf_dtype dtype = group->results.data[i].value->dtype;
        int b = opf_buffer_new(s, OPF_MEMORY_RESULT, opf_dtype_is_packed(dtype) ? OPF_UINT8 : dtype,
                               opf_arena_printf(s->arena, "p%zu", group->stages.inputs.count + i), NULL);
        opf_buffer_at(s, b)->index = (int)i;
    }
}

static void reset(opf_scheduler *s) {
    opf_nest *nest = s->nest;
    nest->buffers.count = nest->variables.count = nest->code.list.count = 0;
    nest->chosen = (opf_schedule){{[OPF_KNOB_ALGORITHM] = OPF_BY_LOOPS}};
    s->safe = opf_map_new(s->arena);
    s->n_temporaries = s->boxes = 0;
    s->scratch_bytes = opf_int(s->pool, 0);
    s->units = NULL;
    s->given.count = 0;
    memset(s->stored, 0, s->group->results.count * sizeof *s->stored);
    add_arguments(s);
    opf_expand(s);
}

static bool same_domain(const opf_stage *a, const opf_stage *b) {
    if (a->n_axes != b->n_axes) return false;
    for (int i = 0; i < a->n_axes; i++)
        if (a->extents[i] != b->extents[i]) return false;
    return true;
}

static const opf_stage *result_stage(const opf_scheduler *s, size_t result) {
    return s->stages[s->result_stage[result]];
}

/* The result that comes last among those that no root stores yet; -1: none is left. */
static int last_result(const opf_scheduler *s) {
    int last = -1;
    for (size_t k = 0; k < s->group->results.count; k++) {
        if (s->stored[k]) continue;
        if (last < 0 || s->result_stage[k] > s->result_stage[last]) last = (int)k;
    }
    return last;
}

/* Results that read others come first: what they read may be stored on the way. */
static bool emit_roots(opf_scheduler *s) {
    int *results = OPF_ARRAY(s->arena, int, s->group->results.count + 1), last;
    while ((last = last_result(s)) >= 0) {
        int count = 0;
        for (size_t k = 0; k < s->group->results.count; k++)
            if (!s->stored[k] && same_domain(result_stage(s, k), result_stage(s, (size_t)last))) results[count++] = (int)k;
        bool blocks = !s->fill && opf_nest_wants(s->nest, OPF_KNOB_ALGORITHM) != OPF_BY_LOOPS && opf_blocks_emit(s, count, results);
        if (!blocks && !opf_root_emit(s, count, results)) return false;
    }
    return true;
}

static opf_nest *new_nest(const opf_group *group, const opf_machine *machine) {
    opf_module *module = group->results.data[0].value->graph->module;
    opf_nest *nest = OPF_NEW(module->arena, opf_nest);
    *nest = (opf_nest){.group = group, .machine = machine, .pool = module->pool, .flops = group->flops, .bytes = group->bytes_after};
    nest->units = opf_int(module->pool, 1);
    nest->scratch_bytes = opf_int(module->pool, 0);
    return nest;
}

static const opf_machine *narrower(const opf_machine *machine, int lanes, opf_arena *arena) {
    opf_machine *own = opf_arena_copy(arena, machine, sizeof *machine);
    own->lanes = lanes;
    return own;
}

/* Choices that every kernel has. */
static void tell_machine(opf_nest *nest) {
    nest->chosen.at[OPF_KNOB_LANES] = nest->machine->lanes;
    nest->chosen.at[OPF_KNOB_COMPILER] = opf_nest_wants(nest, OPF_KNOB_COMPILER);
}

static void schedule(opf_nest *nest, const opf_fill *fill) {
    const opf_group *group = nest->group;
    opf_scheduler s = {.pool = nest->pool, .arena = opf_pool_arena(nest->pool), .group = group, .nest = nest, .n_inputs = (int)group->stages.inputs.count, .fill = fill};
    opf_take_stages(&s);
    int n = s.n_stages;
    s.reduced = OPF_ARRAY(s.arena, bool, n + 1);
    s.kept = OPF_ARRAY(s.arena, bool, n + 1);
    s.bodies = OPF_ARRAY(s.arena, const opf_expr *, n + 1);
    s.seconds = OPF_ARRAY(s.arena, const opf_expr *, n + 1);
    s.stored = OPF_ARRAY(s.arena, bool, group->results.count + 1);
    do reset(&s);
    while (!emit_roots(&s));
    nest->units = s.units ? s.units : nest->units;
    nest->scratch_bytes = s.scratch_bytes;
    nest->schedule = opf_schedule_line(nest);
}

opf_nest *opf_nest_fill(const opf_group *group, const opf_machine *machine, const opf_fill *fill) {
    opf_nest *nest = new_nest(group, machine);
    opf_arena *arena = opf_pool_arena(nest->pool);
    for (int i = 0; i < fill->n_given; i++) OPF_PUSH(arena, &nest->given, -1);
    schedule(nest, fill);
    return nest;
}

opf_status opf_nest_schedule(opf_nest **out, const opf_group *group, const opf_machine *machine) {
    opf_nest *nest = *out = new_nest(group, machine);
    const char *why_not;
    if (!opf_relay_schedule(nest) && !opf_tile_schedule(nest, &why_not)) schedule(nest, NULL);
    tell_machine(nest);
    return OPF_OK;
}

static const char *unmet_sentence(const opf_nest *nest, int choice, const char *why, opf_arena *arena) {
    opf_text text = {0};
    opf_text_printf(&text, "%s = ", opf_knob_name((opf_knob)choice));
    opf_knob_print((opf_knob)choice, nest->wanted->at[choice], &text);
    if (choice == OPF_KNOB_ALGORITHM && why) opf_text_printf(&text, " does not apply: %s", why);
    else if (!nest->chosen.at[choice]) opf_text_add(&text, " does not apply: this kernel has no such choice");
    else {
        opf_text_add(&text, " does not fit this kernel, where it would be ");
        opf_knob_print((opf_knob)choice, nest->chosen.at[choice], &text);
    }
    const char *sentence = opf_arena_string(arena, opf_text_string(&text));
    opf_text_free(&text);
    return sentence;
}

bool opf_nest_schedule_as(opf_nest **out, const opf_group *group, const opf_machine *machine, const opf_schedule *wanted, const char **why_not) {
    opf_nest *nest = new_nest(group, machine);
    opf_arena *arena = opf_pool_arena(nest->pool);
    const char *why = NULL;
    int64_t algorithm = wanted->at[OPF_KNOB_ALGORITHM], lanes = wanted->at[OPF_KNOB_LANES];
    nest->wanted = opf_arena_copy(arena, wanted, sizeof *wanted);
    if (lanes && lanes < machine->lanes && (lanes == 4 || lanes == 8)) nest->machine = narrower(machine, (int)lanes, arena);
    bool by_loops = algorithm == OPF_BY_ROWS || algorithm == OPF_BY_LOOPS;
    bool done = opf_relay_schedule(nest) || (!by_loops && opf_tile_schedule(nest, &why));
    if (!done) schedule(nest, NULL);
    tell_machine(nest);
    int unmet = opf_schedule_unmet(wanted, &nest->chosen);
    *out = unmet < 0 ? nest : NULL;
    if (unmet >= 0) *why_not = unmet_sentence(nest, unmet, why, arena);
    return unmet < 0;
}
