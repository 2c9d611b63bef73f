/* Attributes of nodes. */
#include <string.h>

#include "ir/graph.h"

const opf_attr *opf_node_attr(const opf_node *node, const char *name) {
    for (int i = 0; i < node->n_attrs; i++)
        if (strcmp(node->attrs[i].name, name) == 0) return &node->attrs[i];
    return NULL;
}

/* The attribute, if it is of this kind. One of another kind is as good as absent to the caller, but is remembered. */
static const opf_attr *attr_of_kind(const opf_node *node, const char *name, opf_attr_kind kind) {
    for (int i = 0; i < node->n_attrs; i++) {
        opf_attr *attr = &node->attrs[i];
        if (strcmp(attr->name, name) != 0) continue;
        if (attr->kind == kind) attr->read = true;
        else attr->asked = kind;
        return attr->kind == kind ? attr : NULL;
    }
    return NULL;
}

const opf_attr *opf_node_misread_attr(const opf_node *node) {
    for (int i = 0; i < node->n_attrs; i++)
        if (node->attrs[i].asked && !node->attrs[i].read) return &node->attrs[i];
    return NULL;
}

const char *opf_attr_kind_name(opf_attr_kind kind) {
    static const char *const names[] = {
        "nothing", "a float", "an integer", "a string", "a tensor", "a graph", "a list of floats", "a list of integers", "a list of strings", "a list of tensors",
        "a list of graphs", "a sparse tensor", "a list of sparse tensors", "a type", "a list of types",
    };
    return (size_t)kind < OPF_COUNT(names) ? names[kind] : "of an unknown kind";
}

int64_t opf_node_int(const opf_node *node, const char *name, int64_t otherwise) {
    const opf_attr *attr = attr_of_kind(node, name, OPF_ATTR_INT);
    return attr ? attr->ints[0] : otherwise;
}

double opf_node_float(const opf_node *node, const char *name, double otherwise) {
    const opf_attr *attr = attr_of_kind(node, name, OPF_ATTR_FLOAT);
    return attr ? (double)attr->floats[0] : otherwise;
}

const char *opf_node_string(const opf_node *node, const char *name, const char *otherwise) {
    const opf_attr *attr = attr_of_kind(node, name, OPF_ATTR_STRING);
    return attr ? attr->strings[0] : otherwise;
}

int opf_node_ints(const opf_node *node, const char *name, const int64_t **ints) {
    const opf_attr *attr = attr_of_kind(node, name, OPF_ATTR_INTS);
    if (!attr) return -1;
    *ints = attr->ints;
    return (int)attr->count;
}

static size_t element_size(opf_attr_kind kind) {
    switch (kind) {
    case OPF_ATTR_FLOAT: case OPF_ATTR_FLOATS: return sizeof(float);
    case OPF_ATTR_INT: case OPF_ATTR_INTS: return sizeof(int64_t);
    default: return sizeof(void *);
    }
}

static opf_attr *attr_slot(opf_node *node, const char *name) {
    for (int i = 0; i < node->n_attrs; i++)
        if (node->attrs[i].name == name) return &node->attrs[i];
    opf_attr *grown = OPF_ARRAY(node->graph->module->arena, opf_attr, node->n_attrs + 1);
    if (node->n_attrs) memcpy(grown, node->attrs, (size_t)node->n_attrs * sizeof *grown);
    node->attrs = grown;
    return &grown[node->n_attrs++];
}

opf_attr *opf_node_attr_add(opf_node *node, const char *name, opf_attr_kind kind, size_t count, const void *data) {
    opf_module *module = node->graph->module;
    opf_attr *attr = attr_slot(node, opf_intern(module->names, name));
    *attr = (opf_attr){.name = opf_intern(module->names, name), .kind = kind, .count = count};
    attr->ints = opf_arena_copy(module->arena, data, count * element_size(kind)); /* any member: all are one pointer */
    if (kind == OPF_ATTR_STRING || kind == OPF_ATTR_STRINGS) {
        size_t *sizes = OPF_ARRAY(module->arena, size_t, count);
        for (size_t i = 0; i < count; i++) sizes[i] = strlen(attr->strings[i]);
        attr->string_sizes = sizes;
    }
    return attr;
}
