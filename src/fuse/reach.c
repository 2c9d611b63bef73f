/* Ways between the groups of policy best. The groups are kept in a topological order, so that a search looks only at those
 * that stand between its two ends; a join puts the order right within the stretch that it touches (as Pearce and Kelly do,
 * "A dynamic topological sort algorithm for directed acyclic graphs", 2006). */
#include <stdlib.h>

#include "fuse/growth.h"

/* ---- the order ---- */

typedef struct cursor {
    int group;
    size_t member, link; /* the next producer to look at */
} cursor;

/* The next producer's group that has no place yet; -1 where there is none left. */
static int next_unplaced(const opf_growth *growth, cursor *at) {
    const opf_node_list *members = &growth->members[at->group];
    for (; at->member < members->count; at->member++, at->link = 0) {
        const opf_node_list *producers = &growth->producers[members->data[at->member]->id];
        while (at->link < producers->count) {
            int group = growth->fuser->group_of[producers->data[at->link++]->id];
            if (growth->place[group] < 0)
                return group;
        }
    }
    return -1;
}

void opf_growth_order(opf_growth *growth) {
    enum { WAITING = -1, UNDER_WAY = 0 };
    opf_arena *arena = growth->fuser->arena;
    int n = growth->fuser->n_groups, placed = 0;
    growth->place = OPF_ARRAY(arena, int, n);
    growth->order = OPF_ARRAY(arena, int, n);
    cursor *stack = OPF_ARRAY(arena, cursor, n);
    for (int g = 0; g < n; g++)
        growth->place[g] = WAITING;
    for (int g = 0; g < n; g++) { /* what a group reads goes in front of it: depth first */
        int depth = 0;
        if (growth->place[g] == WAITING)
            stack[depth++] = (cursor){.group = g};
        while (depth > 0) {
            growth->place[stack[depth - 1].group] = UNDER_WAY;
            int group = next_unplaced(growth, &stack[depth - 1]);
            if (group >= 0)
                stack[depth++] = (cursor){.group = group};
            else
                growth->order[placed++] = stack[--depth].group;
        }
    }
    for (int at = 0; at < n; at++)
        growth->place[growth->order[at]] = at;
}

/* ---- searches ---- */

/* Appends to the queue, and marks, every group that what is queued from `at` on leads to by `links`, without entering `end` and
 * without leaving the stretch of the order from `low` to `high`. The new length of the queue. */
static int reach(opf_growth *growth, const opf_node_list *links, int *stamps, int at, int count, int end, int low, int high) {
    for (; at < count; at++) {
        const opf_node_list *members = &growth->members[growth->queue[at]];
        for (size_t m = 0; m < members->count; m++) {
            const opf_node_list *next = &links[members->data[m]->id];
            for (size_t i = 0; i < next->count; i++) {
                int group = growth->fuser->group_of[next->data[i]->id];
                int place = growth->place[group];
                if (group == end || stamps[group] == growth->stamp || place < low || place > high)
                    continue;
                stamps[group] = growth->stamp;
                growth->queue[count++] = group;
            }
        }
    }
    return count;
}

static int reach_from(opf_growth *growth, const opf_node_list *links, int *stamps, int from, int end, int low, int high) {
    growth->queue[0] = from;
    stamps[from] = growth->stamp;
    return reach(growth, links, stamps, 0, 1, end, low, high);
}

bool opf_growth_leads(opf_growth *growth, int from, int to) {
    int low = growth->place[from], high = growth->place[to];
    if (low > high)
        return false;
    growth->stamp++;
    reach_from(growth, growth->users, growth->ahead, from, -1, low, high);
    return growth->ahead[to] == growth->stamp;
}

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

void opf_growth_between(opf_growth *growth, int source, int sink) {
    int low = growth->place[source], high = growth->place[sink];
    growth->stamp++;
    reach_from(growth, growth->users, growth->ahead, source, sink, low, high);
    int count = reach_from(growth, growth->producers, growth->behind, sink, source, low, high);
    growth->set.count = 0;
    OPF_PUSH(growth->fuser->arena, &growth->set, source);
    OPF_PUSH(growth->fuser->arena, &growth->set, sink);
    for (int at = 0; at < count; at++) {
        int group = growth->queue[at];
        if (group != sink && growth->ahead[group] == growth->stamp)
            OPF_PUSH(growth->fuser->arena, &growth->set, group);
    }
    qsort(growth->set.data + 2, growth->set.count - 2, sizeof *growth->set.data, by_number);
}

/* ---- joins ---- */

void opf_growth_reorder(opf_growth *growth) {
    int low = growth->fuser->n_groups, high = -1, count = 0;
    growth->stamp++;
    for (size_t s = 0; s < growth->set.count; s++) {
        int group = growth->set.data[s], place = growth->place[group];
        low = place < low ? place : low;
        high = place > high ? place : high;
        growth->behind[group] = growth->ahead[group] = growth->stamp;
        growth->queue[count++] = group;
    }
    reach(growth, growth->producers, growth->behind, 0, count, -1, low, high);
    /* what leads to the set, the set, the rest; all as they stood */
    int *stretch = growth->queue, length = 0;
    for (int at = low; at <= high; at++)
        if (growth->behind[growth->order[at]] == growth->stamp && growth->ahead[growth->order[at]] != growth->stamp)
            stretch[length++] = growth->order[at];
    for (size_t s = 0; s < growth->set.count; s++)
        stretch[length++] = growth->set.data[s];
    for (int at = low; at <= high; at++)
        if (growth->behind[growth->order[at]] != growth->stamp)
            stretch[length++] = growth->order[at];
    for (int at = low; at <= high; at++) {
        growth->order[at] = stretch[at - low];
        growth->place[stretch[at - low]] = at;
    }
}
