/* Policy tvm: the graph's nodes as elements of the indexed forward graph, TVM's partition, and its result in terms of
 * nodes. Graph inputs and constants are left out: TVM holds them as opaque elements without in-edges, which change
 * nothing. Folded nodes are left out too: their values are like constants, and they read nothing when the program runs. */
#include "fuse/fuser.h"
#include "fuse/partition.h"

typedef struct opf_elements {
    int count;
    int *of_node;      /* per node: its element, -1 for folded nodes */
    opf_node **owners; /* per element; selectors belong to the node whose result they select */
    opf_kind *kinds;
    bool *leaves;
    OPF_VEC(opf_forward_edge) edges;
} opf_elements;

static int n_results(const opf_node *node)
{
    int count = 0;
    for (int k = 0; k < node->n_outputs; k++)
        count += node->outputs[k] != NULL;
    return count;
}

static bool is_used(const opf_value *value) { return value->uses.count > 0 || value->is_output; }

static int add_element(opf_elements *elements, opf_node *owner, opf_kind kind)
{
    elements->owners[elements->count] = owner;
    elements->kinds[elements->count] = kind;
    return elements->count++;
}

/* The node's element, and a selector for each used result where there is more than one result. selectors[k]: the
 * element that carries output k. */
static void add_node(opf_fuser *fuser, opf_elements *elements, opf_node *node, int **selectors)
{
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

static opf_elements make_elements(opf_fuser *fuser)
{
    size_t most = 0;
    for (int i = 0; i < fuser->n_nodes; i++)
        most += 1 + (size_t)fuser->graph->nodes.data[i]->n_outputs;
    opf_elements elements = {
        .of_node = OPF_ARRAY(fuser->arena, int, fuser->n_nodes),
        .owners = OPF_ARRAY(fuser->arena, opf_node *, most),
        .kinds = OPF_ARRAY(fuser->arena, opf_kind, most),
        .leaves = OPF_ARRAY(fuser->arena, bool, most),
    };
    int **selectors = OPF_ARRAY(fuser->arena, int *, fuser->n_nodes);
    for (int i = 0; i < fuser->n_nodes; i++) {
        elements.of_node[i] = -1;
        if (!fuser->folded[i])
            add_node(fuser, &elements, fuser->graph->nodes.data[i], selectors);
    }
    for (int i = 0; i < fuser->n_nodes; i++) {
        opf_node *node = fuser->graph->nodes.data[i];
        for (int k = 0; elements.of_node[i] >= 0 && k < node->n_outputs; k++) {
            for (size_t u = 0; node->outputs[k] && u < node->outputs[k]->uses.count; u++) {
                int user = opf_node_within(node->outputs[k]->uses.data[u].node, fuser->graph)->id;
                if (elements.of_node[user] >= 0)
                    OPF_PUSH(fuser->arena, &elements.edges, (opf_forward_edge){selectors[i][k], elements.of_node[user], fuser->kinds[user]});
            }
        }
    }
    return elements;
}

static const opf_node *owner(const opf_elements *elements, int element) { return element < 0 ? NULL : elements->owners[element]; }

static opf_outcome outcome(const opf_elements *elements, const opf_decision *decision)
{
    return (opf_outcome){decision->rule, owner(elements, decision->source), owner(elements, decision->sink),
                         owner(elements, decision->blocker), decision->met, 0, decision->off};
}

/* Groups of elements → groups of nodes, numbered by last node. A node is where its own element is: a selector that has
 * joined another group is only a way to read the node's result. */
static void take_groups(opf_fuser *fuser, const opf_elements *elements, const opf_partition *partition)
{
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
        fuser->outcomes[i] = outcome(elements, &partition->decisions[element]);
        if (elements->owners[root] == elements->owners[element]) /* what leaves the group leaves by the node's selector */
            fuser->outcomes[i] = outcome(elements, &partition->decisions[root]);
    }
}

/* The tree and the attempts in terms of nodes. Selectors speak for the node whose result they select. */
static void record(opf_fuser *fuser, const opf_elements *elements, const opf_partition *partition)
{
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

void opf_policy_tvm(opf_fuser *fuser)
{
    opf_elements elements = make_elements(fuser);
    opf_forward forward = opf_forward_make(elements.count, elements.kinds, elements.leaves, (int)elements.edges.count,
                                           elements.edges.data, fuser->arena);
    opf_partition partition = opf_partition_make(&forward, fuser->max_depth, fuser->settings, fuser->arena);
    take_groups(fuser, &elements, &partition);
    record(fuser, &elements, &partition);
}
