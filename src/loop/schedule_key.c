/* What a group computes, as a hash. */
#include <string.h>

#include "loop/schedule.h"

/* Tensors by number, variables by position: the same whatever the model calls them. */

static opf_expr_names names_of(const opf_group *group, opf_arena *arena) {
    size_t n = group->stages.inputs.count + group->stages.list.count;
    const char **tensors = OPF_ARRAY(arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++) tensors[i] = opf_arena_printf(arena, "t%zu", i);
    return (opf_expr_names){.n_tensors = (int)n, .tensors = tensors};
}

static void add_dim(opf_dim dim, const opf_expr_names *names, opf_text *out) {
    opf_expr_print(dim, names, out);
    if (dim->kind != OPF_EXPR_INT) opf_text_printf(out, "~%lld", (long long)opf_dim_nominal(dim));
    opf_text_add(out, ",");
}

static void add_inputs(const opf_group *group, const opf_expr_names *names, opf_text *out) {
    for (size_t i = 0; i < group->stages.inputs.count; i++) {
        const opf_value *value = group->stages.inputs.data[i];
        opf_text_printf(out, "%s %s ", opf_dtype_name(value->dtype), value->constant ? "constant" : "value");
        for (int k = 0; k < value->rank; k++) add_dim(value->dims[k], names, out);
        opf_text_add(out, "\n");
    }
}

static void add_stages(const opf_group *group, const opf_expr_names *names, opf_text *out) {
    for (size_t i = 0; i < group->stages.list.count; i++) {
        const opf_stage *stage = group->stages.list.data[i];
        opf_text_printf(out, "%d %d %s %s ", stage->combiner, stage->n_axes, opf_dtype_name(stage->dtype), opf_dtype_name(stage->accumulator));
        for (int k = 0; k < stage->n_axes + stage->n_reduce; k++) add_dim(stage->extents[k], names, out);
        opf_expr_print(stage->body, names, out);
        if (stage->second) opf_expr_print(stage->second, names, out);
        opf_text_add(out, "\n");
    }
    for (size_t i = 0; i < group->results.count; i++) opf_text_printf(out, "result %d\n", group->results.data[i].stage);
}

opf_hash opf_schedule_key(const opf_group *group, const opf_machine *machine) {
    const opf_module *module = group->results.data[0].value->graph->module;
    opf_arena *arena = opf_arena_new();
    opf_expr_names names = names_of(group, arena);
    opf_text text = {0};
    opf_text_printf(&text, "opfuse kernel 1\n%s %s %d %d %lld %lld\naccuracy %d\n", machine->name, machine->flags, machine->vectors, machine->products,
                    (long long)machine->l1_bytes, (long long)machine->l2_bytes, module->accuracy);
    for (size_t i = 0; i < group->nodes.count; i++) opf_text_printf(&text, "%s ", group->nodes.data[i]->op);
    opf_text_add(&text, "\n");
    add_inputs(group, &names, &text);
    add_stages(group, &names, &text);
    opf_hash key = opf_hash_bytes(opf_text_string(&text), text.length);
    opf_text_free(&text);
    opf_arena_free(arena);
    return key;
}

const char *opf_schedule_operators(const opf_group *group) {
    opf_text text = {0};
    for (size_t i = 0; i < group->nodes.count; i++) opf_text_printf(&text, "%s%s", i ? " " : "", group->nodes.data[i]->op);
    const char *names = opf_arena_string(group->results.data[0].value->graph->module->arena, opf_text_string(&text));
    opf_text_free(&text);
    return names;
}
