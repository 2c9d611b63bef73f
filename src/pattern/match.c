/* Where in a graph a pattern is: a search that places the pattern's nodes one after the other, each next to those that are placed, and
 * goes back where nothing fits. Bounded, so that no pattern takes for ever. */
#include <stdlib.h>
#include <string.h>

#include "ops/build.h"
#include "pattern/internal.h"

enum { MOST_STEPS = 20000 /* nodes tried from one start */, MOST_OF_START = 64 /* matches that begin at one node */ };

typedef struct matcher {
    const opf_pattern *pattern;
    opf_graph *graph;
    opf_arena *arena;
    opf_arena *scratch;      /* of one start */
    opf_matches *matches;
    int n, order[OPF_PATTERN_NODES];
    opf_node *places[OPF_PATTERN_NODES];
    opf_value **bound;       /* per value of the pattern */
    int steps;
    size_t first;            /* match of this start */
    /* The attempt that came furthest. */
    bool misses;
    int best;                /* twice the nodes placed, and one more where the operator was right; 0: none yet */
    opf_near_miss miss;
} matcher;

/* ---- the order of functions ---- */

static bool shares(const opf_pattern *pattern, int a, int b) {
    const opf_pattern_node *x = &pattern->nodes.data[a], *y = &pattern->nodes.data[b];
    for (int i = 0; i < x->n_inputs + x->n_outputs; i++) {
        int value = i < x->n_inputs ? x->inputs[i] : x->outputs[i - x->n_inputs];
        if (value < 0 || pattern->values.data[value].constant) continue;
        for (int j = 0; j < y->n_inputs + y->n_outputs; j++)
            if (value == (j < y->n_inputs ? y->inputs[j] : y->outputs[j - y->n_inputs])) return true;
    }
    return false;
}

int opf_pattern_order(const opf_pattern *pattern, int *order) {
    int n = (int)pattern->nodes.count, count = 0;
    bool in[OPF_PATTERN_NODES] = {false};
    if (pattern->chain) {
        for (int p = 0; p < n; p++) order[p] = p;
        return n;
    }
    int start = pattern->values.data[pattern->results.data[0]].producer;
    order[count++] = start;
    in[start] = true;
    for (int at = 0; at < count; at++)
        for (int p = n - 1; p >= 0; p--)
            if (!in[p] && shares(pattern, order[at], p)) {
                in[p] = true;
                order[count++] = p;
            }
    return count;
}

/* ---- what is told of misses ---- */

/* Would an attempt that comes so far be the one to tell of? Its reason is put into words only then. */
static bool is_better(const matcher *m, int depth, bool right) { return m->misses && depth > 0 && 2 * depth + right > m->best; }

static void miss(matcher *m, int depth, const opf_pattern_node *wanted, const opf_node *at, bool right, const char *reason) {
    if (!is_better(m, depth, right)) return;
    m->best = 2 * depth + right;
    opf_node **nodes = OPF_ARRAY(m->arena, opf_node *, m->n + 1);
    int count = 0;
    for (int p = 0; p < m->n; p++)
        if (m->places[p]) nodes[count++] = m->places[p];
    m->miss = (opf_near_miss){m->pattern, m->graph, count, nodes, opf_pattern_node_text(wanted, m->arena), at, reason};
}

/* ---- one node ---- */

static bool has_operator(const opf_pattern_node *pattern, const opf_node *node) {
    for (size_t k = 0; k < pattern->operators.count; k++)
        if (strcmp(pattern->operators.data[k].name, node->op) == 0 && strcmp(pattern->operators.data[k].domain, node->domain) == 0) return true;
    return pattern->operators.count == 0;
}

static bool is_placed(const matcher *m, const opf_node *node) {
    for (int p = 0; p < m->n; p++)
        if (m->places[p] == node) return true;
    return false;
}

static const char *named(const matcher *m, const opf_node *node) { return opf_arena_printf(m->arena, "it is %s%s%s", node->domain, *node->domain ? "::" : "", node->op); }

/* Operator, attributes, conditions. */
static bool fits_alone(matcher *m, int depth, const opf_pattern_node *pattern, opf_node *node) {
    const char *why = NULL, **asked = is_better(m, depth, true) ? &why : NULL;
    if (++m->steps > MOST_STEPS) return false;
    if (is_placed(m, node)) return false;
    if (!has_operator(pattern, node)) {
        if (is_better(m, depth, false)) miss(m, depth, pattern, node, false, named(m, node));
        return false;
    }
    for (size_t t = 0; t < pattern->tests.count; t++)
        if (!opf_pattern_test_holds(&pattern->tests.data[t], node, m->arena, asked)) {
            miss(m, depth, pattern, node, true, why);
            return false;
        }
    if (!pattern->whole || opf_pattern_attrs_hold(pattern, node, m->arena, asked)) return true;
    miss(m, depth, pattern, node, true, why);
    return false;
}

/* ---- values of functions ---- */

static bool is_commutative(const opf_pattern_node *pattern) {
    static const char *const names[] = {"Add", "Mul", "And", "Or", "Xor", "Equal", "Max", "Min", "Sum", "Mean", "BitwiseAnd", "BitwiseOr", "BitwiseXor"};
    for (size_t k = 0; pattern->n_inputs == 2 && k < OPF_COUNT(names); k++)
        if (!*pattern->operators.data[0].domain && strcmp(pattern->operators.data[0].name, names[k]) == 0) return true;
    return false;
}

/* The pattern's value is the model's; `trail` notes what was free. */
static bool unify(matcher *m, int number, opf_value *value, int *trail, int *n_trail) {
    if (number < 0) return value == NULL;
    if (!value) return false;
    if (m->bound[number]) return m->bound[number] == value;
    const opf_tensor *constant = m->pattern->values.data[number].constant;
    if (constant && !opf_pattern_constant_holds(constant, value)) return false;
    m->bound[number] = value;
    trail[(*n_trail)++] = number;
    return true;
}

static opf_value *operand(const opf_node *node, int k) { return k < node->n_inputs - node->n_tables ? node->inputs[k] : NULL; }

static bool unify_node(matcher *m, const opf_pattern_node *pattern, const opf_node *node, bool turned, int *trail, int *n_trail) {
    int given = node->n_inputs - node->n_tables;
    for (int k = pattern->n_inputs; k < given; k++)
        if (node->inputs[k]) return false;
    for (int k = 0; k < pattern->n_inputs; k++)
        if (!unify(m, pattern->inputs[k], operand(node, turned ? 1 - k : k), trail, n_trail)) return false;
    for (int k = 0; k < pattern->n_outputs; k++)
        if (pattern->outputs[k] >= 0 && !unify(m, pattern->outputs[k], k < node->n_outputs ? node->outputs[k] : NULL, trail, n_trail)) return false;
    return true;
}

/* ---- the search ---- */

static bool extend(matcher *m, int depth);

static bool same_places(const matcher *m, const opf_match *match) { return memcmp(match->places, m->places, (size_t)m->n * sizeof *m->places) == 0; }

/* A node's operands may stand either way: the same nodes are one match. */
static bool keep(matcher *m) {
    for (size_t k = m->first; k < m->matches->list.count; k++)
        if (same_places(m, m->matches->list.data[k])) return true;
    opf_match *match = OPF_NEW(m->arena, opf_match);
    *match = (opf_match){.found = (int)m->matches->list.count, .pattern = m->pattern, .graph = m->graph, .n_places = m->n};
    match->places = opf_arena_copy(m->arena, m->places, (size_t)m->n * sizeof *m->places);
    match->nodes = OPF_ARRAY(m->arena, opf_node *, m->n);
    match->bound = opf_arena_copy(m->arena, m->bound, (m->pattern->values.count + 1) * sizeof *m->bound);
    for (int p = 0; p < m->n; p++)
        if (m->places[p]) match->nodes[match->n_nodes++] = m->places[p];
    OPF_PUSH(m->arena, &m->matches->list, match);
    return true;
}

static int by_place(const void *a, const void *b) {
    const opf_node *x = *(opf_node *const *)a, *y = *(opf_node *const *)b;
    return (x->id > y->id) - (x->id < y->id);
}

typedef OPF_VEC(opf_node *) node_list;

/* The nodes of the graph that read the value, in its order. */
static void add_users(const matcher *m, const opf_value *value, node_list *list) {
    for (size_t u = 0; value && u < value->uses.count; u++) {
        opf_node *user = value->uses.data[u].node;
        bool known = user->graph != m->graph;
        for (size_t k = 0; !known && k < list->count; k++) known = list->data[k] == user;
        if (!known) OPF_PUSH(m->scratch, list, user);
    }
    if (list->count) qsort(list->data, list->count, sizeof *list->data, by_place);
}

static bool reads_at(const opf_node *node, const opf_node *before, int at) {
    for (int k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] && node->inputs[k]->producer == before && (at < 0 || at == k)) return true;
    return false;
}

static bool try_step(matcher *m, int depth, const opf_pattern_node *pattern, opf_node *node, const opf_node *before) {
    if (!fits_alone(m, depth, pattern, node)) return false;
    if (before && !reads_at(node, before, pattern->at)) {
        if (is_better(m, depth, true)) miss(m, depth, pattern, node, true, opf_arena_printf(m->arena, "it does not read '%s' as operand %d", before->name, pattern->at));
        return false;
    }
    m->places[depth] = node;
    bool found = extend(m, depth + 1);
    m->places[depth] = NULL;
    return found;
}

static bool extend_chain(matcher *m, int depth) {
    const opf_pattern_node *pattern = &m->pattern->nodes.data[depth];
    int last = depth - 1;
    while (!m->places[last]) last--;
    const opf_node *before = m->places[last];
    node_list users = {0};
    for (int k = 0; k < before->n_outputs; k++) add_users(m, before->outputs[k], &users);
    bool found = false;
    for (size_t u = 0; u < users.count; u++) found = try_step(m, depth, pattern, users.data[u], before) || found;
    if (!users.count && !pattern->optional && is_better(m, depth, false)) miss(m, depth, pattern, NULL, false, opf_arena_printf(m->arena, "no node of this graph reads the result of '%s'", before->name));
    return found || !pattern->optional ? found : extend(m, depth + 1);
}

static bool try_node(matcher *m, int depth, int number, opf_node *node) {
    const opf_pattern_node *pattern = &m->pattern->nodes.data[number];
    if (!fits_alone(m, depth, pattern, node)) return false;
    bool found = false, unified = false;
    for (int turned = 0; turned <= is_commutative(pattern); turned++) {
        int trail[2 * OPF_PATTERN_INPUTS], n_trail = 0;
        if (unify_node(m, pattern, node, turned, trail, &n_trail)) {
            unified = true;
            m->places[number] = node;
            found = extend(m, depth + 1) || found;
            m->places[number] = NULL;
        }
        while (n_trail > 0) m->bound[trail[--n_trail]] = NULL;
    }
    if (!unified) miss(m, depth, pattern, node, true, "its operands or results are not those of the function: other values, or another constant");
    return found;
}

static bool extend_function(matcher *m, int depth) {
    int number = m->order[depth];
    const opf_pattern_node *pattern = &m->pattern->nodes.data[number];
    for (int k = 0; k < pattern->n_outputs; k++) {
        const opf_value *value = pattern->outputs[k] < 0 ? NULL : m->bound[pattern->outputs[k]];
        if (!value) continue;
        if (value->producer && value->producer->graph == m->graph) return try_node(m, depth, number, value->producer);
        if (is_better(m, depth, false)) miss(m, depth, pattern, NULL, false, opf_arena_printf(m->arena, "'%s' is %s", value->name, value->constant ? "a constant" : "computed by no node of this graph"));
        return false;
    }
    node_list users = {0};
    for (int k = 0; !users.count && k < pattern->n_inputs; k++)
        if (pattern->inputs[k] >= 0 && !m->pattern->values.data[pattern->inputs[k]].constant) add_users(m, m->bound[pattern->inputs[k]], &users);
    bool found = false;
    for (size_t u = 0; u < users.count; u++) found = try_node(m, depth, number, users.data[u]) || found;
    return found;
}

static bool extend(matcher *m, int depth) {
    if (depth == m->n) return keep(m);
    if (m->steps > MOST_STEPS || m->matches->list.count - m->first >= MOST_OF_START) return false;
    return m->pattern->chain ? extend_chain(m, depth) : extend_function(m, depth);
}

void opf_pattern_find(opf_matches *matches, const opf_pattern *pattern, opf_graph *graph, bool misses) {
    matcher m = {.pattern = pattern, .graph = graph, .arena = graph->module->arena, .matches = matches, .misses = misses};
    m.n = opf_pattern_order(pattern, m.order);
    m.bound = OPF_ARRAY(m.arena, opf_value *, pattern->values.count + 1);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        opf_node *node = graph->nodes.data[i];
        m.steps = m.best = 0;
        m.first = matches->list.count;
        m.scratch = opf_arena_new();
        bool found = pattern->chain ? try_step(&m, 0, &pattern->nodes.data[0], node, NULL) : try_node(&m, 0, m.order[0], node);
        opf_arena_free(m.scratch);
        if (!found && m.best) OPF_PUSH(m.arena, &matches->misses, m.miss);
    }
}
