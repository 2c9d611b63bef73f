/* TVM's partition: three phases over the elements in order, each of which tries to fuse an element, with all that lies
 * between, into its immediate post-dominator. docs/fusion.md describes the rules. */
#include "fuse/partition.h"

#include "base/vec.h"

/* One set of the union-find forest; of use at representatives, apart from `kind` and `size`, which the algorithm also
 * asks of members ("element kind" and "element size"). */
typedef struct opf_set {
    int up;
    opf_kind kind;
    int size;
    bool anchor;
} opf_set;

typedef struct opf_partitioner {
    const opf_forward *graph;
    opf_postdom *tree;
    opf_set *sets;
    opf_rule_number *formed;
    opf_decision *decisions;
    int max_depth;
    const opf_rule_settings *settings;
    const opf_partition_filter *filter;
    int *stack;       /* of walks */
    int *seen;        /* generation in which an element was seen last */
    int generation;
    int phase;
    opf_arena *arena;
    OPF_VEC(opf_partition_trial) trials;
} opf_partitioner;

static int root_of(const opf_partitioner *p, int element) {
    int root = element;
    while (p->sets[root].up != root)
        root = p->sets[root].up;
    while (p->sets[element].up != root) {
        int up = p->sets[element].up;
        p->sets[element].up = root;
        element = up;
    }
    return root;
}

static opf_kind group_kind(const opf_partitioner *p, int element) { return p->sets[root_of(p, element)].kind; }

/* Walks. All of them visit what is reachable from `source` without passing `sink`, each element once; since the sink
 * post-dominates the source this is exactly what lies between. */

static int walk_begin(opf_partitioner *p, int source) {
    p->generation++;
    p->seen[source] = p->generation;
    p->stack[0] = source;
    return 1;
}

/* Pushes the unseen successors of `element` other than the sink; returns the stack's new height. */
static int walk_push(opf_partitioner *p, int element, int sink, int height) {
    for (int e = p->graph->first[element + 1] - 1; e >= p->graph->first[element]; e--) {
        int target = p->graph->targets[e];
        if (target != sink && p->seen[target] != p->generation) {
            p->seen[target] = p->generation;
            p->stack[height++] = target;
        }
    }
    return height;
}

/* Would the fusion make a group within the limit, as TVM counts it? Ends at the limit, which bounds all other walks too. */
static bool fits(opf_partitioner *p, int source, int sink) {
    int size = p->sets[root_of(p, sink)].size;
    for (int height = walk_begin(p, source); height > 0 && size <= p->max_depth;) {
        int element = p->stack[--height];
        size += p->sets[element].size;
        height = walk_push(p, element, sink, height);
    }
    return size <= p->max_depth;
}

/* The first element strictly between whose group's kind exceeds `most`; -1: none. */
static int path_blocker(opf_partitioner *p, int source, int sink, opf_kind most) {
    for (int height = walk_begin(p, source); height > 0;) {
        int element = p->stack[--height];
        if (element != source && group_kind(p, element) > most)
            return element;
        height = walk_push(p, element, sink, height);
    }
    return -1;
}

/* The target of the first edge between source and sink whose kind exceeds `most`. */
static int edge_blocker(opf_partitioner *p, int source, int sink, opf_kind most, opf_kind *met) {
    for (int height = walk_begin(p, source); height > 0;) {
        int element = p->stack[--height];
        for (int e = p->graph->first[element]; e < p->graph->first[element + 1]; e++)
            if (p->graph->edge_kinds[e] > most) {
                *met = p->graph->edge_kinds[e];
                return p->graph->targets[e];
            }
        height = walk_push(p, element, sink, height);
    }
    return -1;
}

static void merge(opf_partitioner *p, int child, int parent) {
    child = root_of(p, child);
    parent = root_of(p, parent);
    if (child == parent)
        return;
    opf_set *from = &p->sets[child], *into = &p->sets[parent];
    into->size += from->size;
    from->up = parent;
    if (from->anchor) {
        into->anchor = true;
        if (from->kind > into->kind)
            into->kind = from->kind;
    }
}

static void fuse(opf_partitioner *p, int source, int sink, opf_rule_number rule) {
    OPF_VEC(int) elements = {0};
    for (int height = walk_begin(p, source); height > 0;) {
        int element = p->stack[--height];
        OPF_PUSH(p->arena, &elements, element);
        height = walk_push(p, element, sink, height);
        if (opf_rules[p->decisions[element].rule].verdict != OPF_FUSED)
            p->decisions[element] = (opf_decision){.rule = rule, .source = source, .sink = sink, .blocker = -1};
        merge(p, element, sink);
    }
    opf_decision made = {.rule = rule, .source = source, .sink = sink, .blocker = -1};
    OPF_PUSH(p->arena, &p->trials, (opf_partition_trial){p->phase, made, elements.data, (int)elements.count});
    opf_rule_number *formed = &p->formed[root_of(p, sink)];
    if (*formed == OPF_RULE_SINGLE || rule == OPF_RULE_ANCHOR_EPILOGUE)
        *formed = rule;
}

static void refuse(opf_partitioner *p, int element, opf_rule_number rule, int blocker, opf_kind met) {
    p->decisions[element] = (opf_decision){.rule = rule, .source = element, .sink = p->tree[element].parent, .blocker = blocker, .met = met};
    OPF_PUSH(p->arena, &p->trials, (opf_partition_trial){p->phase, p->decisions[element], NULL, 0});
}

/* Asks the filter about the group that the fusion would make. */
static bool is_allowed(opf_partitioner *p, int source, int sink) {
    if (!p->filter)
        return true;
    int n = 0, *elements = OPF_ARRAY(p->arena, int, p->graph->count + 1);
    bool *roots = OPF_ARRAY(p->arena, bool, p->graph->count + 1);
    roots[root_of(p, sink)] = true;
    for (int height = walk_begin(p, source); height > 0;) {
        int element = p->stack[--height];
        roots[root_of(p, element)] = true;
        height = walk_push(p, element, sink, height);
    }
    for (int e = 0; e < p->graph->count; e++)
        if (roots[root_of(p, e)])
            elements[n++] = e;
    return p->filter->allows(p->filter->data, elements, n);
}

/* Fuses where every element between has a group kind of at most `between` and the sink one of at most `last`. */
static void try_path(opf_partitioner *p, int element, opf_kind between, opf_kind last, opf_rule_number rule,
                     opf_rule_number bad_path, opf_rule_number bad_sink) {
    int sink = p->tree[element].parent;
    opf_kind met = group_kind(p, sink);
    if (met > last) {
        refuse(p, element, bad_sink, sink, met);
        return;
    }
    int blocker = path_blocker(p, element, sink, between);
    if (blocker >= 0) {
        refuse(p, element, bad_path, blocker, group_kind(p, blocker));
    } else if (!is_allowed(p, element, sink)) {
        refuse(p, element, OPF_RULE_SINGLE, -1, met);
    } else if (opf_rule_is_off(p->settings, rule)) {
        refuse(p, element, OPF_RULE_SWITCHED_OFF, -1, met);
        p->decisions[element].off = rule;
    } else {
        fuse(p, element, sink, rule);
    }
}

static void try_anchor(opf_partitioner *p, int element) {
    if (p->tree[element].worst != OPF_KIND_ELEMWISE) {
        opf_kind met = OPF_KIND_OPAQUE;
        int blocker = edge_blocker(p, element, p->tree[element].parent, OPF_KIND_ELEMWISE, &met);
        refuse(p, element, OPF_RULE_ANCHOR_EDGE, blocker, met);
        return;
    }
    try_path(p, element, OPF_KIND_BROADCAST, OPF_KIND_BROADCAST, OPF_RULE_ANCHOR_EPILOGUE, OPF_RULE_ANCHOR_PATH, OPF_RULE_ANCHOR_SINK);
}

static void try_elemwise(opf_partitioner *p, int element) {
    int sink = p->tree[element].parent;
    if (p->tree[element].worst > OPF_KIND_COMM_REDUCE) {
        opf_kind met = OPF_KIND_OPAQUE;
        int blocker = edge_blocker(p, element, sink, OPF_KIND_COMM_REDUCE, &met);
        opf_rule_number rule = met == OPF_KIND_OPAQUE ? OPF_RULE_OPAQUE_CONSUMER
                             : blocker == sink        ? OPF_RULE_BEFORE_ANCHOR
                                                      : OPF_RULE_ANCHOR_BETWEEN;
        refuse(p, element, rule, blocker, met);
        return;
    }
    try_path(p, element, OPF_KIND_INJECTIVE, OPF_KIND_OUT_ELEMWISE_FUSABLE, OPF_RULE_ELEMWISE, OPF_RULE_ELEMWISE_PATH, OPF_RULE_OPAQUE_CONSUMER);
}

static void try_injective(opf_partitioner *p, int element) {
    try_path(p, element, OPF_KIND_INJECTIVE, OPF_KIND_INJECTIVE, OPF_RULE_INJECTIVE, OPF_RULE_INJECTIVE_PATH, OPF_RULE_INJECTIVE_SINK);
}

/* Which phases try an element of a kind as a source, and how. Reductions and opaque elements are never one. */
static const struct {
    opf_kind kind;
    bool phases[2];
    void (*attempt)(opf_partitioner *p, int element);
} sources[] = {
    {OPF_KIND_OUT_ELEMWISE_FUSABLE, {true, false}, try_anchor},
    {OPF_KIND_ELEMWISE, {true, true}, try_elemwise},
    {OPF_KIND_BROADCAST, {true, true}, try_elemwise},
    {OPF_KIND_INJECTIVE, {false, true}, try_injective}, /* waits until anchors have taken their epilogues */
};

static void visit(opf_partitioner *p, int element, int phase) {
    int sink = p->tree[element].parent;
    opf_kind kind = p->sets[element].kind;
    if (sink < 0 || root_of(p, element) == root_of(p, sink))
        return;
    for (size_t s = 0; s < OPF_COUNT(sources); s++) {
        if (sources[s].kind != kind || !sources[s].phases[phase])
            continue;
        if (fits(p, element, sink))
            sources[s].attempt(p, element);
        else
            refuse(p, element, OPF_RULE_DEPTH, sink, group_kind(p, sink));
    }
}

/* The verdict on elements that no phase tries. */
static opf_decision first_decision(const opf_forward *graph, const opf_postdom *tree, int element) {
    opf_rule_number rule = graph->kinds[element] == OPF_KIND_OPAQUE        ? OPF_RULE_OPAQUE_PRODUCER
                         : graph->leaves[element]                          ? OPF_RULE_MODEL_OUTPUT
                         : graph->kinds[element] == OPF_KIND_COMM_REDUCE   ? OPF_RULE_REDUCTION_ENDS
                                                                           : OPF_RULE_NO_MEETING;
    return (opf_decision){.rule = rule, .source = element, .sink = tree[element].parent, .blocker = -1};
}

opf_partition opf_partition_make(const opf_forward *graph, int max_depth, const opf_rule_settings *settings, const opf_partition_filter *filter, opf_arena *arena) {
    int n = graph->count;
    opf_partitioner p = {
        .graph = graph,
        .tree = opf_postdom_tree(graph, arena),
        .sets = OPF_ARRAY(arena, opf_set, n),
        .formed = OPF_ARRAY(arena, opf_rule_number, n),
        .decisions = OPF_ARRAY(arena, opf_decision, n),
        .max_depth = max_depth,
        .settings = settings,
        .filter = filter,
        .stack = OPF_ARRAY(arena, int, n + 1),
        .seen = OPF_ARRAY(arena, int, n),
        .arena = arena,
    };
    for (int i = 0; i < n; i++) {
        p.sets[i] = (opf_set){i, graph->kinds[i], 1, graph->kinds[i] == OPF_KIND_OUT_ELEMWISE_FUSABLE};
        p.decisions[i] = first_decision(graph, p.tree, i);
    }
    for (p.phase = 0; p.phase < 2; p.phase++)
        for (int i = 0; i < n; i++)
            visit(&p, i, p.phase);

    opf_partition result = {p.tree, OPF_ARRAY(arena, int, n), OPF_ARRAY(arena, opf_kind, n), p.formed, p.decisions, {0}};
    result.trials.data = p.trials.data;
    result.trials.count = p.trials.count;
    for (int i = 0; i < n; i++) {
        result.root[i] = root_of(&p, i);
        result.kind[i] = p.sets[i].kind;
    }
    return result;
}
