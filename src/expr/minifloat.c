/* One description per type serves all: the layouts are those of IEEE 754 and of ONNX's float8 and float4 pages. */
#include "expr/minifloat.h"

#include <math.h>
#include <stdbool.h>

/* How codes with the largest exponent are used. */
typedef enum opf_specials {
    SPECIALS_IEEE,       /* infinity and NaN */
    SPECIALS_FINITE,     /* no infinity; all ones is NaN */
    SPECIALS_NEGATIVE_ZERO, /* no infinity, no -0; the code of -0 is NaN */
    SPECIALS_NONE        /* numbers only */
} opf_specials;

typedef struct opf_layout {
    uint8_t exponent_bits, mantissa_bits;
    int16_t bias;
    opf_specials specials;
    bool saturates;      /* finite values beyond the range become the largest one */
    bool saturates_infinity;
} opf_layout;

static const opf_layout layouts[OPF_DTYPE_COUNT] = {
    [OPF_FLOAT16] = {5, 10, 15, SPECIALS_IEEE, false, false},
    [OPF_BFLOAT16] = {8, 7, 127, SPECIALS_IEEE, false, false},
    [OPF_FLOAT8E4M3FN] = {4, 3, 7, SPECIALS_FINITE, true, true},
    [OPF_FLOAT8E4M3FNUZ] = {4, 3, 8, SPECIALS_NEGATIVE_ZERO, true, true},
    [OPF_FLOAT8E5M2] = {5, 2, 15, SPECIALS_IEEE, true, false},
    [OPF_FLOAT8E5M2FNUZ] = {5, 2, 16, SPECIALS_NEGATIVE_ZERO, true, true},
    [OPF_FLOAT4E2M1] = {2, 1, 1, SPECIALS_NONE, true, true},
};

static double decode_scale(uint32_t code) { return code == 0xff ? NAN : ldexp(1.0, (int)code - 127); }

/* float8e8m0 holds powers of two only; ONNX's Cast rounds them up by default. */
static uint32_t encode_scale(double value) {
    if (isnan(value) || value < 0) return 0xff;
    if (value == 0) return 0;
    if (isinf(value)) return 0xfe;
    int exponent;
    double fraction = frexp(value, &exponent); /* value = fraction * 2^exponent, fraction in [0.5, 1) */
    int code = exponent - 1 + 127 + (fraction > 0.5);
    return code < 0 ? 0 : code > 0xfe ? 0xfe : (uint32_t)code;
}

double opf_minifloat_decode(opf_dtype dtype, uint32_t code) {
    if (dtype == OPF_FLOAT8E8M0) return decode_scale(code & 0xff);
    const opf_layout *layout = &layouts[dtype];
    int m = layout->mantissa_bits, x = layout->exponent_bits;
    uint32_t mantissa = code & ((1u << m) - 1), exponent = code >> m & ((1u << x) - 1);
    bool negative = code >> (m + x) & 1;
    bool top = exponent == (1u << x) - 1;
    if (layout->specials == SPECIALS_IEEE && top) {
        if (mantissa) return NAN;
        return negative ? -INFINITY : INFINITY;
    }
    if (layout->specials == SPECIALS_FINITE && top && mantissa == (1u << m) - 1) return NAN;
    if (layout->specials == SPECIALS_NEGATIVE_ZERO && negative && !exponent && !mantissa) return NAN;
    double value = exponent ? ldexp(1 + ldexp(mantissa, -m), (int)exponent - layout->bias) : ldexp(mantissa, 1 - layout->bias - m);
    return negative ? -value : value;
}

static uint32_t largest_code(const opf_layout *layout) {
    uint32_t all = (1u << (layout->exponent_bits + layout->mantissa_bits)) - 1;
    if (layout->specials == SPECIALS_IEEE) return all - (1u << layout->mantissa_bits);
    return layout->specials == SPECIALS_FINITE ? all - 1 : all;
}

static uint32_t nan_code(const opf_layout *layout) {
    uint32_t all = (1u << (layout->exponent_bits + layout->mantissa_bits)) - 1;
    switch (layout->specials) {
    case SPECIALS_IEEE: return largest_code(layout) + 1 + (1u << (layout->mantissa_bits - 1)); /* quiet */
    case SPECIALS_FINITE: return all;
    case SPECIALS_NEGATIVE_ZERO: return all + 1;
    default: return 0;
    }
}

static uint32_t overflow_code(const opf_layout *layout, bool infinite) {
    if (infinite ? layout->saturates_infinity : layout->saturates) return largest_code(layout);
    return layout->specials == SPECIALS_IEEE ? largest_code(layout) + 1 : nan_code(layout);
}

uint32_t opf_minifloat_encode(opf_dtype dtype, double value) {
    if (dtype == OPF_FLOAT8E8M0) return encode_scale(value);
    const opf_layout *layout = &layouts[dtype];
    int m = layout->mantissa_bits;
    uint32_t sign = signbit(value) ? 1u << (m + layout->exponent_bits) : 0;
    if (isnan(value)) return nan_code(layout);
    bool unsigned_zero = layout->specials == SPECIALS_NEGATIVE_ZERO;
    double magnitude = fabs(value);
    if (magnitude == 0) return unsigned_zero ? 0 : sign;
    if (isinf(magnitude)) {
        uint32_t code = overflow_code(layout, true);
        return code == nan_code(layout) ? code : code | sign;
    }
    int exponent;
    frexp(magnitude, &exponent);
    exponent = exponent - 1 < 1 - layout->bias ? 1 - layout->bias : exponent - 1;
    /* In units of the last place: below 2^(m+1), rounded half to even by the default rounding mode. */
    uint32_t units = (uint32_t)rint(ldexp(magnitude, m - exponent));
    /* Adding instead of or-ing lets a carry out of the mantissa raise the exponent; subnormals have exponent field 0. */
    uint64_t code = ((uint64_t)(exponent + layout->bias - 1) << m) + units;
    if (code > largest_code(layout)) {
        uint32_t beyond = overflow_code(layout, false);
        return beyond == nan_code(layout) ? beyond : beyond | sign;
    }
    if (code == 0 && unsigned_zero) return 0;
    return (uint32_t)code | sign;
}
