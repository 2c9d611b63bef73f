/* The partition against its definition: post-dominators by removal of nodes, and TVM's phases written down naively with
 * recursion and labels, on random graphs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fuse/partition.h"

static opf_rule_settings settings; /* every rule is on */

enum { MOST = 40 };

static uint32_t state;

static int draw(int bound) {
    state = state * 1664525u + 1013904223u;
    return (int)((state >> 8) % (uint32_t)bound);
}

static opf_kind kinds[MOST];
static bool leaves[MOST];
static opf_forward_edge edges[MOST * 4];

/* Each element reads one to three earlier ones, mostly near; what nobody reads is an output, like some others. */
static opf_forward random_graph(opf_arena *arena) {
    static const opf_kind choices[] = {OPF_KIND_ELEMWISE, OPF_KIND_ELEMWISE, OPF_KIND_ELEMWISE, OPF_KIND_BROADCAST, OPF_KIND_INJECTIVE,
                                       OPF_KIND_COMM_REDUCE, OPF_KIND_OUT_ELEMWISE_FUSABLE, OPF_KIND_OPAQUE};
    int n = 2 + draw(MOST - 2), n_edges = 0, variety = 1 + draw((int)OPF_COUNT(choices));
    bool used[MOST] = {false};
    for (int i = 0; i < n; i++) {
        kinds[i] = choices[draw(variety)];
        for (int reads = i == 0 ? 0 : draw(4); reads > 0; reads--) {
            int from = draw(3) ? i - 1 - draw(i < 4 ? i : 4) : draw(i);
            edges[n_edges++] = (opf_forward_edge){from, i, kinds[i]};
            used[from] = true;
        }
    }
    for (int i = 0; i < n; i++)
        leaves[i] = !used[i] || draw(12) == 0;
    return opf_forward_make(n, kinds, leaves, n_edges, edges, arena);
}

static bool visited[MOST];

/* Can a result of `from` leave the graph without passing `without`? */
static bool escapes(const opf_forward *g, int from, int without) {
    if (from == without || visited[from])
        return false;
    visited[from] = true;
    if (g->leaves[from])
        return true;
    for (int e = g->first[from]; e < g->first[from + 1]; e++)
        if (escapes(g, g->targets[e], without))
            return true;
    return false;
}

static int naive_postdominator(const opf_forward *g, int element) {
    if (g->leaves[element])
        return -1;
    for (int d = element + 1; d < g->count; d++) { /* the nearest comes first in topological order */
        memset(visited, 0, sizeof visited);
        if (!escapes(g, element, d))
            return d;
    }
    return -1;
}

static opf_kind worst_from(const opf_forward *g, int element, int parent) {
    opf_kind worst = OPF_KIND_ELEMWISE;
    visited[element] = true;
    for (int e = g->first[element]; e < g->first[element + 1]; e++) {
        worst = g->edge_kinds[e] > worst ? g->edge_kinds[e] : worst;
        if (g->targets[e] != parent && !visited[g->targets[e]]) {
            opf_kind further = worst_from(g, g->targets[e], parent);
            worst = further > worst ? further : worst;
        }
    }
    return worst;
}

static opf_kind naive_worst(const opf_forward *g, int element, int parent) {
    memset(visited, 0, sizeof visited);
    return worst_from(g, element, parent);
}

/* ---- the naive partition ---- */

static int label[MOST];           /* the group's last element */
static opf_kind element_kind[MOST];
static bool between[MOST];

static void collect(const opf_forward *g, int element, int sink) {
    if (element == sink || between[element])
        return;
    between[element] = true;
    for (int e = g->first[element]; e < g->first[element + 1]; e++)
        collect(g, g->targets[e], sink);
}

/* TVM keeps sizes at union-find elements: a group's size at its last element, what a member had when it was merged at
 * the member. */
static int element_size[MOST];

static void naive_fuse(const opf_forward *g, int sink) {
    int into = label[sink];
    for (int i = 0; i < g->count; i++) {
        int from = label[i];
        if (!between[i] || from == into)
            continue;
        bool anchor = false;
        for (int j = 0; j < g->count; j++)
            if (label[j] == from) {
                anchor = anchor || kinds[j] == OPF_KIND_OUT_ELEMWISE_FUSABLE;
                label[j] = into;
            }
        if (anchor && element_kind[from] > element_kind[into])
            element_kind[into] = element_kind[from];
        element_size[into] += element_size[from];
    }
}

static void naive_visit(const opf_forward *g, int v, int phase, int max_depth) {
    int p = naive_postdominator(g, v);
    opf_kind k = element_kind[v];
    if (p < 0 || k == OPF_KIND_OPAQUE || k == OPF_KIND_COMM_REDUCE)
        return;
    memset(between, 0, sizeof between);
    collect(g, v, p);
    int size = element_size[label[p]];
    opf_kind middle = OPF_KIND_ELEMWISE, last = element_kind[label[p]];
    for (int i = 0; i < g->count; i++)
        if (between[i]) {
            size += element_size[i];
            if (i != v && element_kind[label[i]] > middle)
                middle = element_kind[label[i]];
        }
    if (size > max_depth || label[v] == label[p])
        return;
    opf_kind worst = naive_worst(g, v, p);
    bool fuses = k == OPF_KIND_OUT_ELEMWISE_FUSABLE ? phase == 0 && worst == OPF_KIND_ELEMWISE && middle <= OPF_KIND_BROADCAST && last <= OPF_KIND_BROADCAST
               : k <= OPF_KIND_BROADCAST ? worst <= OPF_KIND_COMM_REDUCE && middle <= OPF_KIND_INJECTIVE && last <= OPF_KIND_OUT_ELEMWISE_FUSABLE
                                         : phase == 1 && middle <= OPF_KIND_INJECTIVE && last <= OPF_KIND_INJECTIVE;
    if (fuses)
        naive_fuse(g, p);
}

static void naive_partition(const opf_forward *g, int max_depth) {
    for (int i = 0; i < g->count; i++) {
        label[i] = i;
        element_kind[i] = g->kinds[i];
        element_size[i] = 1;
    }
    for (int phase = 0; phase < 2; phase++)
        for (int i = 0; i < g->count; i++)
            naive_visit(g, i, phase, max_depth);
}

/* ---- tests ---- */

static void postdominators_are_the_nodes_no_way_avoids(void **unused) {
    (void)unused;
    for (state = 1; state < 400; ) {
        uint32_t seed = state;
        opf_arena *arena = opf_arena_new();
        opf_forward g = random_graph(arena);
        opf_postdom *tree = opf_postdom_tree(&g, arena);
        for (int i = 0; i < g.count; i++) {
            assert_int_equal(tree[i].parent, naive_postdominator(&g, i));
            if (tree[i].parent >= 0) {
                assert_int_equal(tree[i].worst, naive_worst(&g, i, tree[i].parent));
                assert_int_equal(tree[i].depth, tree[tree[i].parent].depth + 1);
            }
        }
        opf_arena_free(arena);
        state = seed + 1;
    }
}

static void partition_equals_the_naive_one(void **unused) {
    (void)unused;
    int merged = 0;
    for (state = 1; state < 3000; ) {
        uint32_t seed = state;
        opf_arena *arena = opf_arena_new();
        opf_forward g = random_graph(arena);
        int max_depth = draw(3) ? 256 : 2 + draw(8);
        opf_partition partition = opf_partition_make(&g, max_depth, &settings, NULL, arena);
        naive_partition(&g, max_depth);
        for (int i = 0; i < g.count; i++) {
            assert_int_equal(partition.root[i], label[i]);
            assert_int_equal(partition.kind[partition.root[i]], element_kind[label[i]]);
            bool fused = partition.root[i] != i;
            assert_int_equal(opf_rules[partition.decisions[i].rule].verdict == OPF_FUSED, fused);
            merged += fused;
        }
        opf_arena_free(arena);
        state = seed + 1;
    }
    assert_true(merged > 5000);
}

/* A dead consumer or a second output destroys the post-dominator; 9 element-wise nodes under a limit of 4. */
static void limit_is_greedy_from_the_front(void **unused) {
    (void)unused;
    opf_arena *arena = opf_arena_new();
    for (int i = 0; i < 9; i++) {
        kinds[i] = OPF_KIND_ELEMWISE;
        leaves[i] = i == 8;
        edges[i] = (opf_forward_edge){i, i + 1, OPF_KIND_ELEMWISE};
    }
    opf_forward g = opf_forward_make(9, kinds, leaves, 8, edges, arena);
    opf_partition p = opf_partition_make(&g, 4, &settings, NULL, arena);
    static const int expected[9] = {3, 3, 3, 3, 7, 7, 7, 7, 8};
    assert_memory_equal(p.root, expected, sizeof expected);
    assert_int_equal(p.decisions[3].rule, OPF_RULE_DEPTH);
    assert_int_equal(p.formed[3], OPF_RULE_ELEMWISE);
    assert_int_equal(p.formed[8], OPF_RULE_SINGLE);
    opf_arena_free(arena);
}

/* A long chain under a skip edge over all of it: walks end at the limit, so that this is no quadratic case. */
static void long_skip_edges_are_cheap(void **unused) {
    (void)unused;
    enum { LONG = 200000 };
    opf_arena *arena = opf_arena_new();
    opf_kind *many = OPF_ARRAY(arena, opf_kind, LONG);
    bool *out = OPF_ARRAY(arena, bool, LONG);
    opf_forward_edge *links = OPF_ARRAY(arena, opf_forward_edge, 2 * LONG);
    int n = 0;
    for (int i = 0; i + 1 < LONG; i++) {
        links[n++] = (opf_forward_edge){i, i + 1, OPF_KIND_ELEMWISE};
        links[n++] = (opf_forward_edge){i, LONG - 1, OPF_KIND_ELEMWISE};
    }
    out[LONG - 1] = true;
    opf_forward g = opf_forward_make(LONG, many, out, n, links, arena);
    opf_partition p = opf_partition_make(&g, 256, &settings, NULL, arena);
    assert_int_equal(p.tree[0].parent, LONG - 1);
    assert_int_equal(p.root[LONG - 2], LONG - 1);
    assert_int_equal(p.root[0], 0);
    opf_arena_free(arena);
}

int main(void) {
    opf_rule_settings_init(&settings);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(postdominators_are_the_nodes_no_way_avoids),
        cmocka_unit_test(partition_equals_the_naive_one),
        cmocka_unit_test(limit_is_greedy_from_the_front),
        cmocka_unit_test(long_skip_edges_are_cheap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
