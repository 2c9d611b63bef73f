/* The fused model as an ONNX file: each group of several nodes as a model-local function.
 *
 * In the file every node waits for all that it reads; in opfuse's own order a folded node waits for nothing that runs. So a
 * group may hold both a node whose shape is asked for and one that uses it, with the folded nodes between outside: these join
 * the function. Where more than folded nodes stands between, as when two groups ask for shapes of each other's values, no
 * order of calls would do, and the smaller group is written as single nodes. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "api/pipeline.h"
#include "onnx/onnx.h"

enum { MOST_OPERATORS_IN_NAME = 5, NOWHERE = -1 };

typedef OPF_VEC(int) number_list;

typedef struct packing {
    const opf_fusion *fusion;
    const opf_graph *graph;
    opf_arena *arena;
    int n_nodes;
    int *owner;                /* per node: the group whose function it is in, or NOWHERE */
    number_list *members;      /* per group: the nodes of its function */
    number_list *next, *previous; /* per node: who reads its results, whose results it reads */
    bool *ahead, *behind;      /* per node, of the walk that runs now */
    int *stack;
} packing;

static void link_nodes(packing *p) {
    for (int i = 0; i < p->n_nodes; i++) {
        const opf_node *node = p->graph->nodes.data[i];
        for (int k = 0; k < node->n_outputs; k++)
            for (size_t u = 0; node->outputs[k] && u < node->outputs[k]->uses.count; u++) {
                int user = opf_node_within(node->outputs[k]->uses.data[u].node, p->graph)->id;
                OPF_PUSH(p->arena, &p->next[i], user);
                OPF_PUSH(p->arena, &p->previous[user], i);
            }
    }
}

/* ---- functions that need each other ---- */

/* Marks a node, and with it its whole function; returns the new height of the stack. */
static int mark(packing *p, bool *marks, int node, int height) {
    if (marks[node]) return height;
    if (p->owner[node] == NOWHERE) {
        marks[node] = true;
        p->stack[height++] = node;
        return height;
    }
    const number_list *members = &p->members[p->owner[node]];
    for (size_t m = 0; m < members->count; m++) {
        marks[members->data[m]] = true;
        p->stack[height++] = members->data[m];
    }
    return height;
}

/* Marks everything outside of the function that its nodes lead to by `links`. */
static void reach(packing *p, int function, const number_list *links, bool *marks) {
    memset(marks, 0, (size_t)p->n_nodes * sizeof *marks);
    int height = 0;
    for (size_t m = 0; m < p->members[function].count; m++) p->stack[height++] = p->members[function].data[m];
    while (height > 0) {
        const number_list *list = &links[p->stack[--height]];
        for (size_t k = 0; k < list->count; k++)
            if (p->owner[list->data[k]] != function) height = mark(p, marks, list->data[k], height);
    }
}

static void dissolve(packing *p, int function) {
    for (size_t m = 0; m < p->members[function].count; m++) p->owner[p->members[function].data[m]] = NOWHERE;
    p->members[function].count = 0;
}

static void take_in(packing *p, int function, int node) {
    p->owner[node] = function;
    OPF_PUSH(p->arena, &p->members[function], node);
}

static bool is_folded(const packing *p, int node) { return p->owner[node] == NOWHERE && opf_node_is_folded(p->graph->nodes.data[node]); }

/* Makes the function one that can be called: takes in the folded nodes between its own, or gives it up. True where it changed. */
static bool close_function(packing *p, int function) {
    bool between = false, only_folded = true;
    reach(p, function, p->next, p->ahead);
    reach(p, function, p->previous, p->behind);
    for (int i = 0; i < p->n_nodes; i++) {
        if (!p->ahead[i] || !p->behind[i]) continue;
        between = true;
        only_folded = only_folded && is_folded(p, i);
    }
    if (!between) return false;
    if (!only_folded) {
        const opf_group *group = p->fusion->groups.data[function];
        opf_diag_add(p->fusion->module->diags, OPF_NOTE, "write", opf_node_place(group->nodes.data[0]),
                     "group %d is written as single nodes: shapes that stand between its nodes are asked of values that other groups make", function);
        dissolve(p, function);
        return true;
    }
    for (int i = 0; i < p->n_nodes; i++)
        if (p->ahead[i] && p->behind[i]) take_in(p, function, i);
    return true;
}

static int smaller_first(const void *a, const void *b) {
    const opf_group *x = *(const opf_group *const *)a, *y = *(const opf_group *const *)b;
    if (x->nodes.count != y->nodes.count) return x->nodes.count < y->nodes.count ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void close_functions(packing *p, const opf_group **groups, size_t n) {
    qsort(groups, n, sizeof *groups, smaller_first);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t g = 0; g < n; g++)
            if (p->members[groups[g]->id].count && close_function(p, groups[g]->id)) changed = true;
    }
}

/* ---- functions ---- */

/* A function imports one version of each domain; inlined functions may have brought along another. */
static bool versions_agree(const opf_group *group) {
    for (size_t i = 1; i < group->nodes.count; i++)
        for (size_t k = 0; k < i; k++) {
            const opf_node *a = group->nodes.data[i], *b = group->nodes.data[k];
            if (strcmp(a->domain, b->domain) == 0 && a->opset != b->opset) return false;
        }
    return true;
}

/* "kernel_12_Conv_Relu": the number that `explain` prints, and the first operators. */
static const char *function_name(const opf_group *group, opf_arena *arena) {
    opf_text text = {0};
    opf_text_printf(&text, "%s_%d", opf_step_kind_name(group->step), group->id);
    for (size_t i = 0; i < group->nodes.count && i < MOST_OPERATORS_IN_NAME; i++) opf_text_printf(&text, "_%s", group->nodes.data[i]->op);
    if (group->nodes.count > MOST_OPERATORS_IN_NAME) opf_text_printf(&text, "_and_%zu_more", group->nodes.count - MOST_OPERATORS_IN_NAME);
    char *name = opf_arena_string(arena, opf_text_string(&text));
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c)) *c = '_';
    opf_text_free(&text);
    return name;
}

static opf_onnx_function function_of(const packing *p, const opf_group *group) {
    OPF_VEC(opf_node *) nodes = {0};
    for (int i = 0; i < p->n_nodes; i++)
        if (p->owner[i] == group->id) OPF_PUSH(p->arena, &nodes, p->graph->nodes.data[i]);
    return (opf_onnx_function){"opfuse.groups", function_name(group, p->arena), nodes.data, nodes.count};
}

static packing packing_of(const opf_fusion *fusion) {
    opf_arena *arena = fusion->module->arena;
    size_t n = fusion->graph->nodes.count;
    packing p = {
        .fusion = fusion, .graph = fusion->graph, .arena = arena, .n_nodes = (int)n,
        .owner = OPF_ARRAY(arena, int, n), .members = OPF_ARRAY(arena, number_list, fusion->groups.count), .next = OPF_ARRAY(arena, number_list, n), .previous = OPF_ARRAY(arena, number_list, n),
        .ahead = OPF_ARRAY(arena, bool, n), .behind = OPF_ARRAY(arena, bool, n), .stack = OPF_ARRAY(arena, int, n + 1),
    };
    for (size_t i = 0; i < n; i++) p.owner[i] = NOWHERE;
    link_nodes(&p);
    return p;
}

/* What a group computes again is written where it is at home: there the value leaves the function for the others. */
static bool is_at_home(const opf_group *group, const opf_node *node) {
    for (size_t c = 0; c < group->copied.count; c++)
        if (group->copied.data[c] == node) return false;
    return true;
}

static opf_status save_groups(const opf_fusion *fusion, const char *path) {
    packing p = packing_of(fusion);
    OPF_VEC(const opf_group *) groups = {0};
    OPF_VEC(opf_onnx_function) functions = {0};
    for (size_t g = 0; g < fusion->groups.count; g++) {
        const opf_group *group = fusion->groups.data[g];
        if (group->nodes.count < 2) continue;
        if (!versions_agree(group)) {
            opf_diag_add(fusion->module->diags, OPF_NOTE, "write", opf_node_place(group->nodes.data[0]),
                         "group %d is written as single nodes: it joins nodes of different operator versions, which one function cannot import", group->id);
            continue;
        }
        for (size_t i = 0; i < group->nodes.count; i++)
            if (is_at_home(group, group->nodes.data[i])) take_in(&p, group->id, group->nodes.data[i]->id);
        OPF_PUSH(p.arena, &groups, group);
    }
    close_functions(&p, groups.data, groups.count);
    for (size_t g = 0; g < groups.count; g++)
        if (p.members[groups.data[g]->id].count) OPF_PUSH(p.arena, &functions, function_of(&p, groups.data[g]));
    opf_text bytes = {0};
    opf_status status = opf_onnx_write(fusion->module, functions.data, functions.count, &bytes);
    if (status == OPF_OK) status = opf_file_write(path, opf_text_string(&bytes), bytes.length, fusion->module->diags);
    opf_text_free(&bytes);
    return status;
}

opf_status opf_model_save_fused(opf_model *model, const char *path) {
    opf_pipeline pipeline = {.model = model, .context = model->context, .policy = model->context->options.policy};
    opf_status status = opf_pipeline_run(&pipeline, OPF_TO_GROUPS);
    if (status == OPF_OK && !pipeline.stopped) status = save_groups(pipeline.fusion, path);
    opf_pipeline_free(&pipeline);
    return status;
}
