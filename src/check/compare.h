/* Comparing tensors: absolute, relative, ULP error, where, verdict. */
#ifndef OPF_CHECK_COMPARE_H
#define OPF_CHECK_COMPARE_H

#include "ir/tensor.h"

typedef enum opf_tolerance_rule { OPF_TOL_ELEMENT, OPF_TOL_FP32, OPF_TOL_FP16, OPF_TOL_INT8, OPF_TOL_BITS } opf_tolerance_rule;

/* ELEMENT: |a-b| <= atol + rtol*|expected|. FP32: rtol 1e-3, atol 1e-4 * max|expected|. FP16: atol 4e-3 * max|expected|.
 * INT8: mean |a-b| <= 2 % of max|expected|. BITS: the same bits, 0 and -0 differ. Integers, bools and strings: equal. NaN equals
 * NaN, inf its own sign. */
typedef struct opf_tolerance { opf_tolerance_rule rule; double rtol, atol; } opf_tolerance;

typedef struct opf_comparison {
    bool holds;
    int64_t differing;          /* elements outside the tolerance */
    int64_t worst;              /* row-major index of the worst element, -1 if none */
    double got, expected;       /* there */
    double max_absolute, max_relative, max_ulp, mean_absolute, max_expected;
    bool argmax_checked, argmax_agrees; /* last axis, where expected rows look like distributions */
    const char *why;            /* shape or type mismatch, else NULL; of a sequence: which element */
} opf_comparison;

/* Sequences and optionals (opf_tensor.is_list): element by element; the worst of them is told. */
opf_comparison opf_compare(const opf_tensor *got, const opf_tensor *expected, opf_tolerance tolerance, opf_arena *arena);

#endif
