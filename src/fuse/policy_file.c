/* Groups given in a file: what `explain --json` printed, as it is or changed by hand. Only the node names of groups are
 * read (`nodes`, those that are computed again in `copied`, and in `stored` those whose results are stored though nobody outside
 * reads them); nodes that no group names stand alone. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "fuse/matched.h"

/* A node that a group of the file computes again. */
typedef struct opf_copy { const char *name; int group; } opf_copy;

typedef struct opf_pinning {
    opf_fuser *fuser;
    const char *path;
    opf_map nodes;   /* interned name → node */
    int *pinned;     /* per node: position of its group in the file + 1, 0 for none */
    OPF_VEC(opf_copy) copies;
    bool *view;      /* per node: alone, and the file says that it copies nothing */
    opf_status status;
} opf_pinning;

static opf_diag *complain(opf_pinning *pinning, const char *format, ...) __attribute__((format(printf, 2, 3)));

static opf_diag *complain(opf_pinning *pinning, const char *format, ...) {
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    opf_place place = OPF_NO_PLACE;
    place.file = pinning->path;
    pinning->status = OPF_ERROR_INPUT;
    return opf_diag_add(pinning->fuser->fusion->module->diags, OPF_ERROR, "groups", place, "%s", message);
}

/* Names of nodes and of the model's nodes that they stand for. */
static void learn_names(opf_pinning *pinning) {
    opf_fuser *fuser = pinning->fuser;
    pinning->nodes = opf_map_new(fuser->arena);
    for (int i = 0; i < fuser->n_nodes; i++) {
        opf_node *node = fuser->graph->nodes.data[i];
        for (int k = 0; k < node->n_origins; k++)
            opf_map_set(&pinning->nodes, opf_intern(fuser->fusion->module->names, node->origins[k]), node);
    }
    for (int i = 0; i < fuser->n_nodes; i++) /* its own name is surer than what another, made of the same, stands for */
        opf_map_set(&pinning->nodes, fuser->graph->nodes.data[i]->name, fuser->graph->nodes.data[i]);
}

/* NULL where the model has no node of this name: reported. */
static const opf_node *find_node(opf_pinning *pinning, const char *name, int group) {
    opf_module *module = pinning->fuser->fusion->module;
    const opf_node *node = opf_map_get(&pinning->nodes, opf_intern(module->names, name));
    if (!node) {
        opf_diag *diag = complain(pinning, "group %d names a node '%.200s' that the model does not have", group, name);
        opf_diag_hint(module->diags, diag, "make the file anew with `opfuse explain --json`");
    }
    return node;
}

static void pin(opf_pinning *pinning, const char *name, int group) {
    const opf_node *node = find_node(pinning, name, group);
    if (!node) return;
    if (pinning->pinned[node->id] && pinning->pinned[node->id] != group + 1) {
        complain(pinning, "node '%.200s' is in group %d and in group %d", name, pinning->pinned[node->id] - 1, group);
    } else {
        pinning->pinned[node->id] = group + 1;
    }
}

static bool is_copy(const opf_pinning *pinning, const char *name, int group) {
    for (size_t c = 0; c < pinning->copies.count; c++)
        if (pinning->copies.data[c].group == group && strcmp(pinning->copies.data[c].name, name) == 0)
            return true;
    return false;
}

/* Of `stored`: names of nodes. */
static void store(opf_pinning *pinning, const json_t *stored, int group) {
    size_t n;
    const json_t *name;
    json_array_foreach(stored, n, name) {
        const opf_node *node = json_is_string(name) ? find_node(pinning, json_string_value(name), group) : NULL;
        if (node)
            pinning->fuser->is_stored[node->id] = true;
    }
}

static void read_group(opf_pinning *pinning, const json_t *group, int number) {
    const json_t *nodes = json_object_get(group, "nodes"), *name;
    const char *graph = json_string_value(json_object_get(group, "graph"));
    if (graph && strcmp(graph, pinning->fuser->graph->path ? pinning->fuser->graph->path : "") != 0)
        return;
    if (!json_is_array(nodes)) {
        complain(pinning, "group %d has no list of nodes", number);
        return;
    }
    size_t n;
    const json_t *copied = json_object_get(group, "copied");
    json_array_foreach(copied, n, name)
        if (json_is_string(name))
            OPF_PUSH(pinning->fuser->arena, &pinning->copies, (opf_copy){opf_intern(pinning->fuser->fusion->module->names, json_string_value(name)), number});
    store(pinning, json_object_get(group, "stored"), number);
    const char *step = json_string_value(json_object_get(group, "step"));
    bool view = step && strcmp(step, opf_step_kind_name(OPF_STEP_VIEW)) == 0;
    json_array_foreach(nodes, n, name) {
        const opf_node *node = json_is_string(name) ? opf_map_get(&pinning->nodes, opf_intern(pinning->fuser->fusion->module->names, json_string_value(name))) : NULL;
        if (node && view && json_array_size(nodes) == 1)
            pinning->view[node->id] = true;
        if (json_is_string(name) && is_copy(pinning, json_string_value(name), number))
            continue;
        if (json_is_string(name))
            pin(pinning, json_string_value(name), number);
        else
            complain(pinning, "entry %zu of the nodes of group %d is no name", n, number);
    }
}

static void read_groups(opf_pinning *pinning) {
    json_error_t error;
    json_t *file = json_load_file(pinning->path, JSON_REJECT_DUPLICATES, &error);
    const json_t *groups = json_object_get(file, "groups"), *group;
    size_t g;
    if (!file)
        complain(pinning, "line %d, column %d: %.200s", error.line, error.column, error.text);
    else if (!json_is_array(groups))
        complain(pinning, "the file has no list of groups");
    json_array_foreach(groups, g, group)
        read_group(pinning, group, (int)g);
    json_decref(file);
}

opf_policy opf_groups_file_passes(const char *path, opf_policy otherwise) {
    json_error_t error;
    json_t *file = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    const json_t *passes = json_object_get(file, "passes");
    const char *name = json_string_value(passes ? passes : json_object_get(file, "policy"));
    for (int policy = OPF_POLICY_TVM; name && policy <= OPF_POLICY_BEST; policy++) /* none: they change nothing */
        if (strcmp(name, opf_policy_name((opf_policy)policy)) == 0)
            otherwise = (opf_policy)policy;
    json_decref(file);
    return otherwise;
}

static void take_copy(opf_fuser *fuser, const opf_node *node, int group) {
    if (fuser->folded[node->id] || opf_fuser_holds(fuser, group, node))
        return;
    fuser->is_copied[node->id] = true;
    OPF_PUSH(fuser->arena, &fuser->copied[group], fuser->graph->nodes.data[node->id]);
}

/* Numbers without gaps, in the order of first nodes. Folded nodes stand alone whatever the file says. */
static void take_groups(opf_pinning *pinning) {
    opf_fuser *fuser = pinning->fuser;
    int most = 0;
    for (int i = 0; i < fuser->n_nodes; i++)
        most = pinning->pinned[i] > most ? pinning->pinned[i] : most;
    int *by_file = OPF_ARRAY(fuser->arena, int, most + 1), *bound_groups = OPF_ARRAY(fuser->arena, int, fuser->matched.count + 2);
    for (int i = 0; i < fuser->n_nodes; i++) {
        const opf_matched *bound = fuser->joined[i];
        int *number = bound ? &bound_groups[bound->number] : pinning->pinned[i] && !fuser->folded[i] ? &by_file[pinning->pinned[i]] : NULL;
        if (!number || !*number) {
            fuser->group_kinds[fuser->n_groups] = fuser->kinds[i];
            fuser->formed[fuser->n_groups++] = OPF_RULE_PINNED;
            if (number)
                *number = fuser->n_groups;
        }
        int group = number ? *number - 1 : fuser->n_groups - 1;
        fuser->group_of[i] = group;
        if (fuser->kinds[i] > fuser->group_kinds[group])
            fuser->group_kinds[group] = fuser->kinds[i];
    }
    for (size_t c = 0; c < pinning->copies.count; c++) {
        const opf_copy *copy = &pinning->copies.data[c];
        const opf_node *node = opf_map_get(&pinning->nodes, copy->name);
        if (node && copy->group < most && by_file[copy->group + 1])
            take_copy(fuser, node, by_file[copy->group + 1] - 1);
    }
}

static opf_outcome outcome_of_use(opf_fuser *fuser, const opf_node *from, const opf_node *to, const opf_value *value) {
    (void)value;
    bool together = fuser->group_of[from->id] == fuser->group_of[to->id];
    if (!together && opf_fuser_holds(fuser, fuser->group_of[to->id], from))
        return (opf_outcome){.rule = OPF_RULE_COPIED};
    return (opf_outcome){.rule = together ? OPF_RULE_PINNED : OPF_RULE_PINNED_APART};
}

opf_status opf_policy_file(opf_fuser *fuser, const char *path) {
    opf_pinning pinning = {.fuser = fuser, .path = path, .pinned = OPF_ARRAY(fuser->arena, int, fuser->n_nodes), .view = OPF_ARRAY(fuser->arena, bool, fuser->n_nodes + 1)};
    learn_names(&pinning);
    read_groups(&pinning);
    if (pinning.status != OPF_OK)
        return pinning.status;
    take_groups(&pinning);
    opf_pinned_joins(fuser, pinning.view);
    fuser->outcome_of_use = outcome_of_use;
    return OPF_OK;
}
