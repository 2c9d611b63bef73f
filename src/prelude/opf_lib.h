/* Library kernels: what index maps and reductions cannot say (selection, scattering, results whose size depends on data,
 * recurrences). Each is one function `void opf_lib_<name>(const opf_lib_args *a)` in opf_lib_<name>.h; nothing here
 * allocates but from the run's heap. The same text serves the evaluator and generated programs. */
#ifndef OPF_LIB_H
#define OPF_LIB_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef OPF_ABI_H
#include "opf_abi.h"
#endif
#ifndef OPF_NARROW_H
#include "opf_narrow.h"
#endif

/* Element types by ONNX's numbers. */
enum {
    OPF_LIB_NONE = 0, OPF_LIB_F32 = 1, OPF_LIB_U8 = 2, OPF_LIB_I8 = 3, OPF_LIB_U16 = 4, OPF_LIB_I16 = 5, OPF_LIB_I32 = 6,
    OPF_LIB_I64 = 7, OPF_LIB_STRING = 8, OPF_LIB_BOOL = 9, OPF_LIB_F16 = 10, OPF_LIB_F64 = 11, OPF_LIB_U32 = 12,
    OPF_LIB_U64 = 13, OPF_LIB_BF16 = 16, OPF_LIB_F8E4M3FN = 17, OPF_LIB_F8E4M3FNUZ = 18, OPF_LIB_F8E5M2 = 19,
    OPF_LIB_F8E5M2FNUZ = 20, OPF_LIB_F8E8M0 = 24
};

typedef struct opf_lib_tensor {
    void *data;          /* row-major; strings are pointers to terminated text; a sequence or optional is an opf_list */
    int dtype;           /* OPF_LIB_NONE: the operand is left out */
    int rank;
    const int64_t *dims; /* of a result whose size depends on data: the largest it can have. Where there is no bound, `data` is
                            NULL: the kernel takes it from the heap, or points to an operand's */
} opf_lib_tensor;

typedef struct opf_lib_args {
    const opf_lib_tensor *in;
    opf_lib_tensor *out;
    const int64_t *ints;   /* parameters, as the kernel's comment lists them */
    const double *floats;
    void *scratch;         /* aligned to 64 bytes */
    int64_t *counts;       /* sizes that the kernel finds; it lays its results out with them */
    opf_heap *heap;        /* of kernels that take memory or can fail: sets heap->problem, and its results are not read */
} opf_lib_args;

static inline int opf_lib_has(const opf_lib_tensor *t) { return t->dtype != OPF_LIB_NONE; }

static inline int64_t opf_lib_product(const int64_t *dims, int first, int last) {
    int64_t n = 1;
    for (int k = first; k < last; k++) n *= dims[k];
    return n;
}
static inline int64_t opf_lib_elements(const opf_lib_tensor *t) { return opf_lib_product(t->dims, 0, t->rank); }

static inline int64_t opf_lib_size(int dtype) {
    switch (dtype) {
    case OPF_LIB_F32: case OPF_LIB_I32: case OPF_LIB_U32: return 4;
    case OPF_LIB_F64: case OPF_LIB_I64: case OPF_LIB_U64: return 8;
    case OPF_LIB_F16: case OPF_LIB_BF16: case OPF_LIB_I16: case OPF_LIB_U16: return 2;
    case OPF_LIB_STRING: return (int64_t)sizeof(const char *);
    case 14: return 8;
    case 15: return 16;
    default: return 1;
    }
}

static inline void opf_lib_copy(const opf_lib_tensor *to, int64_t i, const opf_lib_tensor *from, int64_t j, int64_t count) {
    int64_t size = opf_lib_size(from->dtype);
    if (count > 0) memcpy((char *)to->data + i * size, (const char *)from->data + j * size, (size_t)(count * size));
}

static inline int opf_lib_is_float(int dtype) {
    switch (dtype) {
    case OPF_LIB_F32: case OPF_LIB_F64: case OPF_LIB_F16: case OPF_LIB_BF16: case OPF_LIB_F8E4M3FN: case OPF_LIB_F8E4M3FNUZ:
    case OPF_LIB_F8E5M2: case OPF_LIB_F8E5M2FNUZ: case OPF_LIB_F8E8M0: return 1;
    default: return 0;
    }
}

/* An element of any numeric type as double, and back, rounded once. */
static inline double opf_lib_real(const opf_lib_tensor *t, int64_t i) {
    switch (t->dtype) {
    case OPF_LIB_F32: return ((const float *)t->data)[i];
    case OPF_LIB_F64: return ((const double *)t->data)[i];
    case OPF_LIB_F16: return opf_f16_to_f32(((const uint16_t *)t->data)[i]);
    case OPF_LIB_BF16: return opf_bf16_to_f32(((const uint16_t *)t->data)[i]);
    case OPF_LIB_F8E4M3FN: return opf_f8e4m3fn_to_f32(((const uint8_t *)t->data)[i]);
    case OPF_LIB_F8E4M3FNUZ: return opf_f8e4m3fnuz_to_f32(((const uint8_t *)t->data)[i]);
    case OPF_LIB_F8E5M2: return opf_f8e5m2_to_f32(((const uint8_t *)t->data)[i]);
    case OPF_LIB_F8E5M2FNUZ: return opf_f8e5m2fnuz_to_f32(((const uint8_t *)t->data)[i]);
    case OPF_LIB_F8E8M0: return opf_f8e8m0_to_f32(((const uint8_t *)t->data)[i]);
    case OPF_LIB_I64: return (double)((const int64_t *)t->data)[i];
    case OPF_LIB_U64: return (double)((const uint64_t *)t->data)[i];
    case OPF_LIB_I32: return ((const int32_t *)t->data)[i];
    case OPF_LIB_U32: return ((const uint32_t *)t->data)[i];
    case OPF_LIB_I16: return ((const int16_t *)t->data)[i];
    case OPF_LIB_U16: return ((const uint16_t *)t->data)[i];
    case OPF_LIB_I8: return ((const int8_t *)t->data)[i];
    default: return ((const uint8_t *)t->data)[i];
    }
}
static inline void opf_lib_set_real(const opf_lib_tensor *t, int64_t i, double x) {
    switch (t->dtype) {
    case OPF_LIB_F32: ((float *)t->data)[i] = (float)x; break;
    case OPF_LIB_F64: ((double *)t->data)[i] = x; break;
    case OPF_LIB_F16: ((uint16_t *)t->data)[i] = opf_f64_to_f16(x); break;
    case OPF_LIB_BF16: ((uint16_t *)t->data)[i] = opf_f64_to_bf16(x); break;
    case OPF_LIB_F8E4M3FN: ((uint8_t *)t->data)[i] = opf_f64_to_f8e4m3fn(x); break;
    case OPF_LIB_F8E4M3FNUZ: ((uint8_t *)t->data)[i] = opf_f64_to_f8e4m3fnuz(x); break;
    case OPF_LIB_F8E5M2: ((uint8_t *)t->data)[i] = opf_f64_to_f8e5m2(x); break;
    case OPF_LIB_F8E5M2FNUZ: ((uint8_t *)t->data)[i] = opf_f64_to_f8e5m2fnuz(x); break;
    case OPF_LIB_F8E8M0: ((uint8_t *)t->data)[i] = opf_f64_to_f8e8m0(x); break;
    default: break;
    }
}

/* An element of an integer type or bool, wrapped to int64, and back. */
static inline int64_t opf_lib_int(const opf_lib_tensor *t, int64_t i) {
    switch (t->dtype) {
    case OPF_LIB_I64: case OPF_LIB_U64: return ((const int64_t *)t->data)[i];
    case OPF_LIB_I32: return ((const int32_t *)t->data)[i];
    case OPF_LIB_U32: return ((const uint32_t *)t->data)[i];
    case OPF_LIB_I16: return ((const int16_t *)t->data)[i];
    case OPF_LIB_U16: return ((const uint16_t *)t->data)[i];
    case OPF_LIB_I8: return ((const int8_t *)t->data)[i];
    default: return ((const uint8_t *)t->data)[i];
    }
}
static inline void opf_lib_set_int(const opf_lib_tensor *t, int64_t i, int64_t x) {
    switch (opf_lib_size(t->dtype)) {
    case 8: ((int64_t *)t->data)[i] = x; break;
    case 4: ((uint32_t *)t->data)[i] = (uint32_t)x; break;
    case 2: ((uint16_t *)t->data)[i] = (uint16_t)x; break;
    default: ((uint8_t *)t->data)[i] = (uint8_t)x; break;
    }
}

/* A number that orders as the elements do: numbers by size, -0 with 0, NaN behind all others. */
static inline uint64_t opf_lib_key(const opf_lib_tensor *t, int64_t i) {
    const uint64_t top = (uint64_t)1 << 63;
    if (opf_lib_is_float(t->dtype)) {
        double x = opf_lib_real(t, i);
        uint64_t bits;
        if (x != x) return UINT64_MAX;
        x += 0.0; /* -0 becomes 0 */
        memcpy(&bits, &x, sizeof bits);
        return bits & top ? ~bits : bits | top;
    }
    uint64_t bits = (uint64_t)opf_lib_int(t, i);
    return t->dtype == OPF_LIB_U64 ? bits : bits ^ top;
}

/* Is the element different from zero? Strings: not empty. */
static inline int opf_lib_true(const opf_lib_tensor *t, int64_t i) {
    if (t->dtype == OPF_LIB_STRING) return ((const char *const *)t->data)[i][0] != 0;
    return opf_lib_is_float(t->dtype) ? opf_lib_real(t, i) != 0 : opf_lib_int(t, i) != 0;
}

/* An index made non-negative; -1 where it is out of range. */
static inline int64_t opf_lib_index(int64_t index, int64_t extent) {
    if (index < 0) index += extent;
    return index >= 0 && index < extent ? index : -1;
}

#endif
