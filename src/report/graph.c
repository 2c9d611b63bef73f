/* DOT text of a graph and of its groups. */
#include "report/graph.h"

#include <string.h>

#include "report/layout.h"

enum { LONGEST_NAME = 36 };

static const char *kind_colour(opf_kind kind) {
    switch (kind) {
    case OPF_KIND_ELEMWISE: return "#c8e6c9";
    case OPF_KIND_BROADCAST: return "#dcedc8";
    case OPF_KIND_INJECTIVE: return "#bbdefb";
    case OPF_KIND_COMM_REDUCE: return "#fff3b0";
    case OPF_KIND_OUT_ELEMWISE_FUSABLE: return "#ffccbc";
    default: return "#e0e0e0";
    }
}

/* Length of the UTF-8 sequence at `c`, 0 where there is none. */
static size_t sequence(const unsigned char *c) {
    size_t length = c[0] < 0x80 ? 1 : c[0] >= 0xC2 && c[0] < 0xE0 ? 2 : c[0] >= 0xE0 && c[0] < 0xF0 ? 3 : c[0] >= 0xF0 && c[0] < 0xF5 ? 4 : 0;
    for (size_t k = 1; k < length; k++)
        if ((c[k] & 0xC0) != 0x80)
            return 0;
    return length;
}

/* Text inside a DOT string: names come from files and may hold anything. */
static void escaped(const char *string, opf_text *out) {
    const unsigned char *c = (const unsigned char *)string;
    while (*c) {
        size_t length = sequence(c);
        if (length == 0 || *c < 0x20)
            opf_text_add(out, "?");
        else if (*c == '"' || *c == '\\')
            opf_text_printf(out, "\\%c", *c);
        else
            opf_text_add_n(out, (const char *)c, length);
        c += length ? length : 1;
    }
}

/* The end of a long name says more than its beginning: "…/attention/self/query/MatMul". */
static const char *short_name(const char *name) {
    size_t length = strlen(name);
    if (length <= LONGEST_NAME)
        return name;
    const char *end = name + length - LONGEST_NAME;
    while (((unsigned char)*end & 0xC0) == 0x80)
        end++;
    return end;
}

static void label(const char *name, opf_text *out) {
    const char *shown = short_name(name);
    if (shown != name)
        opf_text_add(out, "…");
    escaped(shown, out);
}

static void print_node(const opf_node *node, opf_kind kind, const char *indent, opf_text *out) {
    opf_text_printf(out, "%sn%d [label=\"", indent, node->id);
    label(node->name, out);
    opf_text_add(out, "\\n");
    escaped(node->op, out);
    for (int k = 0; k < node->n_origins; k++)
        if (node->origins[k] != node->name) {
            opf_text_add(out, "\\n+ ");
            label(node->origins[k], out);
        }
    opf_text_add(out, "\", tooltip=\"");
    escaped(node->name, out);
    opf_text_printf(out, "\", fillcolor=\"%s\"%s];\n", kind_colour(kind), opf_node_is_folded(node) ? ", style=\"rounded,filled,dashed\"" : "");
}

static void print_group(const opf_group *group, opf_text *out) {
    static const char *const styles[] = {"rounded,filled", "rounded,filled,bold", "rounded,dashed", "rounded,dotted"};
    opf_text_printf(out, "  subgraph cluster_%d {\n    label=\"%d %s\\n%s\"; style=\"%s\"; fillcolor=\"#f5f5f5\"; color=\"#616161\";\n", group->id,
                    group->id, opf_step_kind_name(group->step), opf_kind_name(group->kind), styles[group->step]);
    for (size_t i = 0; i < group->nodes.count; i++)
        print_node(group->nodes.data[i], opf_node_kind(group->nodes.data[i]), "    ", out);
    opf_text_add(out, "  }\n");
}

static void print_type(const opf_value *value, opf_text *out) {
    opf_text type = {0};
    opf_value_print_type(value, &type);
    escaped(opf_text_string(&type), out);
    opf_text_free(&type);
}

static void print_port(const char *id, size_t index, const opf_value *value, const char *name, opf_text *out) {
    opf_text_printf(out, "  %s%zu [shape=ellipse, fillcolor=\"#ffffff\", label=\"", id, index);
    label(name, out);
    opf_text_add(out, "\\n");
    print_type(value, out);
    opf_text_add(out, "\"];\n");
}

/* A value that stays inside a group is drawn thin and grey: it is never stored. */
static void print_edge(const char *from, int from_number, const char *to, int to_number, const opf_value *value, bool stored, opf_text *out) {
    opf_text_printf(out, "  %s%d -> %s%d [label=\"", from, from_number, to, to_number);
    print_type(value, out);
    opf_text_printf(out, "\"%s];\n", stored ? "" : ", color=\"#9e9e9e\", fontcolor=\"#9e9e9e\", style=dashed");
}

typedef struct opf_drawing {
    const opf_graph *graph;
    const int *group_of; /* per node; NULL before fusion */
    opf_text *out;
} opf_drawing;

static void print_uses(const opf_drawing *drawing, const opf_value *value, const char *from, int from_number, int from_group) {
    for (size_t u = 0; u < value->uses.count; u++) {
        const opf_node *user = opf_node_within(value->uses.data[u].node, drawing->graph);
        bool stored = from_group < 0 || drawing->group_of[user->id] != from_group;
        print_edge(from, from_number, "n", user->id, value, stored, drawing->out);
    }
    for (size_t o = 0; o < drawing->graph->outputs.count; o++)
        if (drawing->graph->outputs.data[o] == value)
            print_edge(from, from_number, "o", (int)o, value, true, drawing->out);
}

static void print_edges(const opf_drawing *drawing) {
    const opf_graph *graph = drawing->graph;
    for (size_t i = 0; i < graph->inputs.count; i++)
        print_uses(drawing, graph->inputs.data[i], "i", (int)i, -1);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const opf_node *node = graph->nodes.data[i];
        for (int k = 0; k < node->n_outputs; k++)
            if (node->outputs[k])
                print_uses(drawing, node->outputs[k], "n", node->id, drawing->group_of ? drawing->group_of[node->id] : -1);
    }
}

static void print_title(const opf_graph *graph, const opf_fusion *fusion, opf_text *out) {
    opf_text_add(out, "digraph opfuse {\n  label=\"");
    escaped(graph->module->path ? graph->module->path : "", out);
    opf_text_printf(out, ": %zu nodes", graph->nodes.count);
    if (fusion) {
        int kernels = 0;
        for (size_t g = 0; g < fusion->groups.count; g++)
            kernels += fusion->groups.data[g]->step == OPF_STEP_KERNEL;
        opf_text_printf(out, " in %d kernels, policy %s", kernels, opf_policy_name(fusion->policy));
    }
    opf_text_add(out, "\"; labelloc=t; rankdir=TB; fontname=\"Helvetica\";\n"
                      "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=11, color=\"#616161\"];\n"
                      "  edge [fontname=\"Helvetica\", fontsize=9, color=\"#424242\"];\n");
}

static void print_dot(const opf_graph *graph, const opf_fusion *fusion, opf_text *out) {
    opf_drawing drawing = {.graph = graph, .out = out};
    print_title(graph, fusion, out);
    for (size_t i = 0; i < graph->inputs.count; i++)
        print_port("i", i, graph->inputs.data[i], graph->inputs.data[i]->name, out);
    for (size_t o = 0; o < graph->outputs.count; o++)
        print_port("o", o, graph->outputs.data[o], graph->output_names.data[o], out);
    if (fusion) {
        int *group_of = OPF_ARRAY(graph->module->arena, int, graph->nodes.count);
        for (size_t g = 0; g < fusion->groups.count; g++) {
            const opf_group *group = fusion->groups.data[g];
            for (size_t i = 0; i < group->nodes.count; i++)
                group_of[group->nodes.data[i]->id] = group->id;
            print_group(group, out);
        }
        drawing.group_of = group_of;
    } else {
        for (size_t i = 0; i < graph->nodes.count; i++)
            print_node(graph->nodes.data[i], opf_node_kind(graph->nodes.data[i]), "  ", out);
    }
    print_edges(&drawing);
    opf_text_add(out, "}\n");
}

opf_status opf_report_graph(const opf_graph *graph, const opf_fusion *fusion, const char *format, opf_text *out) {
    bool svg = strcmp(format, "svg") == 0;
    if (!svg && strcmp(format, "dot") != 0) {
        opf_diag_add(graph->module->diags, OPF_ERROR, "usage", OPF_NO_PLACE, "unknown picture format '%s': dot and svg are known", format);
        return OPF_ERROR_USAGE;
    }
    if (!svg) {
        print_dot(graph, fusion, out);
        return OPF_OK;
    }
    opf_text dot = {0};
    print_dot(graph, fusion, &dot);
    opf_status status = opf_layout(opf_text_string(&dot), "svg", out, OPF_ERROR, graph->module->diags);
    opf_text_free(&dot);
    return status;
}
