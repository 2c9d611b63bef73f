/* Scalar operators from the registry, and which family comes next. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "maker.h"
#include "ops/scalar.h"

static bool takes(uint32_t types, opf_dtype dtype) { return types >> dtype & 1; }

/* A line whose T the type can be; by chance where several are. */
static const opf_scalar_case *choose_case(maker *m, const opf_scalar_op_entry *entry, opf_dtype dtype) {
    const opf_scalar_case *found = NULL;
    for (int c = 0; c < entry->n_cases; c++)
        if (takes(entry->cases[c].types, dtype) && (!found || chance(m, 50))) found = &entry->cases[c];
    return found;
}

/* A type of its set, that of x where that belongs to it. */
static opf_dtype choose_type(maker *m, uint32_t types, opf_dtype x) {
    static const opf_dtype usual[] = {OPF_FLOAT32, OPF_BOOL, OPF_INT64, OPF_INT32, OPF_UINT8, OPF_FLOAT16, OPF_FLOAT64, OPF_INT8};
    if (takes(types, x)) return x;
    for (int attempt = 0; attempt < 16; attempt++) {
        opf_dtype dtype = usual[pick(m, OPF_COUNT(usual))];
        if (takes(types, dtype)) return dtype;
    }
    return OPF_NO_DTYPE;
}

/* Second operands that not every number suits: divisors, amounts of shifts, exponents. */
static opf_value *safe_operand(maker *m, const char *op, opf_dtype dtype) {
    static const struct { const char *op; double least; int count; } table[] = {{"Div", 1, 5}, {"Mod", 1, 5}, {"BitShift", 0, 7}, {"Pow", 0, 4}};
    for (size_t i = 0; i < OPF_COUNT(table); i++)
        if (strcmp(table[i].op, op) == 0 && (opf_dtype_is_integer(dtype) || strcmp(op, "Pow") == 0)) return constant_number(m, dtype, table[i].least + pick(m, table[i].count));
    return NULL;
}

static void set_condition(opf_node *node, const opf_scalar_case *one) {
    if (!one->when || !one->is) return;
    if (isdigit((unsigned char)one->is[0])) set_int(node, one->when, atoi(one->is));
    else set_string(node, one->when, one->is);
}

static opf_value *grow_entry(maker *m, opf_value *x, const opf_scalar_op_entry *entry) {
    const opf_scalar_case *one = choose_case(m, entry, x->dtype);
    opf_value *inputs[OPF_SCALAR_OPERANDS + 2];
    int count = entry->n_operands, place = 0;
    if (!one) return NULL;
    if (entry->variadic) count += pick(m, 3) - 1;
    if (count < 1) count = 1;
    while (place < entry->n_operands && one->own[place]) place++; /* the first operand of type T is x */
    if (place == entry->n_operands) return NULL;
    if (count > 1 && place == 0 && chance(m, 25) && !safe_operand(m, entry->op.name, x->dtype)) place = pick(m, count < entry->n_operands ? count : entry->n_operands);
    for (int k = 0; k < count; k++) {
        const uint32_t own = k < entry->n_operands ? one->own[k] : 0;
        opf_dtype dtype = own ? choose_type(m, own, x->dtype) : x->dtype;
        if (dtype == OPF_NO_DTYPE) return NULL;
        bool absent = k < entry->n_operands && entry->operands[k].optional && chance(m, 40);
        opf_value *safe = k == 1 ? safe_operand(m, entry->op.name, dtype) : NULL;
        inputs[k] = k == place ? x : absent ? NULL : safe ? safe : strcmp(entry->op.name, "Clip") == 0 ? constant_number(m, dtype, k) : operand_for(m, x, dtype);
    }
    opf_node *node = begin(m, entry->op.name, count, inputs, 1);
    node->domain = opf_intern(m->module->names, entry->op.domain);
    if (*entry->op.domain) node->opset = 1;
    set_condition(node, one);
    return finish(m, node);
}

opf_value *grow_scalar(maker *m, opf_value *x) {
    static const char *const common[] = {"Add", "Mul", "Sub", "Relu", "Sigmoid", "Tanh", "Div", "Max", "Exp", "Sqrt", "Erf", "Clip", "Where"};
    for (int attempt = 0; attempt < 20; attempt++) {
        const opf_op *op = opf_op_at((size_t)pick(m, (int)opf_op_count()));
        if (chance(m, 40)) op = opf_op_find("", common[pick(m, OPF_COUNT(common))], m->opset);
        if (!op || !op->scalar) continue;
        op = opf_op_find(op->domain, op->name, *op->domain ? 1 : m->opset);
        if (!op || !op->scalar || strcmp(op->domain, "ai.onnx.ml") == 0) continue;
        opf_value *made = grow_entry(m, x, (const opf_scalar_op_entry *)op);
        if (made) return made;
    }
    return NULL;
}

static opf_value *grow_cast(maker *m, opf_value *x) {
    static const opf_dtype types[] = {OPF_FLOAT32, OPF_FLOAT32, OPF_FLOAT16, OPF_INT32, OPF_INT64, OPF_UINT8, OPF_INT8, OPF_BOOL, OPF_FLOAT64, OPF_BFLOAT16};
    opf_node *node = begin(m, "Cast", 1, &x, 1);
    set_int(node, "to", x->dtype == OPF_FLOAT32 ? types[pick(m, OPF_COUNT(types))] : OPF_FLOAT32);
    return finish(m, node);
}

opf_value *grow(maker *m) {
    static opf_value *(*const families[])(maker *, opf_value *) = {
        grow_scalar, grow_scalar, grow_scalar, grow_scalar, grow_arranged, grow_arranged, grow_arranged, grow_reduced, grow_reduced, grow_summed, grow_summed, grow_cast,
    };
    for (int attempt = 0; attempt < 8; attempt++) {
        opf_value *x = pick_value(m);
        int family = pick(m, x->dtype == OPF_FLOAT32 || chance(m, 70) ? OPF_COUNT(families) : 2);
        if (x->dtype != OPF_FLOAT32 && chance(m, 25)) family = OPF_COUNT(families) - 1; /* back to what most operators take */
        opf_value *made = families[family](m, x);
        if (made) return made;
    }
    return NULL;
}
