/* Which matches count. In order: higher priority first, then the pattern that was given first, then the place in the graph. A match is
 * overlapped where it shares a node with one that is taken already (patterns that forbid do not disturb each other), and refused
 * where its kernel could not be: a value between its nodes is needed outside, or something outside stands between them. */
#include <stdlib.h>
#include <string.h>

#include "pattern/internal.h"

typedef struct taking {
    opf_graph *graph;
    opf_arena *arena;
    size_t n;                /* nodes */
    opf_match **owner, **forbids; /* per node: the taken match that holds it */
    bool *seen;
    const opf_node **stack;
} taking;

bool opf_match_holds(const opf_match *match, const opf_node *node) {
    for (int k = 0; k < match->n_nodes; k++)
        if (match->nodes[k] == node) return true;
    return false;
}

/* ---- overlaps ---- */

static const char *overlap(const taking *t, const opf_match *match) {
    bool forbids = match->pattern->action == OPF_PATTERN_FORBID;
    for (int k = 0; k < match->n_nodes; k++) {
        int node = match->nodes[k]->id;
        const opf_match *other = t->owner[node] ? t->owner[node] : forbids ? NULL : t->forbids[node];
        if (!other) continue;
        const char *why = other->pattern->priority > match->pattern->priority ? "which has a higher priority" : other->pattern == match->pattern ? "which begins earlier in the graph" : "which is given first";
        return opf_arena_printf(t->arena, "'%s' belongs to a match of pattern '%s', %s", match->nodes[k]->name, other->pattern->name, why);
    }
    return NULL;
}

/* ---- values that are needed outside ---- */

static bool is_result(const opf_match *match, const opf_node *node, const opf_value *value) {
    const opf_pattern *pattern = match->pattern;
    for (size_t r = 0; r < pattern->results.count; r++) {
        if (pattern->chain && match->places[pattern->results.data[r]] == node) return true;
        if (!pattern->chain && match->bound[pattern->results.data[r]] == value) return true;
    }
    /* of a chain whose last steps are not there, the last that is */
    return pattern->chain && node == match->nodes[match->n_nodes - 1];
}

static const char *needed_outside(const taking *t, const opf_match *match) {
    for (int k = 0; k < match->n_nodes; k++) {
        const opf_node *node = match->nodes[k];
        for (int o = 0; o < node->n_outputs; o++) {
            const opf_value *value = node->outputs[o];
            if (!value || is_result(match, node, value)) continue;
            if (value->is_output) return opf_arena_printf(t->arena, "'%s', the result of '%s', is an output of the graph and no result of the pattern", value->name, node->name);
            for (size_t u = 0; u < value->uses.count; u++) {
                const opf_node *user = opf_node_within(value->uses.data[u].node, t->graph);
                if (!opf_match_holds(match, user)) return opf_arena_printf(t->arena, "'%s', the result of '%s', is needed outside, by '%s', and is no result of the pattern", value->name, node->name, user->name);
            }
        }
    }
    return NULL;
}

/* ---- ways that leave and come back ---- */

static void push(taking *t, const opf_node *node, size_t *height) {
    if (t->seen[node->id]) return;
    t->seen[node->id] = true;
    t->stack[(*height)++] = node;
}

/* The users of a node's results, and of those of all that are one kernel with them. */
static void push_users(taking *t, const opf_match *match, const opf_node *node, size_t *height) {
    for (int k = 0; k < node->n_outputs; k++)
        for (size_t u = 0; node->outputs[k] && u < node->outputs[k]->uses.count; u++) {
            const opf_node *user = opf_node_within(node->outputs[k]->uses.data[u].node, t->graph);
            const opf_match *kernel = t->owner[user->id];
            push(t, user, height);
            for (int j = 0; kernel && kernel != match && j < kernel->n_nodes; j++) push(t, kernel->nodes[j], height);
        }
}

static const char *comes_back(taking *t, const opf_match *match) {
    size_t height = 0;
    memset(t->seen, 0, t->n * sizeof *t->seen);
    for (int k = 0; k < match->n_nodes; k++)
        for (int o = 0; o < match->nodes[k]->n_outputs; o++)
            for (size_t u = 0; match->nodes[k]->outputs[o] && u < match->nodes[k]->outputs[o]->uses.count; u++) {
                const opf_node *user = opf_node_within(match->nodes[k]->outputs[o]->uses.data[u].node, t->graph);
                if (opf_match_holds(match, user)) continue;
                push(t, user, &height);
                for (int j = 0; t->owner[user->id] && j < t->owner[user->id]->n_nodes; j++) push(t, t->owner[user->id]->nodes[j], &height);
            }
    while (height > 0) {
        const opf_node *node = t->stack[--height];
        if (opf_match_holds(match, node)) continue;
        size_t before = height;
        push_users(t, match, node, &height);
        for (size_t k = before; k < height; k++)
            if (opf_match_holds(match, t->stack[k]))
                return opf_arena_printf(t->arena, "'%s' reads what the match computes, and '%s' of the match waits for '%s': the kernel would wait for itself", node->name, t->stack[k]->name, node->name);
    }
    return NULL;
}

/* ---- all matches of a graph ---- */

static void settle(taking *t, opf_match *match) {
    bool forbids = match->pattern->action == OPF_PATTERN_FORBID, binds = match->pattern->action == OPF_PATTERN_BIND;
    match->state = OPF_MATCH_OVERLAPPED;
    if ((match->reason = overlap(t, match))) return;
    match->state = OPF_MATCH_REFUSED;
    if (!forbids && ((match->reason = needed_outside(t, match)) || (match->reason = comes_back(t, match)))) return;
    if (binds && (match->reason = opf_match_bind(match))) return;
    match->state = OPF_MATCH_TAKEN;
    for (int k = 0; k < match->n_nodes; k++) {
        (forbids ? t->forbids : t->owner)[match->nodes[k]->id] = match;
        match->nodes[k]->held = match->nodes[k]->held || binds;
    }
}

static void take_graph(opf_matches *matches, opf_graph *graph) {
    opf_arena *arena = graph->module->arena;
    size_t n = graph->nodes.count;
    taking t = {graph, arena, n, OPF_ARRAY(arena, opf_match *, n + 1), OPF_ARRAY(arena, opf_match *, n + 1), OPF_ARRAY(arena, bool, n + 1), OPF_ARRAY(arena, const opf_node *, n + 1)};
    for (size_t k = 0; k < matches->list.count; k++)
        if (matches->list.data[k]->graph == graph) settle(&t, matches->list.data[k]);
}

/* Calls for the graph and for all graphs in its nodes. */
static void each_graph(opf_graph *graph, void (*visit)(void *data, opf_graph *graph), void *data) {
    visit(data, graph);
    for (size_t i = 0; i < graph->nodes.count; i++)
        for (int a = 0; a < graph->nodes.data[i]->n_attrs; a++) {
            const opf_attr *attr = &graph->nodes.data[i]->attrs[a];
            for (size_t g = 0; (attr->kind == OPF_ATTR_GRAPH || attr->kind == OPF_ATTR_GRAPHS) && g < attr->count; g++) each_graph(attr->graphs[g], visit, data);
        }
}

typedef struct search { opf_matches *matches; const opf_pattern *pattern; bool misses; } search;

static void visit_find(void *data, opf_graph *graph) {
    search *s = data;
    opf_graph_renumber(graph);
    opf_pattern_find(s->matches, s->pattern, graph, s->misses);
}

static void visit_take(void *data, opf_graph *graph) { take_graph(data, graph); }

/* Those of one priority stay in the order in which they were found. */
static int compare(const void *a, const void *b) {
    const opf_match *x = *(opf_match *const *)a, *y = *(opf_match *const *)b;
    int p = x->pattern->priority, q = y->pattern->priority;
    return p != q ? (p < q) - (p > q) : (x->found > y->found) - (x->found < y->found);
}

opf_matches *opf_patterns_match(const opf_patterns *patterns, opf_module *module, bool misses) {
    opf_matches *matches = OPF_NEW(module->arena, opf_matches);
    for (size_t p = 0; p < patterns->list.count; p++) each_graph(module->graph, visit_find, &(search){matches, patterns->list.data[p], misses});
    if (matches->list.count) qsort(matches->list.data, matches->list.count, sizeof *matches->list.data, compare);
    each_graph(module->graph, visit_take, matches);
    return matches;
}
