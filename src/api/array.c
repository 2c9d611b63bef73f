/* Arrays at the border of the API, and the tensors behind them. */
#include <stdlib.h>
#include <string.h>

#include "api/lists.h"
#include "base/checked.h"
#include "onnx/onnx.h"

const char *opf_array_dtype_name(int dtype) { return opf_dtype_valid(dtype) ? opf_dtype_name((opf_dtype)dtype) : "unknown"; }

opf_array opf_array_of(const opf_tensor *tensor, const char *name) {
    return (opf_array){.name = name, .dtype = (int)tensor->dtype, .rank = tensor->rank, .dims = tensor->dims, .data = tensor->data};
}

opf_status opf_array_tensor(const opf_tensor **out, const opf_array *array, opf_arena *arena, opf_diags *diags) {
    const char *why = NULL;
    const opf_tensor *tensor = NULL;
    if (array->kind != OPF_ARRAY_TENSOR) why = "it is no tensor";
    else if (!opf_dtype_valid(array->dtype)) why = "its element type is unknown";
    else if (array->rank < 0 || array->rank > OPF_MAX_RANK) why = "its rank is out of range";
    else tensor = opf_tensor_new(arena, (opf_dtype)array->dtype, array->rank, array->dims, array->data, &why);
    if (tensor && tensor->bytes && !array->data) why = "it has no data";
    if (why) {
        opf_diag_add(diags, OPF_ERROR, "input", OPF_NO_PLACE, "array '%s': %s", array->name ? array->name : "", why);
        return OPF_ERROR_INPUT;
    }
    *out = tensor;
    return OPF_OK;
}

/* ---- files ---- */

static bool ends_in(const char *path, const char *ending) {
    size_t length = strlen(path), tail = strlen(ending);
    return length >= tail && strcmp(path + length - tail, ending) == 0;
}

static opf_status unknown_file(opf_context *context, const char *path) {
    opf_diag_add(context->diags, OPF_ERROR, "usage", (opf_place){path, NULL, NULL, -1}, "a tensor file must be named .npy or .pb");
    return OPF_ERROR_USAGE;
}

static opf_status pb_read(opf_array *out, opf_context *context, const char *path) {
    opf_tensor *tensor;
    const char *name = NULL;
    opf_status status = opf_onnx_read_tensor(&tensor, &name, path, context->arena, context->diags);
    if (status == OPF_OK) *out = opf_array_of(tensor, name);
    return status;
}

static opf_status pb_write(opf_context *context, const opf_array *array, const char *path) {
    opf_arena *arena = opf_arena_new();
    const opf_tensor *tensor;
    opf_status status = opf_array_tensor(&tensor, array, arena, context->diags);
    if (status == OPF_OK) {
        opf_text text = {0};
        opf_onnx_write_tensor(tensor, array->name ? array->name : "", &text);
        status = opf_file_write(path, opf_text_string(&text), text.length, context->diags);
        opf_text_free(&text);
    }
    opf_arena_free(arena);
    return status;
}

opf_status opf_array_read(opf_array *out, opf_context *context, const char *path) {
    if (ends_in(path, ".npy")) return opf_npy_read(out, context, path);
    if (ends_in(path, ".pb")) return pb_read(out, context, path);
    return unknown_file(context, path);
}

opf_status opf_array_write(opf_context *context, const opf_array *array, const char *path) {
    if (ends_in(path, ".npy")) return opf_npy_write(context, array, path);
    if (ends_in(path, ".pb")) return pb_write(context, array, path);
    return unknown_file(context, path);
}

/* ---- sequences and optionals ---- */

static opf_status list_read(opf_array *out, opf_context *context, const opf_port *port, const char *path) {
    opf_tensor *tensor;
    const char *name = NULL;
    opf_status status = opf_onnx_read_list(&tensor, &name, port->sequence, port->optional, path, context->arena, context->diags);
    if (status != OPF_OK) return status;
    const opf_list *list = tensor->data;
    *out = opf_array_of_list(list, port->sequence, list->length > 0 ? (int)tensor->dtype : port->dtype, OPF_ARRAY(context->arena, opf_array, list->length > 0 ? list->length : 0));
    out->name = name;
    return OPF_OK;
}

static opf_status list_write(opf_context *context, const opf_port *port, const opf_array *array, const char *path) {
    opf_arena *arena = opf_arena_new();
    const opf_tensor *list;
    opf_status status = opf_array_value(&list, array, true, arena, context->diags);
    if (status == OPF_OK) {
        opf_text text = {0};
        opf_onnx_write_list(list, port->sequence, port->optional, array->name, &text);
        status = opf_file_write(path, opf_text_string(&text), text.length, context->diags);
        opf_text_free(&text);
    }
    opf_arena_free(arena);
    return status;
}

/* "x.npy", 2 → "x.2.npy" */
static const char *item_path(opf_context *context, const char *path, size_t k) {
    return opf_arena_printf(context->arena, "%.*s.%zu.npy", (int)(strlen(path) - strlen(".npy")), path, k);
}

static opf_status items_read(opf_array *out, opf_context *context, const opf_port *port, const char *path) {
    OPF_VEC(opf_array) items = {0};
    if (opf_file_exists(path) && !opf_file_exists(item_path(context, path, 0))) {
        opf_diag_add(context->diags, OPF_ERROR, "usage", (opf_place){path, NULL, NULL, -1}, "input '%s' is a sequence; its elements are read from %s and so on", port->name, item_path(context, path, 0));
        return OPF_ERROR_USAGE;
    }
    if (!opf_file_exists(item_path(context, path, 0))) {
        opf_diag_add(context->diags, OPF_ERROR, "io", (opf_place){path, NULL, NULL, -1}, "input '%s' is a sequence, and there is no file %s with its first element; an empty sequence can be given as a .pb", port->name, item_path(context, path, 0));
        return OPF_ERROR_INPUT;
    }
    for (size_t k = 0; opf_file_exists(item_path(context, path, k)); k++) {
        opf_array item;
        opf_status status = opf_npy_read(&item, context, item_path(context, path, k));
        if (status != OPF_OK) return status;
        OPF_PUSH(context->arena, &items, item);
    }
    *out = (opf_array){.name = port->name, .dtype = port->dtype, .kind = OPF_ARRAY_SEQUENCE, .n_items = items.count, .items = items.data};
    return OPF_OK;
}

static opf_status maps_read(opf_array *out, opf_context *context, const opf_port *port, const char *path) {
    opf_tensor *tensor;
    const char *name = NULL;
    opf_status status = opf_onnx_read_maps(&tensor, &name, port->map_keys, path, context->arena, context->diags);
    if (status == OPF_OK) *out = opf_array_of(tensor, name);
    return status;
}

opf_status opf_port_read(opf_array *out, opf_context *context, const opf_port *port, const char *path) {
    if (ends_in(path, ".pb") && port->map_keys) return maps_read(out, context, port, path);
    if (ends_in(path, ".npy") && port->sequence) return items_read(out, context, port, path);
    if (ends_in(path, ".pb") && (port->sequence || port->optional)) return list_read(out, context, port, path);
    return opf_array_read(out, context, path);
}

opf_status opf_port_write(opf_context *context, const opf_port *port, const opf_array *array, const char *path) {
    opf_status status = OPF_OK;
    if (ends_in(path, ".pb") && (port->sequence || port->optional)) return list_write(context, port, array, path);
    if (ends_in(path, ".npy") && array->kind == OPF_ARRAY_ABSENT) return OPF_OK;
    if (!ends_in(path, ".npy") || array->kind != OPF_ARRAY_SEQUENCE) return opf_array_write(context, array, path);
    for (size_t k = 0; k < array->n_items && status == OPF_OK; k++) status = opf_npy_write(context, &array->items[k], item_path(context, path, k));
    return status;
}

opf_status opf_file_save(opf_context *context, const char *path, const void *data, size_t size) { return opf_file_write(path, data, size, context->diags); }

/* ---- conversion ---- */

opf_status opf_array_convert(opf_array *out, opf_context *context, const opf_array *array, int dtype) {
    const opf_tensor *from;
    opf_status status = opf_array_tensor(&from, array, context->arena, context->diags);
    if (status != OPF_OK) return status;
    bool numbers = opf_dtype_valid(dtype) && from->dtype != OPF_STRING && dtype != OPF_STRING;
    if (!numbers) {
        opf_diag_add(context->diags, OPF_ERROR, "input", OPF_NO_PLACE, "an array of %s cannot become one of %s", opf_array_dtype_name(array->dtype),
                     opf_array_dtype_name(dtype));
        return OPF_ERROR_INPUT;
    }
    const char *why;
    opf_tensor *to = opf_tensor_zeros(context->arena, (opf_dtype)dtype, from->rank, from->dims, &why);
    for (int64_t i = 0; to && i < to->elements; i++) {
        if (opf_dtype_is_float(from->dtype)) opf_dtype_store(to->dtype, (void *)to->data, (size_t)i, opf_tensor_get(from, i));
        else opf_dtype_store_int(to->dtype, (void *)to->data, (size_t)i, opf_tensor_get_int(from, i));
    }
    if (!to) return OPF_ERROR_INPUT;
    *out = opf_array_of(to, array->name);
    return OPF_OK;
}

int64_t opf_array_elements(const opf_array *array) {
    int64_t elements = 1;
    for (int k = 0; k < array->rank; k++)
        if (array->dims[k] < 0 || !opf_checked_mul(elements, array->dims[k], &elements)) return -1;
    return elements;
}

double opf_array_get(const opf_array *array, int64_t index) { return opf_dtype_load((opf_dtype)array->dtype, array->data, (size_t)index); }
