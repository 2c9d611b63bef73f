/* Element types. The numbers are ONNX's (TensorProto.DataType, onnx.proto), so a file's field needs no translation. */
#ifndef OPF_EXPR_DTYPE_H
#define OPF_EXPR_DTYPE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum opf_dtype {
    OPF_NO_DTYPE = 0,
    OPF_FLOAT32 = 1, OPF_UINT8 = 2, OPF_INT8 = 3, OPF_UINT16 = 4, OPF_INT16 = 5, OPF_INT32 = 6, OPF_INT64 = 7,
    OPF_STRING = 8, OPF_BOOL = 9, OPF_FLOAT16 = 10, OPF_FLOAT64 = 11, OPF_UINT32 = 12, OPF_UINT64 = 13,
    OPF_COMPLEX64 = 14, OPF_COMPLEX128 = 15, OPF_BFLOAT16 = 16,
    OPF_FLOAT8E4M3FN = 17, OPF_FLOAT8E4M3FNUZ = 18, OPF_FLOAT8E5M2 = 19, OPF_FLOAT8E5M2FNUZ = 20,
    OPF_UINT4 = 21, OPF_INT4 = 22, OPF_FLOAT4E2M1 = 23, OPF_FLOAT8E8M0 = 24, OPF_UINT2 = 25, OPF_INT2 = 26,
    OPF_DTYPE_COUNT
} opf_dtype;

bool opf_dtype_valid(int number);
const char *opf_dtype_name(opf_dtype dtype);        /* "float32", "int64", "bool", … */
opf_dtype opf_dtype_parse(const char *name);        /* OPF_NO_DTYPE where unknown */
int opf_dtype_bits(opf_dtype dtype);                /* as stored by ONNX: bool 8, int4 4; strings 64: a pointer to terminated text */
size_t opf_dtype_bytes(opf_dtype dtype, size_t elements); /* packed, rounded up to whole bytes */
bool opf_dtype_is_packed(opf_dtype dtype);          /* several elements share a byte: fewer than 8 bits */
/* Type of a variable that holds a value of this type: floating types narrower than float32 are held as float32, integers
 * narrower than a byte as int8 or uint8, all others as themselves. Loads and stores convert where the two differ. */
opf_dtype opf_dtype_held(opf_dtype dtype);
bool opf_dtype_is_float(opf_dtype dtype);           /* every floating type, half and 8-bit ones included */
bool opf_dtype_is_integer(opf_dtype dtype);         /* signed and unsigned; not bool */
bool opf_dtype_is_signed(opf_dtype dtype);          /* signed integers */

/* Elements as double: storage of any numeric type, one element at `index`. int64/uint64 beyond 2^53 lose bits;
 * use opf_dtype_load_int for integers. Sub-byte types are packed, low bits first (ONNX). */
double opf_dtype_load(opf_dtype dtype, const void *data, size_t index);
long long opf_dtype_load_int(opf_dtype dtype, const void *data, size_t index);
/* Stores with the type's own rounding: half to even for floating types, overflow to infinity (8-bit types
 * saturate; infinity itself is kept where the type has it); integers: toward zero, NaN gives 0, what int64 (uint64) cannot
 * hold saturates there and narrower types take the low bits of that; bool: != 0. */
void opf_dtype_store(opf_dtype dtype, void *data, size_t index, double value);
void opf_dtype_store_int(opf_dtype dtype, void *data, size_t index, long long value);
/* `value` rounded to the type and back. */
double opf_dtype_round(opf_dtype dtype, double value);
/* The same as ONNX's Cast has it: 8-bit floating types saturate, so that none becomes infinite. */
double opf_dtype_cast(opf_dtype dtype, double value);

#endif
