/* Topological order: Kahn's algorithm with a heap on the present position, so that a sorted graph keeps its order and
 * any other gets the one nearest to the file's. A node depends on what its sub-graphs capture, too. */
#include "ir/graph.h"

typedef struct sorter {
    opf_graph *graph;
    opf_arena *arena;  /* scratch */
    int *waiting;      /* per node: inputs whose producers are not placed yet */
    int *heap;         /* positions of ready nodes, smallest first */
    int heap_count;
} sorter;

static void heap_push(sorter *s, int position) {
    int at = s->heap_count++;
    for (int up; at > 0 && s->heap[up = (at - 1) / 2] > position; at = up) s->heap[at] = s->heap[up];
    s->heap[at] = position;
}

static int heap_pop(sorter *s) {
    int top = s->heap[0], moved = s->heap[--s->heap_count], at = 0;
    for (int child; (child = 2 * at + 1) < s->heap_count; at = child) {
        if (child + 1 < s->heap_count && s->heap[child + 1] < s->heap[child]) child++;
        if (s->heap[child] >= moved) break;
        s->heap[at] = s->heap[child];
    }
    s->heap[at] = moved;
    return top;
}

typedef void visitor(sorter *s, opf_node *user, int producer);

/* Calls `visit` for each use of the node's results, with the node of this graph where the use is or is held. */
static void each_user(sorter *s, opf_node *node, visitor *visit, int producer) {
    for (int k = 0; k < node->n_outputs; k++) {
        const opf_value *value = node->outputs[k];
        for (size_t u = 0; value && u < value->uses.count; u++) {
            opf_node *user = opf_node_within(value->uses.data[u].node, s->graph);
            if (user) visit(s, user, producer);
        }
    }
}

static void count_waiting(sorter *s, opf_node *user, int producer) {
    (void)producer;
    s->waiting[user->id]++;
}

static void release(sorter *s, opf_node *user, int producer) {
    (void)producer;
    if (--s->waiting[user->id] == 0) heap_push(s, user->id);
}

/* For the report: some producer of each node that was never placed. `waiting` is free for it then: -1 none. */
static void remember_producer(sorter *s, opf_node *user, int producer) { s->waiting[user->id] = producer; }

static opf_status report_cycle(sorter *s, const bool *placed) {
    opf_graph *graph = s->graph;
    int count = (int)graph->nodes.count, at = -1;
    for (int i = 0; i < count; i++) s->waiting[i] = -1;
    for (int i = 0; i < count; i++) {
        if (placed[i]) continue;
        at = i;
        each_user(s, graph->nodes.data[i], remember_producer, i);
    }
    /* Every node left waits for another one left: walking back ends in a cycle. */
    bool *seen = OPF_ARRAY(s->arena, bool, count);
    while (!seen[at]) {
        seen[at] = true;
        at = s->waiting[at];
    }
    int *cycle = OPF_ARRAY(s->arena, int, count);
    int size = 0, first = 0;
    for (int start = at; size == 0 || at != start; at = s->waiting[at]) {
        cycle[size++] = at;
        if (cycle[size - 1] < cycle[first]) first = size - 1;
    }
    const opf_node *start = graph->nodes.data[cycle[first]];
    opf_diags *diags = graph->module->diags;
    opf_diag *diag = opf_diag_add(diags, OPF_ERROR, "graph", opf_node_place(start),
                                  "the node needs its own result, through a cycle of %d node%s", size, size == 1 ? "" : "s");
    enum { SHOWN = 12 };
    for (int i = 0; i < size && i < SHOWN; i++) {
        const opf_node *node = graph->nodes.data[cycle[(first + size - i) % size]]; /* the walk went backwards */
        opf_diag_detail(diags, diag, "'%s' (%s) feeds%s", node->name, node->op, i + 1 == size ? " the first" : "");
    }
    if (size > SHOWN) opf_diag_detail(diags, diag, "… %d more", size - SHOWN);
    opf_diag_hint(diags, diag, "an ONNX graph has no cycles; recurrences are written with Loop or Scan");
    return OPF_ERROR_INPUT;
}

static opf_status sort_nodes(opf_graph *graph) {
    int count = (int)graph->nodes.count, n_placed = 0;
    opf_arena *arena = opf_arena_new();
    sorter s = {graph, arena, OPF_ARRAY(arena, int, count), OPF_ARRAY(arena, int, count), 0};
    bool *placed = OPF_ARRAY(arena, bool, count);
    opf_node **order = OPF_ARRAY(arena, opf_node *, count);
    opf_graph_renumber(graph);
    for (int i = 0; i < count; i++) each_user(&s, graph->nodes.data[i], count_waiting, i);
    for (int i = 0; i < count; i++)
        if (s.waiting[i] == 0) heap_push(&s, i);
    while (s.heap_count) {
        int i = heap_pop(&s);
        placed[i] = true;
        order[n_placed++] = graph->nodes.data[i];
        each_user(&s, graph->nodes.data[i], release, i);
    }
    opf_status status = OPF_OK;
    if (n_placed < count) status = report_cycle(&s, placed);
    else
        for (int i = 0; i < count; i++) graph->nodes.data[i] = order[i];
    opf_graph_renumber(graph);
    opf_arena_free(arena);
    return status;
}

opf_status opf_graph_sort(opf_graph *graph) {
    opf_status status = sort_nodes(graph);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const opf_node *node = graph->nodes.data[i];
        for (int a = 0; a < node->n_attrs; a++) {
            const opf_attr *attr = &node->attrs[a];
            if (attr->kind != OPF_ATTR_GRAPH && attr->kind != OPF_ATTR_GRAPHS) continue;
            for (size_t k = 0; k < attr->count; k++) {
                opf_status inner = opf_graph_sort(attr->graphs[k]);
                if (inner != OPF_OK) status = inner;
            }
        }
    }
    return status;
}
