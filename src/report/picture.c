/* Pictures of graphs as data. Boxes and lines are collected, Graphviz gives them their places. */
#include "report/picture.h"

#include <stdlib.h>
#include <string.h>

#include "fuse/explain_json.h"
#include "report/layout.h"

/* Text is drawn by the page; these are the widths of its letters in pixels. */
enum { LONGEST_LABEL = 30, LONGEST_LINE = 28, MOST_LINES = 6, LINE_HEIGHT = 15, PADDING = 18, PER_INCH = 72 };
static const double letter_of_op = 7.4, letter_of_name = 6.0;

typedef struct opf_box { json_t *json; double width, height; } opf_box;
typedef struct opf_line { int from, to; json_t *json; bool placed; } opf_line;

typedef struct opf_sketch {
    opf_arena *arena;
    OPF_VEC(opf_box) boxes;
    OPF_VEC(opf_line) lines;
} opf_sketch;

/* ---- boxes and lines ---- */

/* The end of a long name says more than its beginning. */
static const char *label_of(const char *name, opf_arena *arena) {
    size_t length = strlen(name);
    if (length <= LONGEST_LABEL)
        return name;
    const char *end = name + length - LONGEST_LABEL;
    while (((unsigned char)*end & 0xC0) == 0x80)
        end++;
    return opf_arena_printf(arena, "…%s", end);
}

static double wider(double a, double b) { return a > b ? a : b; }

static json_t *type_of(const opf_value *value) {
    opf_text text = {0};
    opf_value_print_type(value, &text);
    json_t *json = opf_json_text(opf_text_string(&text));
    opf_text_free(&text);
    return json;
}

static int add_box(opf_sketch *sketch, json_t *json, double letters, int lines) {
    OPF_PUSH(sketch->arena, &sketch->boxes, (opf_box){json, letters + PADDING, lines * LINE_HEIGHT + 10});
    return (int)sketch->boxes.count - 1;
}

static int add_port(opf_sketch *sketch, const char *kind, const char *name, const opf_value *value) {
    const char *label = label_of(name, sketch->arena);
    json_t *json = json_pack("{s:s,s:o,s:o,s:o}", "kind", kind, "name", opf_json_text(name), "label", opf_json_text(label), "type", type_of(value));
    const char *type = json_string_value(json_object_get(json, "type"));
    return add_box(sketch, json, wider((double)strlen(label) * letter_of_op, (double)strlen(type) * letter_of_name), 2);
}

static void add_line(opf_sketch *sketch, int from, int to, const opf_value *value) {
    json_t *json = json_pack("{s:i,s:i,s:o,s:o,s:I}", "from", from, "to", to, "value", opf_json_text(value->name), "type", type_of(value),
                             "bytes", (json_int_t)opf_value_nominal_bytes(value));
    OPF_PUSH(sketch->arena, &sketch->lines, (opf_line){from, to, json, false});
}

/* ---- places ---- */

static int by_ends(const void *a, const void *b) {
    const opf_line *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

/* The next line between the two boxes that has no place yet: several are drawn side by side, whichever comes first. */
static opf_line *line_between(opf_sketch *sketch, int from, int to) {
    size_t low = 0, high = sketch->lines.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (by_ends(&sketch->lines.data[middle], &(opf_line){.from = from, .to = to}) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    while (low < sketch->lines.count && sketch->lines.data[low].placed)
        low++;
    opf_line *line = low < sketch->lines.count ? &sketch->lines.data[low] : NULL;
    return line && line->from == from && line->to == to ? line : NULL;
}

/* Words of one line of Graphviz's plain form; quoted ones do not occur before what is read here. */
static double next_number(char **at) { return strtod(*at, at) * PER_INCH; }

static int next_box(char **at) {
    *at += strspn(*at, " ");
    *at += **at == 'b';
    return (int)strtol(*at, at, 10);
}

static void place_box(opf_sketch *sketch, char *at, double height) {
    int box = next_box(&at);
    if (box < 0 || (size_t)box >= sketch->boxes.count)
        return;
    json_t *json = sketch->boxes.data[box].json;
    json_object_set_new(json, "x", json_real(next_number(&at)));
    json_object_set_new(json, "y", json_real(height - next_number(&at)));
}

static void place_line(opf_sketch *sketch, char *at, double height) {
    int from = next_box(&at), to = next_box(&at);
    opf_line *line = line_between(sketch, from, to);
    if (!line)
        return;
    line->placed = true;
    json_t *points = json_array();
    for (long n = strtol(at, &at, 10); n > 0; n--) {
        json_array_append_new(points, json_real(next_number(&at)));
        json_array_append_new(points, json_real(height - next_number(&at)));
    }
    json_object_set_new(line->json, "points", points);
}

/* graph SCALE WIDTH HEIGHT / node NAME X Y … / edge TAIL HEAD N X1 Y1 … */
static void place(opf_sketch *sketch, json_t *picture, char *plain) {
    double height = 0;
    for (char *line = plain, *end; *line; line = end) {
        end = line + strcspn(line, "\n");
        if (*end)
            *end++ = '\0';
        char *at = line + strcspn(line, " ");
        if (strncmp(line, "graph ", 6) == 0) {
            strtod(at, &at);
            json_object_set_new(picture, "width", json_real(next_number(&at)));
            height = next_number(&at);
            json_object_set_new(picture, "height", json_real(height));
        } else if (strncmp(line, "node ", 5) == 0) {
            place_box(sketch, at, height);
        } else if (strncmp(line, "edge ", 5) == 0) {
            place_line(sketch, at, height);
        }
    }
}

static void print_dot(const opf_sketch *sketch, opf_text *out) {
    opf_text_add(out, "digraph g { ranksep=0.32; nodesep=0.22; node [shape=box, fixedsize=true, label=\"\"]; edge [arrowhead=none];\n");
    for (size_t b = 0; b < sketch->boxes.count; b++)
        opf_text_printf(out, "b%zu [width=%.3f, height=%.3f];\n", b, sketch->boxes.data[b].width / PER_INCH, sketch->boxes.data[b].height / PER_INCH);
    for (size_t l = 0; l < sketch->lines.count; l++)
        opf_text_printf(out, "b%d -> b%d;\n", sketch->lines.data[l].from, sketch->lines.data[l].to);
    opf_text_add(out, "}\n");
}

static json_t *finish(opf_sketch *sketch, bool *laid_out, opf_diags *diags) {
    json_t *picture = json_object(), *boxes = json_array(), *lines = json_array();
    opf_text dot = {0}, plain = {0};
    if (sketch->lines.count > 1)
        qsort(sketch->lines.data, sketch->lines.count, sizeof *sketch->lines.data, by_ends);
    print_dot(sketch, &dot);
    *laid_out = opf_layout(opf_text_string(&dot), "plain", &plain, OPF_NOTE, diags) == OPF_OK;
    if (*laid_out && plain.length > 0)
        place(sketch, picture, plain.data);
    for (size_t b = 0; b < sketch->boxes.count; b++) {
        json_object_set_new(sketch->boxes.data[b].json, "w", json_real(sketch->boxes.data[b].width));
        json_object_set_new(sketch->boxes.data[b].json, "h", json_real(sketch->boxes.data[b].height));
        json_array_append_new(boxes, sketch->boxes.data[b].json);
    }
    for (size_t l = 0; l < sketch->lines.count; l++)
        json_array_append_new(lines, sketch->lines.data[l].json);
    json_object_set_new(picture, "boxes", boxes);
    json_object_set_new(picture, "lines", lines);
    opf_text_free(&dot);
    opf_text_free(&plain);
    opf_arena_free(sketch->arena);
    return picture;
}

/* ---- what is drawn ---- */

/* `box_of` gives the box of a node, -1 for none. */
typedef struct opf_drawn {
    opf_sketch sketch;
    const opf_graph *graph;
    int *box_of;   /* per node */
    int *outputs;  /* per output of the graph */
} opf_drawn;

static void draw_uses(opf_drawn *drawn, int from, const opf_value *value) {
    OPF_VEC(int) done = {0};
    for (size_t u = 0; u < value->uses.count; u++) {
        int to = drawn->box_of[opf_node_within(value->uses.data[u].node, drawn->graph)->id];
        bool again = to < 0 || to == from;
        for (size_t d = 0; d < done.count && !again; d++)
            again = done.data[d] == to;
        if (again)
            continue;
        OPF_PUSH(drawn->sketch.arena, &done, to);
        add_line(&drawn->sketch, from, to, value);
    }
    for (size_t o = 0; o < drawn->graph->outputs.count; o++)
        if (drawn->graph->outputs.data[o] == value)
            add_line(&drawn->sketch, from, drawn->outputs[o], value);
}

/* Ports and lines around the boxes of the nodes. */
static json_t *draw(opf_drawn *drawn, bool *laid_out) {
    const opf_graph *graph = drawn->graph;
    opf_arena *arena = drawn->sketch.arena;
    int *inputs = OPF_ARRAY(arena, int, graph->inputs.count + 1);
    drawn->outputs = OPF_ARRAY(arena, int, graph->outputs.count + 1);
    for (size_t i = 0; i < graph->inputs.count; i++)
        inputs[i] = add_port(&drawn->sketch, "input", graph->inputs.data[i]->name, graph->inputs.data[i]);
    for (size_t o = 0; o < graph->outputs.count; o++)
        drawn->outputs[o] = add_port(&drawn->sketch, "output", graph->output_names.data[o], graph->outputs.data[o]);
    for (size_t i = 0; i < graph->inputs.count; i++)
        draw_uses(drawn, inputs[i], graph->inputs.data[i]);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const opf_node *node = graph->nodes.data[i];
        for (int k = 0; k < node->n_outputs; k++)
            if (node->outputs[k] && drawn->box_of[node->id] >= 0)
                draw_uses(drawn, drawn->box_of[node->id], node->outputs[k]);
    }
    return finish(&drawn->sketch, laid_out, graph->module->diags);
}

static opf_drawn begin(const opf_graph *graph) {
    opf_arena *arena = opf_arena_new();
    return (opf_drawn){.sketch = {.arena = arena}, .graph = graph, .box_of = OPF_ARRAY(arena, int, graph->nodes.count + 1)};
}

json_t *opf_picture_of_nodes(const opf_graph *graph, bool *laid_out) {
    opf_drawn drawn = begin(graph);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const opf_node *node = graph->nodes.data[i];
        const char *label = label_of(node->name, drawn.sketch.arena);
        json_t *json = json_pack("{s:s,s:o,s:o,s:o,s:s}", "kind", "node", "name", opf_json_text(node->name), "label", opf_json_text(label),
                                 "op", opf_json_text(node->op), "pattern", opf_kind_name(opf_node_kind(node)));
        drawn.box_of[i] = add_box(&drawn.sketch, json, wider((double)strlen(node->op) * letter_of_op, (double)strlen(label) * letter_of_name), 2);
    }
    return draw(&drawn, laid_out);
}

/* The operators of a group in lines of bounded length. */
static json_t *operator_lines(const opf_group *group, size_t *longest) {
    json_t *lines = json_array();
    opf_text line = {0};
    size_t i = 0;
    for (; i < group->nodes.count && json_array_size(lines) < MOST_LINES; i++) {
        const char *op = group->nodes.data[i]->op;
        if (line.length > 0 && line.length + strlen(op) + 3 > LONGEST_LINE) {
            *longest = line.length > *longest ? line.length : *longest;
            json_array_append_new(lines, opf_json_text(opf_text_string(&line)));
            opf_text_clear(&line);
        }
        opf_text_printf(&line, "%s%s", line.length > 0 ? " + " : "", op);
    }
    if (i < group->nodes.count) {
        opf_text_clear(&line);
        opf_text_printf(&line, "and %zu more", group->nodes.count - i + 1);
    }
    *longest = line.length > *longest ? line.length : *longest;
    json_array_append_new(lines, opf_json_text(opf_text_string(&line)));
    opf_text_free(&line);
    return lines;
}

json_t *opf_picture_of_groups(const opf_fusion *fusion, int first_id, bool *laid_out) {
    opf_drawn drawn = begin(fusion->graph);
    for (size_t g = 0; g < fusion->groups.count; g++) {
        const opf_group *group = fusion->groups.data[g];
        int box = -1;
        if (group->step != OPF_STEP_FOLDED) {
            size_t longest = 10;
            json_t *lines = operator_lines(group, &longest);
            int n_lines = (int)json_array_size(lines);
            json_t *json = json_pack("{s:s,s:i,s:s,s:o}", "kind", "group", "id", first_id + group->id, "step", opf_step_kind_name(group->step), "lines", lines);
            box = add_box(&drawn.sketch, json, (double)longest * letter_of_op, n_lines + (group->step != OPF_STEP_VIEW));
        }
        for (size_t i = 0; i < group->nodes.count; i++)
            drawn.box_of[group->nodes.data[i]->id] = box;
    }
    return draw(&drawn, laid_out);
}
