/* The comment above a kernel: which nodes it is, what it computes, what it costs. */
#include <string.h>

#include "emit/spelling.h"

enum { MOST_NODES = 12, MOST_EXPRESSION = 300, LINE = 120 };

static void print_value(const opf_value *value, size_t number, const char *role, opf_text *out) {
    opf_text_printf(out, " *   p%zu  %s  ", number, role);
    opf_emit_comment(value->name, out);
    opf_text_add(out, "  ");
    opf_value_print_type(value, out);
    opf_text_add(out, "\n");
}

static void print_nodes(const opf_group *group, opf_text *out) {
    size_t shown = group->nodes.count < MOST_NODES ? group->nodes.count : MOST_NODES;
    size_t line = out->length;
    for (size_t i = 0; i < shown; i++) {
        const opf_node *node = group->nodes.data[i];
        bool full = i && out->length - line + strlen(node->op) + strlen(node->name) > LINE;
        opf_text_add(out, full ? ",\n *  " : i ? ", " : "");
        if (full) line = out->length;
        opf_text_printf(out, "%s '", node->op);
        opf_emit_comment(node->name, out);
        opf_text_add(out, "'");
    }
    if (shown < group->nodes.count) opf_text_printf(out, " and %zu more", group->nodes.count - shown);
}

/* Names of the tensors as stages number them. */
static opf_expr_names tensor_names(const opf_group *group, opf_arena *arena) {
    size_t n_inputs = group->stages.inputs.count, n = n_inputs + group->stages.list.count;
    const char **names = OPF_ARRAY(arena, const char *, n + 1);
    for (size_t i = 0; i < n_inputs; i++) names[i] = opf_arena_printf(arena, "p%zu", i);
    for (size_t i = n_inputs; i < n; i++) names[i] = opf_arena_printf(arena, "s%zu", i - n_inputs);
    return (opf_expr_names){.n_tensors = (int)n, .tensors = names};
}

static const char *const combiners[OPF_COMBINE_COUNT] = {"", "sum ", "product ", "min ", "max ", "and ", "or ", "argmin ", "argmax ", "last argmin ", "last argmax "};

static void print_stages(const opf_nest *nest, opf_text *out) {
    const opf_group *group = nest->group;
    opf_expr_names names = tensor_names(group, opf_pool_arena(nest->pool));
    for (size_t i = 0; i < group->stages.list.count; i++) {
        const opf_stage *stage = group->stages.list.data[i];
        opf_text text = {0};
        opf_expr_print(stage->body, &names, &text);
        opf_text_printf(out, " *   s%zu = %s", i, combiners[stage->combiner]);
        if (text.length > MOST_EXPRESSION) {
            opf_text_add_n(out, text.data, MOST_EXPRESSION);
            opf_text_add(out, " …");
        } else {
            opf_text_add(out, opf_text_string(&text));
        }
        opf_text_add(out, "\n");
        opf_text_free(&text);
    }
}

void opf_emit_banner(const opf_nest *nest, opf_text *out) {
    const opf_group *group = nest->group;
    size_t number = 0;
    opf_text_add(out, "/* ");
    print_nodes(group, out);
    opf_text_add(out, "\n");
    for (size_t i = 0; i < group->stages.inputs.count; i++) print_value(group->stages.inputs.data[i], number++, "in ", out);
    for (size_t i = 0; i < group->results.count; i++) print_value(group->results.data[i].value, number++, "out", out);
    print_stages(nest, out);
    opf_text_printf(out, " * %.4g Mflop, %.4g MB; %s */\n", nest->flops / 1e6, (double)nest->bytes / 1e6, nest->schedule ? nest->schedule : "");
}
