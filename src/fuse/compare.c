/* Two explanations of fusions. Nodes are known by the path of their graph and their name. */
#include "fuse/compare.h"

#include <string.h>

#include "base/map.h"
#include "base/intern.h"
#include "base/vec.h"
#include "fuse/explain.h"
#include "fuse/explain_json.h"

/* ---- reading ---- */

static const char *string_of(const json_t *object, const char *field) {
    const char *string = json_string_value(json_object_get(object, field));
    return string ? string : "";
}

static json_int_t integer_of(const json_t *object, const char *field) { return json_integer_value(json_object_get(object, field)); }

static bool is_kernel(const json_t *group) { return strcmp(string_of(group, "step"), "kernel") == 0; }

const char *opf_explanation_wrong(const json_t *explanation) {
    const json_t *groups = json_object_get(explanation, "groups"), *group;
    size_t g;
    if (!json_is_object(explanation) || !json_is_array(groups))
        return "it has no list of groups";
    if (integer_of(explanation, "schema") != 1)
        return "its schema is not 1";
    json_array_foreach(groups, g, group)
        if (!json_is_array(json_object_get(group, "nodes")) || !json_is_integer(json_object_get(group, "id")))
            return "a group has no number or no list of nodes";
    return NULL;
}

/* ---- where nodes are ---- */

typedef struct opf_places {
    opf_arena *arena;
    opf_interner *names;
    opf_map groups; /* interned "path\nname" → group */
} opf_places;

static const char *key_of(const opf_places *places, const json_t *group, const char *name) {
    return opf_intern(places->names, opf_arena_printf(places->arena, "%s\n%s", string_of(group, "graph"), name));
}

static opf_places places_of(const json_t *explanation, opf_interner *names, opf_arena *arena) {
    opf_places places = {arena, names, opf_map_new(arena)};
    const json_t *group, *name;
    size_t g, n;
    json_array_foreach(json_object_get(explanation, "groups"), g, group)
        json_array_foreach(json_object_get(group, "nodes"), n, name)
            if (json_is_string(name))
                opf_map_set(&places.groups, key_of(&places, group, json_string_value(name)), (void *)group);
    return places;
}

static const json_t *place_of(const opf_places *places, const json_t *like, const char *name) {
    return opf_map_get(&places->groups, key_of(places, like, name));
}

/* Nodes of the explanation's kernels, and how many of them the other one lacks. */
static int count_missing(const json_t *explanation, const opf_places *other, int *all) {
    const json_t *group, *name;
    size_t g, n;
    int missing = 0;
    *all = 0;
    json_array_foreach(json_object_get(explanation, "groups"), g, group)
        json_array_foreach(json_object_get(group, "nodes"), n, name) {
            if (!is_kernel(group) || !json_is_string(name))
                continue;
            ++*all;
            missing += place_of(other, group, json_string_value(name)) == NULL;
        }
    return missing;
}

/* ---- kernels by their nodes ---- */

/* The refused uses of `now` between nodes of the old kernel. */
static json_t *cuts(const json_t *now, const json_t *old_group, const opf_places *old) {
    json_t *list = json_array(), *edge;
    size_t e;
    json_array_foreach(json_object_get(now, "edges"), e, edge)
        if (strcmp(string_of(edge, "verdict"), "refused") == 0 && place_of(old, edge, string_of(edge, "from")) == old_group &&
            place_of(old, edge, string_of(edge, "to")) == old_group)
            json_array_append(list, edge);
    return list;
}

static bool holds(const json_t *list, const json_t *id) {
    const json_t *entry;
    size_t i;
    json_array_foreach(list, i, entry)
        if (json_equal(entry, id))
            return true;
    return false;
}

/* Kernels of the other explanation that the nodes of `group` are in. */
static json_t *kernels_now(const json_t *group, const opf_places *other) {
    json_t *ids = json_array(), *name;
    size_t n;
    json_array_foreach(json_object_get(group, "nodes"), n, name) {
        const json_t *place = json_is_string(name) ? place_of(other, group, json_string_value(name)) : NULL;
        if (place && is_kernel(place) && !holds(ids, json_object_get(place, "id")))
            json_array_append(ids, json_object_get(place, "id"));
    }
    return ids;
}

/* Kernels of `from` whose nodes are in several kernels of the other one; with the uses that `cut` refuses, where it is not NULL. */
static json_t *split(const json_t *from, const opf_places *own, const opf_places *other, const char *here, const char *there, const json_t *cut) {
    json_t *list = json_array(), *group;
    size_t g;
    json_array_foreach(json_object_get(from, "groups"), g, group) {
        json_t *ids = is_kernel(group) ? kernels_now(group, other) : NULL;
        if (ids && json_array_size(ids) > 1) {
            json_t *change = json_pack("{s:O,s:O,s:O}", here, json_object_get(group, "id"), there, ids, "nodes", json_object_get(group, "nodes"));
            if (cut)
                json_object_set_new(change, "edges", cuts(cut, group, own));
            json_array_append_new(list, change);
        }
        json_decref(ids);
    }
    return list;
}

/* ---- kernels by their operators ---- */

static json_t *count_operators(const json_t *explanation) {
    json_t *counts = json_object();
    const json_t *group, *op;
    size_t g, n;
    json_array_foreach(json_object_get(explanation, "groups"), g, group) {
        opf_text text = {0};
        json_array_foreach(json_object_get(group, "ops"), n, op)
            opf_text_printf(&text, "%s%s", n ? " + " : "", json_is_string(op) ? json_string_value(op) : "?");
        const char *key = opf_text_string(&text);
        if (is_kernel(group) && json_array_size(json_object_get(group, "ops")) > 1)
            json_object_set_new(counts, key, json_integer(integer_of(counts, key) + 1));
        opf_text_free(&text);
    }
    return counts;
}

/* Kernels of several operators that `from` has more of. */
static json_t *more(const json_t *from, const json_t *other) {
    json_t *list = json_array(), *here = count_operators(from), *there = count_operators(other), *count;
    const char *ops;
    json_object_foreach(here, ops, count) {
        json_int_t difference = json_integer_value(count) - integer_of(there, ops);
        if (difference > 0)
            json_array_append_new(list, json_pack("{s:s,s:I}", "ops", ops, "count", difference));
    }
    json_decref(here);
    json_decref(there);
    return list;
}

/* ---- both ---- */

opf_comparison opf_compare_explanations(const json_t *old, const json_t *now, opf_arena *arena) {
    opf_comparison comparison = {.old = old, .now = now};
    opf_interner *names = opf_interner_new();
    opf_places before = places_of(old, names, arena), after = places_of(now, names, arena);
    int n_old, n_now;
    comparison.only_old = count_missing(old, &after, &n_old);
    comparison.only_now = count_missing(now, &before, &n_now);
    comparison.by_operators = n_old > 0 && 2 * comparison.only_old > n_old;
    if (comparison.by_operators) {
        bool worse = integer_of(now, "kernels") > integer_of(old, "kernels");
        comparison.lost = worse ? more(old, now) : json_array();
        comparison.won = more(now, old);
        opf_interner_free(names);
        return comparison;
    }
    comparison.lost = split(old, &before, &after, "old", "now", now);
    comparison.won = split(now, &after, &before, "now", "old", NULL);
    opf_interner_free(names);
    return comparison;
}

void opf_comparison_free(opf_comparison *comparison) {
    json_decref(comparison->lost);
    json_decref(comparison->won);
}

/* ---- printing ---- */

static void print_side(const char *name, const json_t *side, opf_text *out) {
    opf_text_printf(out, "%s: policy %s, %lld kernels", name, string_of(side, "policy"), (long long)integer_of(side, "kernels"));
    if (json_object_get(side, "bytes_after")) {
        opf_text_add(out, ", ");
        opf_print_bytes(integer_of(side, "bytes_after"), out);
        opf_text_add(out, " read and written");
    }
    opf_text_add(out, "\n");
}

static void print_list(const json_t *list, const char *between, opf_text *out) {
    const json_t *entry;
    size_t i;
    json_array_foreach(list, i, entry) {
        opf_text_add(out, i ? between : "");
        if (json_is_string(entry))
            opf_text_add(out, json_string_value(entry));
        else
            opf_text_printf(out, "%lld", (long long)json_integer_value(entry));
    }
}

static void print_change(const json_t *change, bool lost, opf_text *out) {
    const char *ops = json_string_value(json_object_get(change, "ops"));
    const json_t *edge;
    size_t e;
    if (ops) {
        opf_text_printf(out, "  %lld %s  %s\n", (long long)integer_of(change, "count"), lost ? "fewer" : "more", ops);
        return;
    }
    opf_text_printf(out, lost ? "  was kernel %lld, is in " : "  is kernel %lld, was in ", (long long)integer_of(change, lost ? "old" : "now"));
    print_list(json_object_get(change, lost ? "now" : "old"), ", ", out);
    opf_text_add(out, ":  ");
    print_list(json_object_get(change, "nodes"), " + ", out);
    opf_text_add(out, "\n");
    json_array_foreach(json_object_get(change, "edges"), e, edge)
        opf_text_printf(out, "    '%s' -> '%s'  [%s] %s\n      would be allowed by: %s\n", string_of(edge, "from"), string_of(edge, "to"), string_of(edge, "rule"),
                        string_of(edge, "reason"), string_of(edge, "remedy"));
}

static void print_changes(const char *title, const json_t *list, bool lost, opf_text *out) {
    const json_t *change;
    size_t i;
    json_array_foreach(list, i, change) {
        opf_text_add(out, i ? "" : title);
        print_change(change, lost, out);
    }
}

void opf_comparison_text(const opf_comparison *comparison, const char *old_name, opf_text *out) {
    print_side(old_name, comparison->old, out);
    print_side(string_of(comparison->now, "model"), comparison->now, out);
    if (comparison->by_operators)
        opf_text_add(out, "most nodes have other names than before: kernels are compared by their operators\n");
    else if (comparison->only_old || comparison->only_now)
        opf_text_printf(out, "nodes of kernels: %d only before, %d only now\n", comparison->only_old, comparison->only_now);
    print_changes("lost:\n", comparison->lost, true, out);
    print_changes("won:\n", comparison->won, false, out);
    if (json_array_size(comparison->lost) == 0)
        opf_text_add(out, "no fusion was lost\n");
}

static json_t *side_object(const json_t *side) {
    return json_pack("{s:s,s:s,s:I,s:I}", "model", string_of(side, "model"), "policy", string_of(side, "policy"), "kernels", integer_of(side, "kernels"), "bytes_after",
                     integer_of(side, "bytes_after"));
}

json_t *opf_comparison_object(const opf_comparison *comparison) {
    return json_pack("{s:i,s:o,s:o,s:s,s:O,s:O,s:i,s:i}", "schema", 1, "old", side_object(comparison->old), "now", side_object(comparison->now), "by",
                     comparison->by_operators ? "operators" : "nodes", "lost", comparison->lost, "won", comparison->won, "only_old", comparison->only_old, "only_now",
                     comparison->only_now);
}
