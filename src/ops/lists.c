/* Types of sequences and optionals. */
#include "ops/lists.h"

#include "ops/counts.h"
#include "ops/facts.h"

static bool same_dim(opf_module *module, opf_dim a, opf_dim b) { return a == b || (a && b && opf_dim_canonical(module, a) == opf_dim_canonical(module, b)); }

bool opf_list_same(opf_module *module, const opf_list_type *a, const opf_list_type *b) {
    if (!a || !b) return a == b;
    bool same = a->optional == b->optional && a->sequence == b->sequence && a->rank == b->rank;
    for (int k = 0; same && k < a->rank; k++) same = same_dim(module, a->dims[k], b->dims[k]);
    return same;
}

const opf_list_type *opf_list_join(opf_module *module, const opf_list_type *a, const opf_list_type *b) {
    opf_list_type *joined = OPF_NEW(module->arena, opf_list_type);
    const opf_list_type *only = a->rank == OPF_RANK_NONE ? b : b->rank == OPF_RANK_NONE ? a : NULL;
    *joined = only ? *only : *a;
    joined->optional = a->optional || b->optional;
    joined->sequence = a->sequence || b->sequence;
    if (only) return joined;
    joined->rank = a->rank == b->rank ? a->rank : OPF_RANK_MIXED;
    for (int k = 0; k < joined->rank; k++)
        if (!same_dim(module, a->dims[k], b->dims[k])) joined->dims[k] = NULL;
    return joined;
}

const opf_list_type *opf_list_of(const opf_value *tensor, bool optional) {
    const opf_module *module = tensor->graph->module;
    opf_list_type *type = OPF_NEW(module->arena, opf_list_type);
    type->optional = optional;
    type->sequence = !optional;
    type->rank = tensor->rank;
    for (int k = 0; k < tensor->rank; k++) type->dims[k] = opf_dim_is_counted(module, tensor->dims[k]) ? NULL : tensor->dims[k];
    return type;
}

const opf_list_type *opf_list_declared(opf_module *module, const opf_type *type) {
    opf_list_type *list = OPF_NEW(module->arena, opf_list_type);
    list->optional = type->kind == OPF_VALUE_OPTIONAL;
    if (list->optional) type = type->inner;
    list->sequence = type && type->kind == OPF_VALUE_SEQUENCE;
    if (list->sequence) type = type->inner;
    if (!type || type->kind != OPF_VALUE_TENSOR || (!list->optional && !list->sequence)) return NULL;
    list->rank = type->rank >= 0 ? type->rank : OPF_RANK_MIXED;
    for (int k = 0; k < list->rank; k++)
        if (type->dims[k] >= 0 && !(type->names && type->names[k])) list->dims[k] = opf_int(module->pool, type->dims[k]);
    return list;
}
