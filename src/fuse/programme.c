/* The dynamic programme over down-sets (programme.h): sets of atoms with all that these read. The cheapest plan of a down-set ends with
 * some possible group; without it, it is the cheapest plan of a smaller one. A graph is narrow enough where it has few of them. */
#include "fuse/programme.h"

#include <math.h>
#include <string.h>

#include "fuse/cost.h"

enum { MOST_ATOMS = 2048, MOST_DOWN_SETS = 16384 };

/* A plan that is cheaper by less than this share is no better: the model is not that exact, and the greedy plan has been measured. */
static const double LEAST_GAIN = 0.002;

/* ---- states of growth ---- */

opf_growth_state *opf_growth_save(const opf_growth *growth) {
    const opf_fuser *fuser = growth->fuser;
    size_t nodes = (size_t)fuser->n_nodes, groups = (size_t)fuser->n_groups;
    opf_growth_state *state = OPF_NEW(fuser->arena, opf_growth_state);
    state->n_events = fuser->fusion->trace->events.count;
#define SAVE(owner, type, array, count) state->array = opf_arena_copy(fuser->arena, owner->array, count * sizeof(type));
    OPF_GROWTH_KEPT(SAVE)
#undef SAVE
    return state;
}

void opf_growth_load(opf_growth *growth, const opf_growth_state *state) {
    opf_fuser *fuser = growth->fuser;
    size_t nodes = (size_t)fuser->n_nodes, groups = (size_t)fuser->n_groups;
#define LOAD(owner, type, array, count) \
    if (count > 0)                      \
        memcpy(owner->array, state->array, count * sizeof(type));
    OPF_GROWTH_KEPT(LOAD)
#undef LOAD
    for (int g = 0; g < fuser->n_groups; g++)
        growth->latest[g].source = -1;
}

/* ---- atoms ---- */

static void number_atoms(opf_plan_search *planner) {
    const opf_growth *growth = planner->growth;
    const opf_fuser *fuser = growth->fuser;
    for (int at = 0; at < fuser->n_groups; at++) {
        int group = growth->order[at];
        planner->atoms[group] = -1;
        if (growth->members[group].count == 0 || fuser->folded[growth->members[group].data[0]->id])
            continue;
        planner->atoms[group] = planner->n_atoms;
        planner->groups[planner->n_atoms++] = group;
    }
    planner->n_words = (planner->n_atoms + 63) / 64;
}

static uint64_t **new_table(const opf_plan_search *planner) {
    uint64_t **table = OPF_ARRAY(planner->arena, uint64_t *, planner->n_atoms + 1);
    for (int a = 0; a < planner->n_atoms; a++)
        table[a] = OPF_ARRAY(planner->arena, uint64_t, planner->n_words);
    return table;
}

static void link(opf_plan_search *planner, int from, int to) {
    if (from < 0 || to < 0 || from == to)
        return;
    opf_bits_set(planner->readers[from], to);
    opf_bits_set(planner->reads[to], from);
}

/* What can be reached from an atom: its neighbours, and what can be reached from these. */
static void add_ways(const opf_plan_search *planner, uint64_t **ways, const uint64_t *neighbours, int atom) {
    opf_bits_add(ways[atom], neighbours, planner->n_words);
    for (int b = 0; b < planner->n_atoms; b++)
        if (opf_bits_has(neighbours, b))
            opf_bits_add(ways[atom], ways[b], planner->n_words);
}

static void link_atoms(opf_plan_search *planner) {
    const opf_growth *growth = planner->growth;
    const opf_fuser *fuser = growth->fuser;
    for (int a = 0; a < planner->n_atoms; a++) {
        const opf_node_list *members = &growth->members[planner->groups[a]];
        for (size_t m = 0; m < members->count; m++) {
            const opf_node_list *users = &growth->users[members->data[m]->id];
            for (size_t u = 0; u < users->count; u++)
                link(planner, a, planner->atoms[fuser->group_of[users->data[u]->id]]);
        }
    }
    for (int a = 0; a < planner->n_atoms; a++)
        add_ways(planner, planner->before, planner->reads[a], a);
    for (int a = planner->n_atoms - 1; a >= 0; a--)
        add_ways(planner, planner->behind, planner->readers[a], a);
}

static opf_plan_search *new_planner(opf_growth *growth, opf_arena *arena) {
    opf_plan_search *planner = OPF_NEW(arena, opf_plan_search);
    int n = growth->fuser->n_groups;
    *planner = (opf_plan_search){
        .growth = growth,
        .arena = arena,
        .interner = opf_interner_new(),
        .known = opf_map_new(arena),
        .groups = OPF_ARRAY(arena, int, n + 1),
        .atoms = OPF_ARRAY(arena, int, n + 1),
    };
    number_atoms(planner);
    return planner;
}

/* ---- the programme ---- */

typedef struct opf_down_set {
    const uint64_t *atoms;
    int count;
    double seconds;                 /* of the cheapest plan of it */
    const opf_plan_group *last;     /* the group that this plan ends with */
    struct opf_down_set *before;    /* what is left without it */
    struct opf_down_set *next;      /* of those of as many atoms */
} opf_down_set;

typedef struct opf_programme {
    opf_plan_search *planner;
    opf_map known;                  /* set → opf_down_set */
    opf_down_set **of_size, **end;  /* per number of atoms: first and last found */
    OPF_VEC(const opf_plan_group *) *of_first; /* per atom: the groups of which it is the lowest */
    uint64_t *with;
    int n_sets;
} opf_programme;

static opf_down_set *down_set(opf_programme *programme, const uint64_t *bits, int count) {
    opf_arena *arena = programme->planner->arena;
    const uint64_t *atoms = opf_plan_set(programme->planner, bits);
    opf_down_set *set = opf_map_get(&programme->known, atoms);
    if (set)
        return set;
    set = OPF_NEW(arena, opf_down_set);
    *set = (opf_down_set){.atoms = atoms, .count = count, .seconds = INFINITY};
    opf_map_set(&programme->known, atoms, set);
    programme->n_sets++;
    if (programme->end[count])
        programme->end[count]->next = set;
    else
        programme->of_size[count] = set;
    programme->end[count] = set;
    return set;
}

/* Every possible group that may come next. */
static void extend(opf_programme *programme, opf_down_set *set) {
    const opf_plan_search *planner = programme->planner;
    int n_words = planner->n_words;
    for (int a = 0; a < planner->n_atoms; a++) {
        if (opf_bits_has(set->atoms, a) || !opf_bits_within(planner->reads[a], set->atoms, n_words))
            continue;
        for (size_t i = 0; i < programme->of_first[a].count; i++) {
            const opf_plan_group *group = programme->of_first[a].data[i];
            if (opf_bits_meet(group->atoms, set->atoms, n_words) || !opf_bits_within(group->needs, set->atoms, n_words))
                continue;
            for (int w = 0; w < n_words; w++)
                programme->with[w] = set->atoms[w] | group->atoms[w];
            opf_down_set *larger = down_set(programme, programme->with, set->count + group->count);
            if (set->seconds + group->seconds < larger->seconds) {
                larger->seconds = set->seconds + group->seconds;
                larger->last = group;
                larger->before = set;
            }
        }
    }
}

/* The whole graph as a down-set, with its cheapest plan; NULL where there are too many down-sets. */
static const opf_down_set *run(opf_programme *programme) {
    opf_plan_search *planner = programme->planner;
    opf_arena *arena = planner->arena;
    programme->known = opf_map_new(arena);
    programme->of_size = OPF_ARRAY(arena, opf_down_set *, planner->n_atoms + 1);
    programme->end = OPF_ARRAY(arena, opf_down_set *, planner->n_atoms + 1);
    programme->of_first = opf_arena_array(arena, (size_t)planner->n_atoms + 1, sizeof *programme->of_first);
    programme->with = OPF_ARRAY(arena, uint64_t, planner->n_words + 1);
    for (size_t i = 0; i < planner->possible.count; i++)
        OPF_PUSH(arena, &programme->of_first[planner->possible.data[i]->first], planner->possible.data[i]);
    down_set(programme, programme->with, 0)->seconds = 0;
    for (int size = 0; size < planner->n_atoms; size++)
        for (opf_down_set *set = programme->of_size[size]; set; set = set->next) {
            extend(programme, set);
            if (programme->n_sets > MOST_DOWN_SETS)
                return NULL;
        }
    return programme->of_size[planner->n_atoms];
}

/* ---- the better of both ---- */

static double greedy_seconds(opf_plan_search *planner, const opf_growth_state *base, const opf_growth_state *greedy) {
    double seconds = 0;
    for (int g = 0; g < planner->growth->fuser->n_groups; g++) {
        uint64_t *bits = OPF_ARRAY(planner->arena, uint64_t, planner->n_words + 1);
        bool any = false;
        for (size_t m = 0; m < greedy->members[g].count; m++) {
            int atom = planner->atoms[base->group_of[greedy->members[g].data[m]->id]];
            if (atom >= 0)
                opf_bits_set(bits, atom), any = true;
        }
        const opf_plan_group *group = any ? opf_map_get(&planner->known, opf_plan_set(planner, bits)) : NULL;
        seconds += group ? group->seconds : 0;
    }
    return seconds;
}

static void mark(bool *per_node, const opf_plan_search *planner, const uint64_t *atoms) {
    for (int a = 0; atoms && a < planner->n_atoms; a++)
        for (size_t m = 0; opf_bits_has(atoms, a) && m < planner->growth->members[planner->groups[a]].count; m++)
            per_node[planner->growth->members[planner->groups[a]].data[m]->id] = true;
}

/* The groups of the cheapest plan, made from atoms in the order in which they run. */
static void make(opf_plan_search *planner, const opf_down_set *whole) {
    opf_growth *growth = planner->growth;
    OPF_VEC(const opf_plan_group *) groups = {0};
    for (const opf_down_set *set = whole; set->last; set = set->before)
        OPF_PUSH(planner->arena, &groups, set->last);
    while (groups.count > 0) {
        const opf_plan_group *group = groups.data[--groups.count];
        if (group->count == 1)
            continue;
        mark(growth->prologue, planner, group->front);
        mark(growth->band, planner, group->band);
        growth->set.count = 0;
        OPF_PUSH(growth->fuser->arena, &growth->set, planner->groups[group->head]);
        for (int a = 0; a < planner->n_atoms; a++)
            if (a != group->head && opf_bits_has(group->atoms, a))
                OPF_PUSH(growth->fuser->arena, &growth->set, planner->groups[a]);
        opf_growth_join(growth, opf_growth_united(growth), group->kind, group->rule);
        growth->light[planner->groups[group->head]] = group->light;
    }
}

typedef enum opf_comparison { STAYS, BETTER, TOO_MANY_ATOMS, TOO_MANY_GROUPS, TOO_MANY_SETS } opf_comparison;

static opf_comparison compare(opf_plan_search *planner, const opf_growth_state *base, const opf_growth_state *greedy, opf_plans *plan, const opf_down_set **whole) {
    opf_fuser *fuser = planner->growth->fuser;
    opf_programme programme = {.planner = planner};
    if (planner->n_atoms > MOST_ATOMS)
        return TOO_MANY_ATOMS;
    planner->reads = new_table(planner);
    planner->readers = new_table(planner);
    planner->before = new_table(planner);
    planner->behind = new_table(planner);
    planner->blocks = OPF_ARRAY(planner->arena, bool, planner->n_atoms + 1);
    for (int a = 0; a < planner->n_atoms; a++)
        planner->blocks[a] = opf_growth_may_join_blocks(planner->growth, planner->groups[a]);
    link_atoms(planner);
    opf_arena *kept = fuser->arena;
    fuser->arena = planner->arena;
    planner->growth->set.data = NULL;
    planner->growth->set.count = planner->growth->set.capacity = 0;
    bool found = opf_plan_find_groups(planner, base, greedy);
    planner->growth->set.data = NULL; /* of the planner's arena */
    planner->growth->set.count = planner->growth->set.capacity = 0;
    fuser->arena = kept;
    plan->greedy_seconds = greedy_seconds(planner, base, greedy);
    plan->groups = (int)planner->possible.count;
    if (!found)
        return TOO_MANY_GROUPS;
    *whole = run(&programme);
    plan->down_sets = programme.n_sets;
    if (!*whole)
        return TOO_MANY_SETS;
    plan->seconds = (*whole)->seconds;
    return plan->seconds < plan->greedy_seconds * (1 - LEAST_GAIN) ? BETTER : STAYS;
}

bool opf_growth_plan(opf_growth *growth, const opf_growth_state *base) {
    static const char *const words[] = {
        [TOO_MANY_ATOMS] = "the graph has too many parts", [TOO_MANY_GROUPS] = "the graph has too many possible groups", [TOO_MANY_SETS] = "the graph is too wide"};
    opf_fuser *fuser = growth->fuser;
    opf_plans *plan = &fuser->fusion->plans;
    opf_growth_state *greedy = opf_growth_save(growth);
    opf_growth_load(growth, base);
    opf_plan_search *planner = new_planner(growth, opf_arena_new());
    const opf_down_set *whole = NULL;
    opf_comparison comparison = compare(planner, base, greedy, plan, &whole);
    *plan = (opf_plans){plan->greedy_seconds, plan->seconds, plan->down_sets, plan->groups, comparison <= BETTER, comparison == BETTER,
                       comparison > BETTER ? words[comparison] : NULL};
    if (comparison == BETTER) {
        fuser->fusion->trace->events.count = base->n_events;
        make(planner, whole);
    } else {
        opf_growth_load(growth, greedy);
    }
    growth->join_count++;
    opf_interner_free(planner->interner);
    opf_arena_free(planner->arena);
    return comparison == BETTER;
}
