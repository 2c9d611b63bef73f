/* Policy tvm: the graph's nodes as elements of the indexed forward graph, TVM's partition, and its result in terms of
 * nodes. Graph inputs and constants are left out: TVM holds them as opaque elements without in-edges, which change
 * nothing. Folded nodes are left out too: their values are like constants, and they read nothing when the program runs. */
#include "fuse/matched.h"
#include "fuse/partition.h"

typedef struct opf_elements {
    int count;
    opf_fuser *fuser;
    int *of_node;      /* per node: its element, -1 for folded nodes */
    opf_node **owners; /* per element; selectors belong to the node whose result they select */
    opf_kind *kinds;
    bool *leaves;
    OPF_VEC(opf_forward_edge) edges;
} opf_elements;

static int n_results(const opf_node *node) {
    int count = 0;
    for (int k = 0; k < node->n_outputs; k++)
        count += node->outputs[k] != NULL;
    return count;
}

static bool is_used(const opf_value *value) { return value->uses.count > 0 || value->is_output; }

static int add_element(opf_elements *elements, opf_node *owner, opf_kind kind) {
    elements->owners[elements->count] = owner;
    elements->kinds[elements->count] = kind;
    return elements->count++;
}

/* The node's element, and a selector for each used result where there is more than one result. selectors[k]: the
 * element that carries output k. */
static void add_node(opf_fuser *fuser, opf_elements *elements, opf_node *node, int **selectors) {
    int element = add_element(elements, node, fuser->kinds[node->id]);
    elements->of_node[node->id] = element;
    selectors[node->id] = OPF_ARRAY(fuser->arena, int, node->n_outputs + 1);
    bool several = n_results(node) > 1;
    for (int k = 0; k < node->n_outputs; k++) {
        opf_value *value = node->outputs[k];
        if (!value || !is_used(value))
            continue;
        int carrier = element;
        if (several) {
            carrier = add_element(elements, node, OPF_KIND_INJECTIVE);
            OPF_PUSH(fuser->arena, &elements->edges, (opf_forward_edge){element, carrier, OPF_KIND_INJECTIVE});
        }
        selectors[node->id][k] = carrier;
        elements->leaves[carrier] = elements->leaves[carrier] || value->is_output;
    }
}

/* The nodes of a pattern's kernel: one element, opaque where it is closed or has a form that must stay as it is. */
static void add_kernel(opf_fuser *fuser, opf_elements *elements, const opf_matched *matched, int **selectors) {
    bool open = !matched->planned && matched->formed != OPF_RULE_BLOCKS && matched->formed != OPF_RULE_BAND && matched->formed != OPF_RULE_POOL && matched->formed != OPF_RULE_SHARED_OPERAND;
    int element = add_element(elements, matched->nodes.data[matched->nodes.count - 1], open ? matched->kind : OPF_KIND_OPAQUE);
    for (size_t m = 0; m < matched->nodes.count; m++) {
        const opf_node *node = matched->nodes.data[m];
        elements->of_node[node->id] = element;
        selectors[node->id] = OPF_ARRAY(fuser->arena, int, node->n_outputs + 1);
        for (int k = 0; k < node->n_outputs; k++) {
            selectors[node->id][k] = element;
            elements->leaves[element] = elements->leaves[element] || (node->outputs[k] && node->outputs[k]->is_output);
        }
    }
}

/* ---- the order of elements where some stand for several nodes ---- */

/* Marks in `order` the nodes behind all that their kernel reads: depth first along what is read. */
typedef struct opf_ordering {
    opf_fuser *fuser;
    bool *begun, *done;
    int *order, count;
    int *stack, height;
} opf_ordering;

static opf_node_list members_of(const opf_fuser *fuser, int node) {
    opf_node_list list = {0};
    if (fuser->joined[node])
        return fuser->joined[node]->nodes;
    OPF_PUSH(fuser->arena, &list, fuser->graph->nodes.data[node]);
    return list;
}

static void push_read(opf_ordering *o, opf_graph *graph, const opf_node *node);

static void push_value(opf_ordering *o, const opf_value *value) {
    const opf_node *producer = value ? value->producer : NULL;
    if (producer && producer->graph == o->fuser->graph && !o->begun[producer->id])
        o->stack[o->height++] = producer->id;
}

/* What the node and those in its sub-graphs read. */
static void push_read(opf_ordering *o, opf_graph *graph, const opf_node *node) {
    for (int k = 0; k < node->n_inputs; k++)
        push_value(o, node->inputs[k]);
    for (int a = 0; a < node->n_attrs; a++)
        for (size_t g = 0; (node->attrs[a].kind == OPF_ATTR_GRAPH || node->attrs[a].kind == OPF_ATTR_GRAPHS) && g < node->attrs[a].count; g++)
            for (size_t i = 0; i < node->attrs[a].graphs[g]->nodes.count; i++)
                push_read(o, graph, node->attrs[a].graphs[g]->nodes.data[i]);
}

static void place_node(opf_ordering *o, int start) {
    o->height = 0;
    o->stack[o->height++] = start;
    while (o->height > 0) {
        int node = o->stack[o->height - 1];
        opf_node_list members = members_of(o->fuser, node);
        if (o->begun[node]) {
            o->height--;
            for (size_t m = 0; !o->done[node] && m < members.count; m++) {
                o->order[o->count++] = members.data[m]->id;
                if (members.data[m]->id != node)
                    o->done[members.data[m]->id] = true;
            }
            o->done[node] = true;
            continue;
        }
        for (size_t m = 0; m < members.count; m++)
            o->begun[members.data[m]->id] = true;
        for (size_t m = 0; m < members.count; m++)
            push_read(o, o->fuser->graph, members.data[m]);
    }
}

/* Positions of all nodes: as in the graph, but where a kernel's nodes have to stand together. */
static const int *order_nodes(opf_fuser *fuser) {
    size_t reads = 1;
    bool any = false;
    int *order = OPF_ARRAY(fuser->arena, int, fuser->n_nodes + 1);
    for (int i = 0; i < fuser->n_nodes; i++) {
        order[i] = i;
        any = any || fuser->joined[i];
    }
    if (!any)
        return order;
    for (size_t v = 0; v < fuser->graph->values.count; v++)
        reads += 1 + fuser->graph->values.data[v]->uses.count;
    opf_ordering o = {.fuser = fuser, .begun = OPF_ARRAY(fuser->arena, bool, fuser->n_nodes + 1), .done = OPF_ARRAY(fuser->arena, bool, fuser->n_nodes + 1), .order = order};
    o.stack = OPF_ARRAY(fuser->arena, int, reads + (size_t)fuser->n_nodes);
    for (int i = 0; i < fuser->n_nodes; i++)
        if (!o.begun[i])
            place_node(&o, i);
    return order;
}

static opf_elements make_elements(opf_fuser *fuser) {
    size_t most = 0;
    for (int i = 0; i < fuser->n_nodes; i++)
        most += 1 + (size_t)fuser->graph->nodes.data[i]->n_outputs;
    const int *order = order_nodes(fuser);
    opf_elements elements = {
        .fuser = fuser,
        .of_node = OPF_ARRAY(fuser->arena, int, fuser->n_nodes),
        .owners = OPF_ARRAY(fuser->arena, opf_node *, most),
        .kinds = OPF_ARRAY(fuser->arena, opf_kind, most),
        .leaves = OPF_ARRAY(fuser->arena, bool, most),
    };
    int **selectors = OPF_ARRAY(fuser->arena, int *, fuser->n_nodes);
    for (int i = 0; i < fuser->n_nodes; i++)
        elements.of_node[i] = -1;
    for (int at = 0; at < fuser->n_nodes; at++) {
        int i = order[at];
        if (!fuser->folded[i] && fuser->joined[i] && elements.of_node[i] < 0)
            add_kernel(fuser, &elements, fuser->joined[i], selectors);
        else if (!fuser->folded[i] && !fuser->joined[i])
            add_node(fuser, &elements, fuser->graph->nodes.data[i], selectors);
    }
    for (int i = 0; i < fuser->n_nodes; i++) {
        opf_node *node = fuser->graph->nodes.data[i];
        for (int k = 0; elements.of_node[i] >= 0 && k < node->n_outputs; k++) {
            for (size_t u = 0; node->outputs[k] && u < node->outputs[k]->uses.count; u++) {
                int user = opf_node_within(node->outputs[k]->uses.data[u].node, fuser->graph)->id;
                if (elements.of_node[user] >= 0 && elements.of_node[user] != selectors[i][k])
                    OPF_PUSH(fuser->arena, &elements.edges, (opf_forward_edge){selectors[i][k], elements.of_node[user], fuser->joined[user] ? elements.kinds[elements.of_node[user]] : fuser->kinds[user]});
            }
        }
    }
    return elements;
}

static const opf_node *owner(const opf_elements *elements, int element) { return element < 0 ? NULL : elements->owners[element]; }

static opf_outcome outcome(const opf_elements *elements, const opf_decision *decision) {
    return (opf_outcome){.rule = decision->rule, .source = owner(elements, decision->source), .sink = owner(elements, decision->sink),
                         .blocker = owner(elements, decision->blocker), .met = decision->met, .off = decision->off};
}

/* Groups of elements → groups of nodes, numbered by last node. A node is where its own element is: a selector that has
 * joined another group is only a way to read the node's result. */
static void take_groups(opf_fuser *fuser, const opf_elements *elements, const opf_partition *partition) {
    int *number = OPF_ARRAY(fuser->arena, int, elements->count);
    for (int e = 0; e < elements->count; e++)
        number[e] = -1;
    for (int i = 0; i < fuser->n_nodes; i++) {
        int element = elements->of_node[i];
        if (element < 0) {
            fuser->group_of[i] = fuser->n_groups;
            fuser->group_kinds[fuser->n_groups++] = fuser->kinds[i];
            continue;
        }
        int root = partition->root[element];
        if (number[root] < 0) {
            number[root] = fuser->n_groups;
            fuser->group_kinds[fuser->n_groups] = partition->kind[root];
            fuser->formed[fuser->n_groups++] = partition->formed[root];
        }
        fuser->group_of[i] = number[root];
        if (fuser->joined[i] && fuser->formed[number[root]] == OPF_RULE_SINGLE)
            fuser->formed[number[root]] = fuser->joined[i]->formed == OPF_RULE_SINGLE ? OPF_RULE_PATTERN : fuser->joined[i]->formed;
        if (fuser->joined[i] && fuser->joined[i]->planned)
            fuser->group_kinds[number[root]] = fuser->joined[i]->kind;
        fuser->outcomes[i] = outcome(elements, &partition->decisions[element]);
        if (elements->owners[root] == elements->owners[element]) /* what leaves the group leaves by the node's selector */
            fuser->outcomes[i] = outcome(elements, &partition->decisions[root]);
    }
}

/* The tree and the attempts in terms of nodes. Selectors speak for the node whose result they select. */
static void record(opf_fuser *fuser, const opf_elements *elements, const opf_partition *partition) {
    static const char *const phases[] = {"phase 0", "phase 1"};
    opf_trace *trace = fuser->fusion->trace;
    for (int i = 0; i < fuser->n_nodes; i++) {
        int element = elements->of_node[i];
        if (element < 0)
            continue;
        opf_postdom at = partition->tree[element];
        OPF_PUSH(fuser->arena, &trace->tree, (opf_meeting){fuser->graph->nodes.data[i], owner(elements, at.parent), at.depth, at.worst});
    }
    for (size_t t = 0; t < partition->trials.count; t++) {
        const opf_partition_trial *trial = &partition->trials.data[t];
        OPF_VEC(opf_node *) nodes = {0};
        for (int k = 0; k < trial->n_elements; k++)
            if (elements->of_node[elements->owners[trial->elements[k]]->id] == trial->elements[k])
                OPF_PUSH(fuser->arena, &nodes, elements->owners[trial->elements[k]]);
        opf_event event = {phases[trial->phase], opf_rules[trial->decision.rule].id, trial->n_elements > 0, owner(elements, trial->decision.source),
                           owner(elements, trial->decision.sink), owner(elements, trial->decision.blocker), nodes.data, (int)nodes.count};
        OPF_PUSH(fuser->arena, &trace->events, event);
    }
}

static bool allows(void *data, const int *list, int n) {
    const opf_elements *elements = data;
    opf_fuser *fuser = elements->fuser;
    opf_node_list nodes = {0};
    const opf_matched *by;
    for (int e = 0; e < n; e++) {
        opf_node_list members = members_of(fuser, elements->owners[list[e]]->id);
        for (size_t m = 0; m < members.count; m++)
            OPF_PUSH(fuser->arena, &nodes, members.data[m]);
    }
    return !opf_matched_apart(fuser, nodes.data, nodes.count, &by);
}

void opf_policy_tvm(opf_fuser *fuser) {
    opf_elements elements = make_elements(fuser);
    opf_forward forward = opf_forward_make(elements.count, elements.kinds, elements.leaves, (int)elements.edges.count,
                                           elements.edges.data, fuser->arena);
    opf_partition partition = opf_partition_make(&forward, fuser->max_depth, fuser->settings, fuser->club ? &(opf_partition_filter){allows, &elements} : NULL, fuser->arena);
    take_groups(fuser, &elements, &partition);
    record(fuser, &elements, &partition);
}
