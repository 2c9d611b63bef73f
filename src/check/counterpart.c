/* Values of the compiled graph and of the graph as read. */
#include "check/counterpart.h"

#include <ctype.h>
#include <string.h>

#include "ops/control.h"

static void collect(opf_counterparts *c, const opf_graph *graph, opf_arena *arena) {
    OPF_PUSH(arena, &c->graphs, graph);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const opf_control *control = graph->nodes.data[i]->control;
        for (int k = 0; control && k < opf_control_graphs(control); k++) collect(c, control->graphs[k], arena);
    }
}

opf_counterparts *opf_counterparts_new(const opf_graph *read, const opf_eval *eval, opf_arena *arena) {
    opf_counterparts *c = OPF_NEW(arena, opf_counterparts);
    c->read = read;
    c->eval = eval;
    collect(c, read, arena);
    return c;
}

const opf_graph *opf_counterpart_graph(const opf_counterparts *c, const opf_graph *compiled) {
    for (size_t i = 0; i < c->graphs.count; i++)
        if (strcmp(c->graphs.data[i]->path, compiled->path) == 0) return c->graphs.data[i];
    return NULL;
}

static bool same_type(const opf_value *a, const opf_value *b) { return a->kind == b->kind && a->dtype == b->dtype && a->rank == b->rank; }

/* NAME, or NAME_K where that was taken. */
static bool renamed_from(const char *made, const char *name) {
    size_t length = strlen(name);
    if (strncmp(made, name, length) != 0) return false;
    const char *rest = made + length;
    if (!*rest) return true;
    if (*rest++ != '_' || !*rest) return false;
    while (isdigit((unsigned char)*rest)) rest++;
    return !*rest;
}

static bool is_inside(const opf_graph *graph, const opf_graph *outer) {
    while (graph && graph != outer) graph = graph->parent ? graph->parent->graph : NULL;
    return graph != NULL;
}

/* Is `inner` what always runs of an If of `graph`, or of such a branch? A pass has put its nodes in the place of the If. */
static bool is_part(const opf_graph *inner, const opf_graph *graph) {
    while (inner != graph) {
        const opf_control *control = inner->parent ? inner->parent->control : NULL;
        if (!control || control->kind != OPF_CONTROL_IF || control->taken < 0 || control->graphs[control->taken] != inner) return false;
        inner = inner->parent->graph;
    }
    return true;
}

/* The only value of branches that are part of `graph` now that it can be, by what computes it. */
static const opf_value *moved_in(const opf_counterparts *c, const opf_value *compiled, const opf_graph *graph) {
    const opf_value *found = NULL;
    if (!compiled->producer || !compiled->producer->n_origins) return NULL;
    for (size_t i = 0; i < c->graphs.count; i++) {
        const opf_graph *inner = c->graphs.data[i];
        if (inner == graph || !is_part(inner, graph)) continue;
        for (size_t k = 0; k < inner->values.count; k++) {
            const opf_value *value = inner->values.data[k];
            if (!value->producer || strcmp(value->producer->name, compiled->producer->origins[0]) != 0 || !renamed_from(compiled->name, value->name) || !same_type(value, compiled)) continue;
            if (found) return NULL;
            found = value;
        }
    }
    return found;
}

const opf_value *opf_counterpart_value(const opf_counterparts *c, const opf_value *compiled) {
    const opf_graph *graph = opf_counterpart_graph(c, compiled->graph);
    const opf_value *read = graph ? opf_value_find(graph, compiled->name) : NULL;
    if (read && same_type(read, compiled)) return read;
    return graph ? moved_in(c, compiled, graph) : NULL;
}

const opf_tensor *opf_counterpart_tensor(const opf_counterparts *c, const opf_value *compiled, const opf_graph *graph, int64_t run) {
    const opf_value *read = opf_counterpart_value(c, compiled);
    if (!read || !graph) return NULL;
    while (graph != read->graph && is_inside(graph, read->graph)) { /* a value of a graph around it */
        run = opf_eval_run_around(c->eval, graph, run);
        graph = graph->parent->graph;
    }
    return opf_eval_value_in(c->eval, read, run); /* of a branch that always runs: as often as the graph around it */
}
