/* Winograd's minimal filtering for 3x3 windows: an output tile of m x m elements from an input tile of n x n, n = m + 2, with
 * n * n products instead of 9 * m * m. By polynomials at the points 0, ±a, (±b,) infinity; one side of it (both sides alike):
 *
 *   filter   u_i = (g_0 + p_i g_1 + p_i² g_2) / f_i       f_i = product over the other points of (p_i - p_j); last: u = g_2
 *   input    v_i = coefficients of the product over the other points of (x - p_j), applied to d_0 … d_(n-1); last: all points
 *   output   y_k = sum of p_i^k (u_i v_i); the last product goes to the last y alone
 *
 * S. Winograd, Arithmetic Complexity of Computations, 1980; A. Lavin, S. Gray, Fast Algorithms for Convolutional Neural
 * Networks, 2016. The points ±3/4, ±3/2 are our choice: their powers are exact, and the error of random sums was the
 * least among simple fractions, a third of that of ±1, ±2 (docs/decisions/0090). */
#ifndef OPF_LOOP_WINOGRAD_H
#define OPF_LOOP_WINOGRAD_H

#include <stdint.h>

enum { OPF_WINOGRAD_MOST = 6 };

typedef struct opf_winograd_form {
    int outputs, inputs;       /* m, n */
    double points[OPF_WINOGRAD_MOST - 1]; /* the finite ones, n - 1: 0, a, -a, … */
} opf_winograd_form;

/* The form with m outputs a side, 2 or 4. */
const opf_winograd_form *opf_winograd_form_of(int outputs);

/* Coefficient of g_tap in u_i. */
double opf_winograd_filter(const opf_winograd_form *form, int i, int tap);

/* Expected largest error of a sum over `channels` input channels, as a share of the largest result: rounding errors of
 * independent sign, two to three times what was measured (docs/numerics.md). */
double opf_winograd_error(const opf_winograd_form *form, int64_t channels);

#endif
