/* Attributes of nodes: all kinds; inside functions, references to the call's attributes. */
#include <string.h>

#include "onnx/reader.h"
#include "schema.pb.h"

int opf_attribute_kind(const opf_schema_Attribute *message) {
    if (message->has_type && message->type) return message->type;
    /* Files from before the field existed: the kind is that of the field that is there. */
    const struct { bool there; opf_attr_kind kind; } fields[] = {
        {message->has_f, OPF_ATTR_FLOAT}, {message->has_i, OPF_ATTR_INT}, {message->s.count > 0, OPF_ATTR_STRING},
        {message->t.count > 0, OPF_ATTR_TENSOR}, {message->g.count > 0, OPF_ATTR_GRAPH}, {message->floats.count > 0, OPF_ATTR_FLOATS},
        {message->ints.count > 0, OPF_ATTR_INTS}, {message->strings.count > 0, OPF_ATTR_STRINGS}, {message->tensors.count > 0, OPF_ATTR_TENSORS},
        {message->graphs.count > 0, OPF_ATTR_GRAPHS}, {message->tp.count > 0, OPF_ATTR_TYPE_PROTO}, {message->type_protos.count > 0, OPF_ATTR_TYPE_PROTOS},
        {message->sparse_tensor.count > 0, OPF_ATTR_SPARSE_TENSOR}, {message->sparse_tensors.count > 0, OPF_ATTR_SPARSE_TENSORS},
    };
    for (size_t i = 0; i < OPF_COUNT(fields); i++)
        if (fields[i].there) return fields[i].kind;
    return 0;
}

static bool same_text(opf_span a, opf_span b) { return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0); }

static const opf_schema_Attribute *find_attribute(opf_reader *reader, const opf_spans *messages, opf_span name) {
    for (size_t i = 0; i < messages->count; i++) {
        const opf_schema_Attribute *message = OPF_DECODE(reader, Attribute, messages->data[i], "attribute");
        if (message && same_text(opf_spans_last(&message->name), name)) return message;
    }
    return NULL;
}

const opf_schema_Attribute *opf_resolve_attribute(opf_reader *reader, opf_scope *scope, const opf_schema_Attribute *message, opf_scope **where) {
    while (message && opf_spans_last(&message->ref_attr_name).size) {
        opf_span name = opf_spans_last(&message->ref_attr_name);
        const opf_call_site *call = scope->call;
        if (!call) {
            opf_reader_error(reader, OPF_ERROR_INPUT, "read", "attribute '%.*s' refers to an attribute of a function, but the node is in no function", (int)name.size, (const char *)name.data);
            return NULL;
        }
        message = find_attribute(reader, &call->node->attribute, name);
        if (message) scope = call->scope;
        else {
            message = find_attribute(reader, &call->function->message->attribute_proto, name);
            scope = call->body;
            /* A default has a value; one that refers further would refer to itself. */
            if (message && opf_spans_last(&message->ref_attr_name).size) message = NULL;
        }
    }
    *where = scope;
    return message;
}

/* The list of spans that an attribute of this kind stands in, NULL for plain numbers. */
static const opf_spans *list_of(const opf_schema_Attribute *message, int kind) {
    switch (kind) {
    case OPF_ATTR_STRING: return &message->s;
    case OPF_ATTR_TENSOR: return &message->t;
    case OPF_ATTR_GRAPH: return &message->g;
    case OPF_ATTR_FLOATS: return &message->floats;
    case OPF_ATTR_INTS: return &message->ints;
    case OPF_ATTR_STRINGS: return &message->strings;
    case OPF_ATTR_TENSORS: return &message->tensors;
    case OPF_ATTR_GRAPHS: return &message->graphs;
    case OPF_ATTR_TYPE_PROTO: return &message->tp;
    case OPF_ATTR_TYPE_PROTOS: return &message->type_protos;
    case OPF_ATTR_SPARSE_TENSOR: return &message->sparse_tensor;
    case OPF_ATTR_SPARSE_TENSORS: return &message->sparse_tensors;
    default: return NULL;
    }
}

static bool read_numbers(opf_reader *reader, const opf_schema_Attribute *message, opf_attr *attr) {
    const void *data = attr->kind == OPF_ATTR_INT ? (const void *)&message->i : &message->f;
    size_t count = 1, width = attr->kind == OPF_ATTR_INT || attr->kind == OPF_ATTR_INTS ? sizeof(int64_t) : sizeof(float);
    int64_t *ints;
    bool good = true;
    if (attr->kind == OPF_ATTR_FLOATS) good = opf_spans_fixed(&message->floats, sizeof(float), &data, &count);
    if (attr->kind == OPF_ATTR_INTS) {
        good = opf_spans_varints(&message->ints, &ints, &count);
        data = ints;
    }
    if (!good) return opf_reader_error(reader, OPF_ERROR_INPUT, "read", "%s is malformed", reader->what);
    if (!opf_reader_spend(reader, count * width)) return false;
    attr->count = count;
    attr->ints = opf_arena_copy(reader->arena, data, count * width);
    return true;
}

/* The last one of a field that stands once; all of a list. */
static opf_span item(const opf_spans *list, const opf_attr *attr, size_t i) { return list->data[attr->count == 1 ? list->count - 1 : i]; }

static bool read_strings(opf_reader *reader, const opf_spans *list, opf_attr *attr) {
    const char **strings = OPF_ARRAY(reader->arena, const char *, attr->count);
    size_t *sizes = OPF_ARRAY(reader->arena, size_t, attr->count);
    for (size_t i = 0; i < attr->count; i++) {
        opf_span text = list->count ? item(list, attr, i) : (opf_span){NULL, 0};
        if (!opf_reader_spend(reader, text.size + sizeof(char *))) return false;
        strings[i] = opf_arena_string_n(reader->arena, (const char *)text.data, text.size);
        sizes[i] = text.size;
    }
    attr->strings = strings;
    attr->string_sizes = sizes;
    return true;
}

static bool read_objects(opf_reader *reader, opf_scope *scope, opf_node *node, const opf_spans *list, opf_attr *attr) {
    const void **objects = OPF_ARRAY(reader->arena, const void *, attr->count);
    const char *what = reader->what;
    bool good = opf_reader_spend(reader, attr->count * sizeof(void *));
    for (size_t i = 0; i < attr->count && good; i++) {
        opf_span bytes = item(list, attr, i);
        reader->what = what;
        if (attr->kind == OPF_ATTR_TENSOR || attr->kind == OPF_ATTR_TENSORS) {
            const opf_schema_Tensor *tensor = OPF_DECODE(reader, Tensor, bytes, "tensor");
            objects[i] = tensor ? opf_read_tensor(reader, tensor) : NULL;
        } else if (attr->kind == OPF_ATTR_SPARSE_TENSOR || attr->kind == OPF_ATTR_SPARSE_TENSORS) {
            const opf_schema_SparseTensor *tensor = OPF_DECODE(reader, SparseTensor, bytes, "sparse tensor");
            objects[i] = tensor ? opf_read_sparse(reader, tensor, NULL) : NULL;
        } else if (attr->kind == OPF_ATTR_TYPE_PROTO || attr->kind == OPF_ATTR_TYPE_PROTOS) {
            objects[i] = opf_read_type(reader, bytes);
        } else {
            const char *name = attr->kind == OPF_ATTR_GRAPH ? attr->name : opf_arena_printf(reader->scratch, "%s[%zu]", attr->name, i);
            objects[i] = opf_read_graph(reader, bytes, node, name, scope, scope->opsets, scope->n_opsets);
        }
        good = objects[i] != NULL;
    }
    attr->tensors = (const opf_tensor *const *)objects; /* any member: all are one pointer */
    return good;
}

static bool is_list(int kind) { return kind != OPF_ATTR_SPARSE_TENSOR && kind != OPF_ATTR_TYPE_PROTO && kind > OPF_ATTR_GRAPH; }

static bool read_value(opf_reader *reader, opf_scope *scope, opf_node *node, const opf_schema_Attribute *message, opf_attr *attr) {
    int kind = opf_attribute_kind(message);
    if (kind < OPF_ATTR_FLOAT || kind > OPF_ATTR_TYPE_PROTOS) return opf_reader_error(reader, OPF_ERROR_INPUT, "read", "%s has no value of a known kind (%d)", reader->what, kind);
    attr->kind = (opf_attr_kind)kind;
    if (kind == OPF_ATTR_FLOAT || kind == OPF_ATTR_INT || kind == OPF_ATTR_FLOATS || kind == OPF_ATTR_INTS) return read_numbers(reader, message, attr);
    const opf_spans *list = list_of(message, kind);
    attr->count = is_list(kind) ? list->count : 1;
    if (kind == OPF_ATTR_STRING || kind == OPF_ATTR_STRINGS) return read_strings(reader, list, attr);
    if (list->count < attr->count) return opf_reader_error(reader, OPF_ERROR_INPUT, "read", "%s has no value", reader->what);
    return read_objects(reader, scope, node, list, attr);
}

static bool read_attribute(opf_reader *reader, opf_scope *scope, opf_node *node, const opf_schema_Attribute *message, opf_attr *attr) {
    attr->name = opf_reader_name(reader, opf_spans_last(&message->name), "name of an attribute");
    if (!attr->name) return false;
    opf_scope *where;
    message = opf_resolve_attribute(reader, scope, message, &where);
    if (!message) return false; /* the call leaves it out, and so does the node then */
    reader->what = opf_arena_printf(reader->scratch, "attribute '%s'", attr->name);
    return read_value(reader, where, node, message, attr);
}

opf_attr *opf_read_attributes(opf_reader *reader, opf_scope *scope, opf_node *node, const opf_spans *messages, int *count) {
    opf_attr *attrs = OPF_ARRAY(reader->arena, opf_attr, messages->count);
    *count = 0;
    for (size_t i = 0; i < messages->count; i++) {
        const opf_schema_Attribute *message = OPF_DECODE(reader, Attribute, messages->data[i], "attribute");
        opf_place place = reader->place;
        opf_attr *attr = &attrs[*count];
        *attr = (opf_attr){0};
        if (message && read_attribute(reader, scope, node, message, attr)) {
            bool taken = false;
            for (int k = 0; k < *count && !taken; k++) taken = attrs[k].name == attr->name;
            if (taken) opf_reader_error(reader, OPF_ERROR_INPUT, "read", "attribute '%s' is given twice", attr->name);
            else ++*count;
        }
        reader->place = place; /* a sub-graph moved it */
    }
    return attrs;
}
