/* Comparing tensors under one of the tolerance rules. */
#include "check/compare.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "opf_abi.h"

/* ---- one element ---- */

/* The type's values in order, as integers, so that neighbours differ by 1. */
static int64_t ordered(opf_dtype dtype, double value) {
    unsigned char bytes[8] = {0};
    opf_dtype_store(dtype, bytes, 0, value);
    int bits = opf_dtype_bits(dtype);
    uint64_t code = 0;
    memcpy(&code, bytes, ((size_t)bits + 7) / 8);
    uint64_t sign = UINT64_C(1) << (bits - 1), magnitude = code & (sign - 1);
    return code & sign ? -(int64_t)magnitude : (int64_t)magnitude;
}

static double steps_between(opf_dtype dtype, double a, double b) {
    int64_t x = ordered(dtype, a), y = ordered(dtype, b);
    return (double)(x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x);
}

/* |a - b|: 0 for NaN beside NaN and for equal infinities, infinite where only one is NaN or infinite. */
static double difference(double a, double b) {
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b) ? 0 : INFINITY;
    return a == b ? 0 : fabs(a - b);
}

typedef struct opf_comparing {
    const opf_tensor *got, *expected;
    opf_tolerance tolerance;
    double rtol, atol;     /* allowed: atol + rtol * |expected| */
    double worst_excess, total;
    opf_comparison result;
} opf_comparing;

static void note_worst(opf_comparing *c, int64_t index, double got, double expected, double excess) {
    if (c->result.worst >= 0 && !(excess > c->worst_excess)) return;
    c->worst_excess = excess;
    c->result.worst = index;
    c->result.got = got;
    c->result.expected = expected;
}

static void compare_real(opf_comparing *c, int64_t index) {
    double got = opf_tensor_get(c->got, index), expected = opf_tensor_get(c->expected, index);
    double error = difference(got, expected), allowed = c->atol + c->rtol * fabs(expected);
    opf_comparison *r = &c->result;
    c->total += error;
    if (c->tolerance.rule == OPF_TOL_BITS && got == 0 && expected == 0 && signbit(got) != signbit(expected)) {
        r->differing++;
        note_worst(c, index, got, expected, 0);
    }
    if (error == 0) return;
    if (error > r->max_absolute) r->max_absolute = error;
    if (expected != 0 && error / fabs(expected) > r->max_relative) r->max_relative = error / fabs(expected);
    double ulp = isfinite(error) ? steps_between(c->expected->dtype, got, expected) : INFINITY;
    if (ulp > r->max_ulp) r->max_ulp = ulp;
    bool outside = isinf(error) || (c->tolerance.rule != OPF_TOL_INT8 && error > allowed);
    r->differing += outside;
    note_worst(c, index, got, expected, c->tolerance.rule == OPF_TOL_INT8 || allowed == 0 ? error : error / allowed);
}

static void compare_integer(opf_comparing *c, int64_t index) {
    int64_t got = opf_tensor_get_int(c->got, index), expected = opf_tensor_get_int(c->expected, index);
    if (got == expected) return;
    bool big = c->expected->dtype == OPF_UINT64;
    double x = big ? (double)(uint64_t)got : (double)got, y = big ? (double)(uint64_t)expected : (double)expected;
    double error = fabs(x - y) > 1 ? fabs(x - y) : 1;
    opf_comparison *r = &c->result;
    r->differing++;
    c->total += error;
    if (error > r->max_absolute) r->max_absolute = error;
    if (y != 0 && error / fabs(y) > r->max_relative) r->max_relative = error / fabs(y);
    r->max_ulp = r->max_absolute;
    note_worst(c, index, x, y, error);
}

static void compare_string(opf_comparing *c, int64_t index) {
    const char *const *got = c->got->data, *const *expected = c->expected->data;
    if (strcmp(got[index], expected[index]) == 0) return;
    c->result.differing++;
    note_worst(c, index, 0, 0, 1);
}

/* ---- distributions ---- */

/* Length of a row: the last axis that has more than one element. */
static int64_t row_length(const opf_tensor *tensor) {
    for (int i = tensor->rank - 1; i >= 0; i--)
        if (tensor->dims[i] != 1) return tensor->dims[i];
    return 1;
}

static bool is_distribution(const opf_tensor *tensor, int64_t start, int64_t length) {
    double sum = 0;
    for (int64_t i = 0; i < length; i++) {
        double value = opf_tensor_get(tensor, start + i);
        if (!(value >= 0)) return false;
        sum += value;
    }
    return fabs(sum - 1) <= 0.01;
}

static int64_t greatest(const opf_tensor *tensor, int64_t start, int64_t length) {
    int64_t best = 0;
    for (int64_t i = 1; i < length; i++)
        if (opf_tensor_get(tensor, start + i) > opf_tensor_get(tensor, start + best)) best = i;
    return best;
}

/* The greatest entry of each row must be the expected one, or one that the tolerance cannot tell from it. */
static void compare_greatest(opf_comparing *c) {
    int64_t length = row_length(c->expected);
    if (length < 2 || !opf_dtype_is_float(c->expected->dtype)) return;
    for (int64_t start = 0; start < c->expected->elements; start += length)
        if (!is_distribution(c->expected, start, length)) return;
    c->result.argmax_checked = c->result.argmax_agrees = true;
    bool exact = c->tolerance.rule == OPF_TOL_INT8;
    for (int64_t start = 0; start < c->expected->elements; start += length) {
        double top = opf_tensor_get(c->expected, start + greatest(c->expected, start, length));
        double chosen = opf_tensor_get(c->expected, start + greatest(c->got, start, length));
        double slack = exact ? 0 : c->atol + c->rtol * top;
        if (chosen < top - slack) c->result.argmax_agrees = false;
    }
}

/* ---- the whole ---- */

static const char *type_text(opf_arena *arena, const opf_tensor *tensor) {
    const char *text = opf_arena_printf(arena, "%s[", opf_dtype_name(tensor->dtype));
    for (int i = 0; i < tensor->rank; i++) text = opf_arena_printf(arena, "%s%s%" PRId64, text, i ? "," : "", tensor->dims[i]);
    return opf_arena_printf(arena, "%s]", text);
}

static bool same_type(const opf_tensor *a, const opf_tensor *b) {
    if (a->dtype != b->dtype || a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i]) return false;
    return true;
}

static void choose_bounds(opf_comparing *c) {
    double greatest_expected = c->result.max_expected;
    c->rtol = c->atol = 0;
    switch (c->tolerance.rule) {
    case OPF_TOL_ELEMENT: c->rtol = c->tolerance.rtol, c->atol = c->tolerance.atol; break;
    case OPF_TOL_FP32: c->rtol = 1e-3, c->atol = 1e-4 * greatest_expected; break;
    case OPF_TOL_FP16: c->atol = 4e-3 * greatest_expected; break;
    case OPF_TOL_INT8: c->atol = 2e-2 * greatest_expected; break;
    case OPF_TOL_BITS: break;
    }
}

/* ---- sequences and optionals ---- */

static opf_tensor element_of(const opf_element *element, opf_arena *arena) {
    const char *why;
    opf_tensor *tensor = opf_tensor_new(arena, (opf_dtype)element->dtype, element->rank, element->dims, element->data, &why);
    return tensor ? *tensor : (opf_tensor){.dtype = OPF_NO_DTYPE};
}

static const char *length_text(opf_arena *arena, const opf_list *list) { return list->length < 0 ? "absent" : opf_arena_printf(arena, "%" PRId64 " tensors", list->length); }

static void take_worse(opf_comparison *whole, const opf_comparison *one) {
    whole->holds = whole->holds && one->holds;
    whole->differing += one->differing;
    if (one->max_absolute > whole->max_absolute) whole->max_absolute = one->max_absolute;
    if (one->max_relative > whole->max_relative) whole->max_relative = one->max_relative;
    if (one->max_ulp > whole->max_ulp) whole->max_ulp = one->max_ulp;
}

static opf_comparison compare_lists(const opf_tensor *got, const opf_tensor *expected, opf_tolerance tolerance, opf_arena *arena) {
    opf_comparison whole = {.holds = true, .worst = -1};
    if (!got->is_list || !expected->is_list) {
        whole.holds = false;
        whole.why = got->is_list ? "it is a sequence or optional, and a tensor is expected" : "it is a tensor, and a sequence or optional is expected";
        return whole;
    }
    const opf_list *x = got->data, *y = expected->data;
    if (x->length != y->length) {
        whole.holds = false;
        whole.why = opf_arena_printf(arena, "it is %s and %s expected", length_text(arena, x), length_text(arena, y));
        return whole;
    }
    for (int64_t k = 0; k < x->length; k++) {
        opf_tensor a = element_of(&x->elements[k], arena), b = element_of(&y->elements[k], arena);
        opf_comparison one = opf_compare(&a, &b, tolerance, arena);
        take_worse(&whole, &one);
        if (!one.holds && !whole.why)
            whole.why = opf_arena_printf(arena, "element %" PRId64 ": %s", k, one.why ? one.why : opf_arena_printf(arena, "%" PRId64 " of %" PRId64 " elements differ, the worst is %.9g for %.9g", one.differing, b.elements, one.got, one.expected));
    }
    return whole;
}

opf_comparison opf_compare(const opf_tensor *got, const opf_tensor *expected, opf_tolerance tolerance, opf_arena *arena) {
    opf_comparing c = {.got = got, .expected = expected, .tolerance = tolerance, .result = {.worst = -1}};
    if (got->is_list || expected->is_list) return compare_lists(got, expected, tolerance, arena);
    if (!same_type(got, expected)) {
        c.result.why = opf_arena_printf(arena, "it is %s and %s is expected", type_text(arena, got), type_text(arena, expected));
        return c.result;
    }
    bool real = opf_dtype_is_float(expected->dtype);
    for (int64_t i = 0; real && i < expected->elements; i++) {
        double value = fabs(opf_tensor_get(expected, i));
        if (isfinite(value) && value > c.result.max_expected) c.result.max_expected = value;
    }
    choose_bounds(&c);
    void (*compare)(opf_comparing *, int64_t) = real ? compare_real : expected->dtype == OPF_STRING ? compare_string : compare_integer;
    for (int64_t i = 0; i < expected->elements; i++) compare(&c, i);
    c.result.mean_absolute = expected->elements ? c.total / (double)expected->elements : 0;
    c.result.holds = c.result.differing == 0;
    if (real && tolerance.rule == OPF_TOL_INT8) c.result.holds = c.result.holds && c.result.mean_absolute <= c.atol;
    if (real) compare_greatest(&c);
    if (c.result.argmax_checked) c.result.holds = c.result.holds && c.result.argmax_agrees;
    return c.result;
}
