/* Sequences and optionals at the border of the API: arrays with items ⇄ lists of the prelude. */
#include "api/lists.h"

#include <string.h>

#include "base/checked.h"

size_t opf_array_items(const opf_array *array) { return array->kind == OPF_ARRAY_SEQUENCE ? array->n_items : array->kind == OPF_ARRAY_TENSOR; }

opf_list opf_array_list(const opf_array *array, opf_element *elements) {
    size_t n = opf_array_items(array);
    for (size_t k = 0; k < n; k++) {
        const opf_array *item = array->kind == OPF_ARRAY_SEQUENCE ? &array->items[k] : array;
        elements[k] = (opf_element){item->data, item->dims, item->dtype, item->rank};
    }
    return (opf_list){array->kind == OPF_ARRAY_ABSENT ? -1 : (int64_t)n, elements};
}

static opf_array array_of(const opf_element *element) {
    return (opf_array){.dtype = element->dtype, .rank = element->rank, .dims = element->dims, .data = element->data};
}

opf_array opf_array_of_list(const opf_list *list, bool sequence, int dtype, opf_array *items) {
    if (list->length < 0) return (opf_array){.dtype = dtype, .kind = OPF_ARRAY_ABSENT};
    if (!sequence) return array_of(&list->elements[0]);
    for (int64_t k = 0; k < list->length; k++) items[k] = array_of(&list->elements[k]);
    return (opf_array){.dtype = dtype, .kind = OPF_ARRAY_SEQUENCE, .n_items = (size_t)list->length, .items = items};
}

static const char *item_problem(const opf_value *value, const opf_array *item) {
    const opf_list_type *type = value->list;
    int64_t elements = 1, size;
    if (item->kind != OPF_ARRAY_TENSOR) return "an element of it is no tensor";
    if (item->dtype != (int)value->dtype) return "an element of it is of another element type";
    if (item->rank < 0 || item->rank > OPF_MAX_RANK) return "an element of it has an impossible rank";
    if (type->rank >= 0 && item->rank != type->rank) return "an element of it has another number of axes";
    for (int k = 0; k < item->rank; k++) {
        if (item->dims[k] < 0 || !opf_checked_mul(elements, item->dims[k], &elements)) return "the shape of an element of it is impossible";
        if (type->rank >= 0 && type->dims[k] && opf_is_int(type->dims[k], &size) && size != item->dims[k]) return "an element of it has another shape";
    }
    if (elements && !item->data) return "an element of it has no data";
    size_t width = opf_dtype_bytes(value->dtype, 1) > 8 ? 8 : opf_dtype_bytes(value->dtype, 1);
    return width > 1 && elements && (uintptr_t)item->data % width ? "the data of an element of it is not aligned to its elements" : NULL;
}

const char *opf_array_list_problem(const opf_value *value, const opf_array *array) {
    const opf_list_type *type = value->list;
    if (array->kind == OPF_ARRAY_ABSENT) return type->optional ? NULL : "it is absent and is no optional";
    if (type->sequence != (array->kind == OPF_ARRAY_SEQUENCE)) return type->sequence ? "it is a tensor and must be a sequence" : "it is a sequence and must be a tensor";
    for (size_t k = 0; k < opf_array_items(array); k++) {
        const char *problem = item_problem(value, type->sequence ? &array->items[k] : array);
        if (problem) return problem;
    }
    return NULL;
}

opf_status opf_array_value(const opf_tensor **out, const opf_array *array, bool list, opf_arena *arena, opf_diags *diags) {
    if (array->kind == OPF_ARRAY_TENSOR && !list) return opf_array_tensor(out, array, arena, diags);
    for (size_t k = 0; k < opf_array_items(array); k++) {
        const opf_tensor *item;
        opf_status status = opf_array_tensor(&item, array->kind == OPF_ARRAY_SEQUENCE ? &array->items[k] : array, arena, diags);
        if (status != OPF_OK) return status;
    }
    opf_list made = opf_array_list(array, OPF_ARRAY(arena, opf_element, opf_array_items(array) + 1));
    *out = opf_tensor_of_list(arena, opf_dtype_valid(array->dtype) ? (opf_dtype)array->dtype : OPF_FLOAT32, &made);
    return OPF_OK;
}
