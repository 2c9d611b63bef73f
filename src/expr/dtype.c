/* Element types: names, sizes, loads and stores. */
#include "expr/dtype.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "expr/minifloat.h"
#include "expr/node.h"

typedef enum opf_class { CLASS_NONE, CLASS_FLOAT, CLASS_SIGNED, CLASS_UNSIGNED, CLASS_BOOL, CLASS_STRING, CLASS_COMPLEX } opf_class;

static const struct { const char *name; uint8_t bits; uint8_t class; } types[OPF_DTYPE_COUNT] = {
    [OPF_NO_DTYPE] = {"none", 0, CLASS_NONE},
    [OPF_FLOAT32] = {"float32", 32, CLASS_FLOAT},
    [OPF_UINT8] = {"uint8", 8, CLASS_UNSIGNED},
    [OPF_INT8] = {"int8", 8, CLASS_SIGNED},
    [OPF_UINT16] = {"uint16", 16, CLASS_UNSIGNED},
    [OPF_INT16] = {"int16", 16, CLASS_SIGNED},
    [OPF_INT32] = {"int32", 32, CLASS_SIGNED},
    [OPF_INT64] = {"int64", 64, CLASS_SIGNED},
    [OPF_STRING] = {"string", 64, CLASS_STRING},
    [OPF_BOOL] = {"bool", 8, CLASS_BOOL},
    [OPF_FLOAT16] = {"float16", 16, CLASS_FLOAT},
    [OPF_FLOAT64] = {"float64", 64, CLASS_FLOAT},
    [OPF_UINT32] = {"uint32", 32, CLASS_UNSIGNED},
    [OPF_UINT64] = {"uint64", 64, CLASS_UNSIGNED},
    [OPF_COMPLEX64] = {"complex64", 64, CLASS_COMPLEX},
    [OPF_COMPLEX128] = {"complex128", 128, CLASS_COMPLEX},
    [OPF_BFLOAT16] = {"bfloat16", 16, CLASS_FLOAT},
    [OPF_FLOAT8E4M3FN] = {"float8e4m3fn", 8, CLASS_FLOAT},
    [OPF_FLOAT8E4M3FNUZ] = {"float8e4m3fnuz", 8, CLASS_FLOAT},
    [OPF_FLOAT8E5M2] = {"float8e5m2", 8, CLASS_FLOAT},
    [OPF_FLOAT8E5M2FNUZ] = {"float8e5m2fnuz", 8, CLASS_FLOAT},
    [OPF_UINT4] = {"uint4", 4, CLASS_UNSIGNED},
    [OPF_INT4] = {"int4", 4, CLASS_SIGNED},
    [OPF_FLOAT4E2M1] = {"float4e2m1", 4, CLASS_FLOAT},
    [OPF_FLOAT8E8M0] = {"float8e8m0", 8, CLASS_FLOAT},
    [OPF_UINT2] = {"uint2", 2, CLASS_UNSIGNED},
    [OPF_INT2] = {"int2", 2, CLASS_SIGNED},
};

bool opf_dtype_valid(int number) { return number > OPF_NO_DTYPE && number < OPF_DTYPE_COUNT; }
const char *opf_dtype_name(opf_dtype dtype) { return types[dtype].name; }
int opf_dtype_bits(opf_dtype dtype) { return types[dtype].bits; }
bool opf_dtype_is_packed(opf_dtype dtype) { return types[dtype].bits > 0 && types[dtype].bits < 8; }
bool opf_dtype_is_float(opf_dtype dtype) { return types[dtype].class == CLASS_FLOAT; }
bool opf_dtype_is_signed(opf_dtype dtype) { return types[dtype].class == CLASS_SIGNED; }
bool opf_dtype_is_integer(opf_dtype dtype) { return types[dtype].class == CLASS_SIGNED || types[dtype].class == CLASS_UNSIGNED; }

opf_dtype opf_dtype_parse(const char *name) {
    for (int i = 1; i < OPF_DTYPE_COUNT; i++)
        if (strcmp(types[i].name, name) == 0) return (opf_dtype)i;
    return OPF_NO_DTYPE;
}

opf_dtype opf_dtype_held(opf_dtype dtype) {
    if (types[dtype].class == CLASS_FLOAT) return types[dtype].bits < 32 ? OPF_FLOAT32 : dtype;
    if (!opf_dtype_is_packed(dtype)) return dtype;
    return types[dtype].class == CLASS_SIGNED ? OPF_INT8 : OPF_UINT8;
}

size_t opf_dtype_bytes(opf_dtype dtype, size_t elements) {
    size_t bits = types[dtype].bits;
    return bits >= 8 ? elements * (bits / 8) : elements / 8 * bits + (elements % 8 * bits + 7) / 8;
}

int64_t opf_wrap(opf_dtype dtype, int64_t value) {
    if (dtype == OPF_BOOL) return value != 0;
    int bits = types[dtype].bits;
    if (bits == 0 || bits >= 64) return value;
    uint64_t low = (uint64_t)value & ((UINT64_C(1) << bits) - 1);
    if (types[dtype].class == CLASS_SIGNED && low >> (bits - 1)) low |= ~UINT64_C(0) << bits;
    return (int64_t)low;
}

void opf_dtype_range(opf_dtype dtype, int64_t *low, int64_t *high) {
    int bits = types[dtype].bits;
    *low = INT64_MIN;
    *high = INT64_MAX;
    if (types[dtype].class == CLASS_BOOL) *low = 0, *high = 1;
    if (bits >= 64 || !opf_dtype_is_integer(dtype)) return;
    *low = types[dtype].class == CLASS_SIGNED ? -(INT64_C(1) << (bits - 1)) : 0;
    *high = (INT64_C(1) << (types[dtype].class == CLASS_SIGNED ? bits - 1 : bits)) - 1;
}

/* ---- bits ---- */

/* The element's bits, right-aligned. Sub-byte elements are packed, low bits first. */
static uint64_t load_bits(int bits, const void *data, size_t index) {
    const unsigned char *bytes = data;
    uint64_t out = 0;
    if (bits >= 8) {
        size_t size = (size_t)bits / 8;
        memcpy(&out, bytes + index * size, size > 8 ? 8 : size);
        return out;
    }
    size_t per_byte = 8 / (size_t)bits;
    return bytes[index / per_byte] >> (index % per_byte * (size_t)bits) & ((1u << bits) - 1);
}

static void store_bits(int bits, void *data, size_t index, uint64_t code) {
    unsigned char *bytes = data;
    if (bits >= 8) {
        size_t size = (size_t)bits / 8;
        memcpy(bytes + index * size, &code, size > 8 ? 8 : size);
        if (size > 8) memset(bytes + index * size + 8, 0, size - 8);
        return;
    }
    size_t per_byte = 8 / (size_t)bits, shift = index % per_byte * (size_t)bits;
    unsigned mask = ((1u << bits) - 1) << shift;
    bytes[index / per_byte] = (unsigned char)((bytes[index / per_byte] & ~mask) | ((unsigned)code << shift & mask));
}

static double float_of(opf_dtype dtype, uint64_t bits) {
    if (dtype == OPF_FLOAT32) {
        float value;
        uint32_t low = (uint32_t)bits;
        memcpy(&value, &low, sizeof value);
        return value;
    }
    if (dtype == OPF_FLOAT64) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    return opf_minifloat_decode(dtype, (uint32_t)bits);
}

static uint64_t float_bits(opf_dtype dtype, double value) {
    uint64_t bits = 0;
    if (dtype == OPF_FLOAT64) memcpy(&bits, &value, sizeof value);
    else if (dtype == OPF_FLOAT32) {
        float narrow = (float)value;
        memcpy(&bits, &narrow, sizeof narrow);
    } else bits = opf_minifloat_encode(dtype, value);
    return bits;
}

/* Toward zero; NaN gives 0; what int64 cannot hold saturates there (docs/numerics.md; the prelude's conversions are the same). */
static int64_t truncated(double value) {
    if (value >= 0x1p63) return INT64_MAX;
    if (value >= -0x1p63) return (int64_t)value;
    return isnan(value) ? 0 : INT64_MIN;
}

static uint64_t truncated_unsigned(double value) {
    if (value >= 0x1p64) return UINT64_MAX;
    return value >= 0x1p63 ? (uint64_t)value : (uint64_t)truncated(value);
}

double opf_dtype_load(opf_dtype dtype, const void *data, size_t index) {
    switch (types[dtype].class) {
    case CLASS_FLOAT: return float_of(dtype, load_bits(types[dtype].bits, data, index));
    case CLASS_SIGNED: return (double)opf_wrap(dtype, (int64_t)load_bits(types[dtype].bits, data, index));
    case CLASS_UNSIGNED: return (double)load_bits(types[dtype].bits, data, index);
    case CLASS_BOOL: return load_bits(8, data, index) != 0;
    case CLASS_COMPLEX: /* the real part */
        return dtype == OPF_COMPLEX64 ? float_of(OPF_FLOAT32, load_bits(32, data, index * 2)) : float_of(OPF_FLOAT64, load_bits(64, data, index * 2));
    default: return 0;
    }
}

long long opf_dtype_load_int(opf_dtype dtype, const void *data, size_t index) {
    switch (types[dtype].class) {
    case CLASS_SIGNED:
    case CLASS_UNSIGNED:
    case CLASS_STRING:
    case CLASS_BOOL: return opf_wrap(dtype, (int64_t)load_bits(types[dtype].bits, data, index));
    default: return truncated(opf_dtype_load(dtype, data, index));
    }
}

void opf_dtype_store(opf_dtype dtype, void *data, size_t index, double value) {
    switch (types[dtype].class) {
    case CLASS_FLOAT: store_bits(types[dtype].bits, data, index, float_bits(dtype, value)); break;
    case CLASS_SIGNED:
    case CLASS_UNSIGNED: store_bits(types[dtype].bits, data, index, dtype == OPF_UINT64 ? truncated_unsigned(value) : (uint64_t)truncated(value)); break;
    case CLASS_BOOL: store_bits(8, data, index, value != 0); break;
    case CLASS_COMPLEX:
        if (dtype == OPF_COMPLEX64) store_bits(64, data, index, float_bits(OPF_FLOAT32, value));
        else store_bits(128, data, index, float_bits(OPF_FLOAT64, value));
        break;
    default: break;
    }
}

void opf_dtype_store_int(opf_dtype dtype, void *data, size_t index, long long value) {
    switch (types[dtype].class) {
    case CLASS_SIGNED:
    case CLASS_UNSIGNED: store_bits(types[dtype].bits, data, index, (uint64_t)value); break;
    case CLASS_BOOL: store_bits(8, data, index, value != 0); break;
    default: opf_dtype_store(dtype, data, index, (double)value);
    }
}

double opf_dtype_round(opf_dtype dtype, double value) {
    if (dtype == OPF_FLOAT64) return value;
    if (dtype == OPF_FLOAT32) return (float)value;
    unsigned char bytes[16] = {0};
    opf_dtype_store(dtype, bytes, 0, value);
    return opf_dtype_load(dtype, bytes, 0);
}

double opf_dtype_cast(opf_dtype dtype, double value) {
    bool saturates = opf_dtype_bits(dtype) == 8 && isinf(value);
    return opf_dtype_round(dtype, saturates ? copysign(FLT_MAX, value) : value);
}
