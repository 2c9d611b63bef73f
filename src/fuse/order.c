/* Groups in execution order: each behind those it reads from, and otherwise where its last node stands. */
#include "fuse/fuser.h"

static int last_node(const opf_group *group) { return group->nodes.data[group->nodes.count - 1]->id; }

/* Ready groups, the one with the earliest last node first: a binary heap. */
typedef struct opf_ready {
    const opf_fusion *fusion;
    int *heap;
    int count;
} opf_ready;

static bool before(const opf_ready *ready, int a, int b) {
    return last_node(ready->fusion->groups.data[ready->heap[a]]) < last_node(ready->fusion->groups.data[ready->heap[b]]);
}

static void swap(opf_ready *ready, int a, int b) {
    int group = ready->heap[a];
    ready->heap[a] = ready->heap[b];
    ready->heap[b] = group;
}

static void push(opf_ready *ready, int group) {
    int at = ready->count++;
    ready->heap[at] = group;
    for (; at > 0 && before(ready, at, (at - 1) / 2); at = (at - 1) / 2)
        swap(ready, at, (at - 1) / 2);
}

static int pop(opf_ready *ready) {
    int group = ready->heap[0];
    ready->heap[0] = ready->heap[--ready->count];
    for (int at = 0;;) {
        int child = 2 * at + 1;
        if (child + 1 < ready->count && before(ready, child + 1, child))
            child++;
        if (child >= ready->count || !before(ready, child, at))
            return group;
        swap(ready, at, child);
        at = child;
    }
}

/* Calls for each use that leads from `group` into another one. A folded node reads nothing when the program runs, so it
 * waits for folded nodes only: a group may hold both the node whose shape is asked for and the one that uses it. */
static void each_edge(opf_fuser *fuser, int group, void (*call)(void *data, int user_group), void *data) {
    const opf_group *from = fuser->fusion->groups.data[group];
    for (size_t i = 0; i < from->nodes.count; i++) {
        const opf_node *node = from->nodes.data[i];
        if (fuser->group_of[node->id] != group) /* computed again: nothing waits for it */
            continue;
        for (int k = 0; k < node->n_outputs; k++)
            for (size_t u = 0; node->outputs[k] && u < node->outputs[k]->uses.count; u++) {
                const opf_node *user = opf_node_within(node->outputs[k]->uses.data[u].node, fuser->graph);
                if (fuser->folded[user->id] && !fuser->folded[node->id])
                    continue;
                if (!opf_fuser_holds(fuser, fuser->group_of[user->id], node))
                    call(data, fuser->group_of[user->id]);
                for (int g = 0; fuser->is_copied[user->id] && g < fuser->n_groups; g++)
                    if (g != fuser->group_of[user->id] && opf_fuser_holds(fuser, g, user) && !opf_fuser_holds(fuser, g, node))
                        call(data, g);
            }
        for (size_t k = 0; k < fuser->needs.count; k++) {
            const opf_need *need = &fuser->needs.data[k];
            if (need->finder == node->id && need->speaker >= 0 && fuser->group_of[need->speaker] != group && !fuser->folded[need->speaker])
                call(data, fuser->group_of[need->speaker]);
        }
    }
}

typedef struct opf_sorting {
    opf_ready ready;
    int *waits; /* per group: uses of unfinished groups */
} opf_sorting;

static void count_use(void *data, int user_group) { ((opf_sorting *)data)->waits[user_group]++; }

static void finish_use(void *data, int user_group) {
    opf_sorting *sorting = data;
    if (--sorting->waits[user_group] == 0)
        push(&sorting->ready, user_group);
}

/* A defect where a policy chose the groups, a mistake where a file did. */
static opf_status report_cycle(opf_fuser *fuser, const opf_sorting *sorting) {
    bool given = fuser->options->groups_file != NULL;
    for (int g = 0; g < fuser->n_groups; g++) {
        if (sorting->waits[g] == 0)
            continue;
        const opf_node *node = fuser->fusion->groups.data[g]->nodes.data[0];
        opf_diag *diag = opf_node_error(node, given ? "groups" : "internal", "the group of this node and others need each other's results, in a cycle");
        if (given)
            opf_diag_hint(fuser->fusion->module->diags, diag, "with two nodes, a group must hold every node on the ways from one to the other");
        break;
    }
    return given ? OPF_ERROR_INPUT : OPF_ERROR_INTERNAL;
}

opf_status opf_fusion_order(opf_fuser *fuser) {
    opf_fusion *fusion = fuser->fusion;
    int n = fuser->n_groups;
    opf_sorting sorting = {{fusion, OPF_ARRAY(fuser->arena, int, n), 0}, OPF_ARRAY(fuser->arena, int, n)};
    for (int g = 0; g < n; g++)
        each_edge(fuser, g, count_use, &sorting);
    for (int g = 0; g < n; g++)
        if (sorting.waits[g] == 0)
            push(&sorting.ready, g);

    opf_group **ordered = OPF_ARRAY(fuser->arena, opf_group *, n);
    int done = 0;
    while (sorting.ready.count > 0) {
        int group = pop(&sorting.ready);
        ordered[done++] = fusion->groups.data[group];
        each_edge(fuser, group, finish_use, &sorting);
    }
    if (done < n)
        return report_cycle(fuser, &sorting);
    opf_node_list *copied = OPF_ARRAY(fuser->arena, opf_node_list, n + 1);
    int *number = OPF_ARRAY(fuser->arena, int, n + 1);
    for (int g = 0; g < n; g++) {
        fusion->groups.data[g] = ordered[g];
        copied[g] = fuser->copied[ordered[g]->id];
        number[ordered[g]->id] = g;
        ordered[g]->id = g;
    }
    fuser->copied = copied;
    for (int i = 0; i < fuser->n_nodes; i++)
        fuser->group_of[i] = number[fuser->group_of[i]];
    return OPF_OK;
}
