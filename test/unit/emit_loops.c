/* Groups of every shape of code: compiled by each compiler at hand, for several sizes and numbers of parts, against a naive
 * evaluation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel_case.h"
#include "loop/tile.h"

typedef struct written_case { const char *title, *text; } written_case;

static const written_case written[] = {
    {"one element-wise stage", "size N 1000 1 0 7\n in x float32 [N]\n stage y float32 [n=N] : x[n] * 2 + 1\n out y"},
    {"a scalar", "in x float32 []\n stage y float32 [] : x[] + 1\n out y"},
    {"a chain over merged axes",
     "size N 3 1 0\n in x float32 [N, 5, 7]\n stage a float32 [n=N, c=5, w=7] : x[n, c, w] + 1\n stage y float32 [n=N, c=5, w=7] : max(a[n, c, w], 0) * a[n, c, w]\n out y"},
    {"long and parallel in blocks", "size N 20000 4096 4097 9\n in x float32 [N]\n stage y float32 [n=N] : x[n] - 3\n out y"},
    {"few rows, long ones", "size N 3 1 2\n in x float32 [N, 20000]\n in b float32 [N]\n stage y float32 [n=N, k=20000] : x[n, k] * b[n]\n out y"},
    {"bias per channel",
     "size N 2 1 0\n in x float32 [N, 6, 5, 7]\n in b float32 [6]\n stage y float32 [n=N, c=6, h=5, w=7] : x[n, c, h, w] + b[c]\n out y"},
    {"dear factor per channel",
     "size N 4 1 0\n in x float32 [N, 6, 50]\n in b float32 [6]\n stage s float32 [c=6] : exp(tanh(b[c]))\n stage y float32 [n=N, c=6, k=50] : x[n, c, k] * s[c]\n out y"},
    {"several functions",
     "size N 3 1 2\n in x float32 [N, 700]\n stage a float32 [n=N, k=700] : exp(x[n, k]) + 1\n stage b float32 [n=N, k=700] : tanh(a[n, k] * x[n, k]) + erf(a[n, k])\n"
     " stage y float32 [n=N, k=700] : b[n, k] * a[n, k] + sqrt(a[n, k]) / (1 + exp(-b[n, k]))\n out y"},
    {"several functions along one axis",
     "size N 3000 512 513 1\n in x float32 [N]\n in z float32 []\n stage y float32 [n=N] : tanh(exp(x[n]) * exp(z[])) + erf(x[n])\n out y"},
    {"what a loop keeps for a later one holds what it keeps besides",
     "size N 40 1 0\n in x float32 [N]\n in z float32 [N]\n stage q float32 [n=N] : x[n] / z[n]\n stage a float32 [n=N] : q[n] / 1.9\n"
     " stage f float32 [n=N] : fmod(a[n] + 0.0358, q[n])\n stage y float32 [n=N] : tanh(a[n]) / q[n]\n out f\n out y"},
    {"many operands, in loops of a few",
     "size N 1100 512 1 0\n in a float32 [N]\n in b float32 [N]\n in c float32 [N]\n in d float32 [N]\n in e float32 [N]\n in f float32 [N]\n in g float32 [N]\n in h float32 [N]\n in i float32 [N]\n in j float32 [N]\n stage u float32 [n=N] : ((((a[n] + b[n]) * c[n] - d[n]) * e[n] + f[n]) * g[n] - h[n]) * i[n]\n"
     " stage y float32 [n=N] : n < 500 ? u[n] + j[n] : u[n] - a[n]\n out y"},
    {"limits that change nothing", "size N 100 1 0\n in x float32 [N]\n stage y float32 [n=N] : max(abs(max(abs(x[n]), 0)), 0) + max(max(x[n], 1), 1) + max(exp(x[n]), -1)\n out y"},
    {"several functions of few elements", "in x float32 [2, 20]\n stage y float32 [n=2, k=20] : tanh(exp(x[n, k])) + erf(x[n, k])\n out y"},
    {"functions whose value is a result too",
     "size N 900 1 0\n in x float32 [N]\n stage a float32 [n=N] : exp(x[n])\n stage b float32 [n=N] : tanh(a[n])\n stage y float32 [n=N] : erf(b[n]) + a[n]\n out a\n out b\n out y"},
    {"transpose", "size A 5 1 0 33\n size B 7 4 3 65\n in x float32 [A, B]\n stage y float32 [b=B, a=A] : x[a, b]\n out y"},
    {"transpose in strips", "in x float32 [70, 530]\n in z float32 [530, 70]\n stage y float32 [b=530, a=70] : x[a, b]\n stage v float32 [b=530, a=70] : x[a, b] * z[b, a]\n out y\n out v"},
    {"transpose of lines that share sets", "in x float32 [70, 768]\n stage y float32 [b=768, a=70] : x[a, b]\n out y"},
    {"transpose of four axes", "size N 2 1 0\n in x float32 [N, 3, 4, 5]\n stage y float32 [n=N, a=5, b=3, c=4] : x[n, b, c, a]\n out y"},
    {"reshape that merges", "size N 6 3 0\n in x float32 [N, 4, 5]\n stage y float32 [n=N, k=20] : x[n, floordiv(k, 5), floormod(k, 5)] * 2\n out y"},
    {"reshape that splits", "size N 6 3 0\n in x float32 [N, 20]\n stage y float32 [n=N, a=4, b=5] : x[n, a * 5 + b] * 2\n out y"},
    {"channel shuffle",
     "size N 2 1 0\n in x float32 [N, 12, 5]\n stage y float32 [n=N, c=12, k=5] : x[n, floormod(c, 3) * 4 + floordiv(c, 3), k]\n out y"},
    {"depth to space",
     "size N 2 1 0\n in x float32 [N, 8, 3, 5]\n stage y float32 [n=N, c=2, h=6, w=10] : x[n, (floormod(h, 2) * 2 + floormod(w, 2)) * 2 + c, floordiv(h, 2), floordiv(w, 2)]\n out y"},
    {"nearest resize", "size N 2 1 0\n in x float32 [N, 3, 5]\n stage y float32 [n=N, h=6, w=10] : x[n, floordiv(h, 2), floordiv(w, 2)]\n out y"},
    {"nearest resize beside what is as large, sizes not known", /* phases put together: two, three and four */
     "size H 3 1 4 0\n size W 5 1 20 0\n in x float32 [4, H, W]\n in z float32 [4, 2 * H, 2 * W]\n in u float32 [4, H, W]\n"
     " stage y float32 [c=4, h=2 * H, w=2 * W] : max(x[c, floordiv(h, 2), floordiv(w, 2)], 0) * 2 + z[c, h, w]\n"
     " stage a float32 [c=4, h=H, w=3 * W] : u[c, h, floordiv(w, 3)]\n stage b float32 [c=4, h=H, w=4 * W] : u[c, h, floordiv(w, 4)] + 1\n out y\n out a\n out b"},
    {"nearest resize behind a gate, in front of a concatenation",
     "size H 3 1 0\n size W 9 1 0\n in x float32 [8, H, W]\n in z float32 [8, 2 * H, 2 * W]\n in k float32 [8, 8]\n"
     " stage s float32 [c=8] sum [h=H, w=W] : x[c, h, w]\n stage g float32 [c=8] sum [d=8] : s[d] * k[c, d]\n stage f float32 [c=8] : max(0, min(1, 0.2 * g[c] + 0.5))\n"
     " stage a float32 [c=8, h=H, w=W] : x[c, h, w] + x[c, h, w] * f[c]\n stage r float32 [c=8, h=2 * H, w=2 * W] : a[c, floordiv(h, 2), floordiv(w, 2)]\n"
     " stage y float32 [c=16, h=2 * H, w=2 * W] : c < 8 ? r[c, h, w] : z[c - 8, h, w]\n out y"},
    {"interpolation along lines and columns", /* periods of two, three and four elements, and one without */
     "in x float32 [5, 7, 24]\n stage p float32 [c=5, h=7, w=48] : x[c, h, max(floordiv(w + 1, 2) - 1, 0)] * (1 - float32(floormod(w + 1, 2) * 2 + 1) / 4)"
     " + x[c, h, min(floordiv(w + 1, 2), 23)] * (float32(floormod(w + 1, 2) * 2 + 1) / 4)\n"
     " stage y float32 [c=5, h=14, w=48] : p[c, max(floordiv(h + 1, 2) - 1, 0), w] * (1 - float32(floormod(h + 1, 2)) / 2) + p[c, min(floordiv(h + 1, 2), 6), w] * (float32(floormod(h + 1, 2)) / 2)\n"
     " stage a float32 [h=7, w=36] : x[0, h, floordiv(2 * w, 3)] * float32(floormod(2 * w, 3)) + x[1, h, min(floordiv(2 * w, 3) + 1, 23)]\n"
     " stage b float32 [h=7, w=96] : x[2, h, max(floordiv(w - 2, 4), 0)] - x[3, h, floordiv(w, 4)] * float32(floormod(w - 2, 4))\n"
     " stage d float32 [h=7, w=33] : x[4, h, min(floordiv(w + 1, 2), 23)]\n out y\n out a\n out b\n out d"},
    {"a division that does not divide", "in x float32 [4, 3]\n stage y float32 [h=4, w=10] : x[h, floordiv(w, 4)] + x[h, floormod(w, 3)]\n out y"},
    {"symbolic reshape",
     "size A 3 1 5\n size B 4 7 1\n in x float32 [A, B, 6]\n stage y float32 [k=A * B, c=6] : x[floordiv(k, B), floormod(k, B), c]\n out y"},
    {"symbolic reshape of a transpose",
     "size A 3 1 5\n size B 4 7 1\n in x float32 [B, A, 6]\n stage y float32 [k=A * B, c=6] : x[floormod(k, B), floordiv(k, B), c]\n out y"},
    {"reverse and steps", "size N 9 1 0\n in x float32 [N]\n in z float32 [2 * N]\n stage y float32 [n=N] : x[N - 1 - n] + z[2 * n + 1]\n out y"},
    {"pad of two axes",
     "size N 2 1 0\n in x float32 [N, 9, 11]\n"
     " stage y float32 [n=N, h=12, w=15] : 0 <= h - 1 && h - 1 < 9 && 0 <= w - 3 && w - 3 < 11 ? x[n, h - 1, w - 3] : 5\n out y"},
    {"pad of the last axis, symbolic", "size N 2 1 3\n size W 30 1 0\n in x float32 [N, W]\n stage y float32 [n=N, w=W + 4] : 2 <= w && w < W + 2 ? x[n, w - 2] : 1\n out y"},
    {"a function of what is padded",
     "size N 2 1 0\n in x float32 [N, 9, 40]\n stage a float32 [n=N, h=9, w=40] : exp(x[n, h, w]) * x[n, h, w]\n"
     " stage p float32 [n=N, h=11, w=42] : 1 <= h && h < 10 && 1 <= w && w < 41 ? a[n, h - 1, w - 1] : 0\n"
     " stage y float32 [n=N, h=11, w=42] : max(p[n, h, w], 0.5)\n out y"},
    {"concat of channels",
     "size N 2 1 0\n in a float32 [N, 3, 8]\n in b float32 [N, 4, 8]\n in d float32 [N, 2, 8]\n"
     " stage y float32 [n=N, c=9, k=8] : c < 3 ? a[n, c, k] : c < 7 ? b[n, c - 3, k] + 1 : d[n, c - 7, k]\n out y"},
    {"concat of rows, symbolic",
     "size A 5 0 3 1\n size B 4 6 0 1\n in a float32 [A, 8]\n in b float32 [B, 8]\n in s float32 [8]\n stage y float32 [n=A + B, k=8] : (n < A ? a[n, k] : b[n - A, k]) * s[k]\n out y"},
    {"concat of the last axis",
     "size N 3 1 0\n in a float32 [N, 10]\n in b float32 [N, 17]\n stage y float32 [n=N, k=27] : k < 10 ? max(a[n, k], 0) : b[n, k - 10]\n out y"},
    {"concat of the last axis, symbolic and with a row factor",
     "size N 3 1 2\n size A 0 5 30\n size B 7 1 0\n in a float32 [N, A]\n in b float32 [N, B]\n in s float32 [N]\n"
     " stage y float32 [n=N, k=A + B] : (k < A ? a[n, k] : b[n, k - A]) + s[n]\n out y"},
    {"triangle", "size N 20 1 0 9\n in x float32 [N, N]\n stage y float32 [i=N, j=N] : i < j ? -1e9 : x[i, j]\n out y"},
    {"split into two results",
     "size N 3 1 0\n in x float32 [N, 12]\n stage a float32 [n=N, k=5] : x[n, k]\n stage b float32 [n=N, k=7] : x[n, k + 5] * 2\n out a\n out b"},
    {"gather", "size N 3 1 0\n in x float32 [20, N, 6]\n in i int64 [5] below 20\n stage y float32 [a=5, n=N, k=6] : x[i[a], n, k] + 1\n out y"},
    {"gather along the last axis", "size N 3 1 0\n in x float32 [N, 30]\n in i int64 [7] below 30\n stage y float32 [n=N, k=7] : exp(x[n, i[k]])\n out y"},
    {"a choice by data", "size N 600 1 0\n in m bool [N]\n in a float32 [N]\n in b float32 [N]\n stage y float32 [n=N] : m[n] ? a[n] : b[n] * 2\n out y"},
    {"special values of element-wise operations",
     "in a float32 [300] special\n in b float32 [300] special\n stage y float32 [n=300] : max(a[n], b[n])\n stage z float32 [n=300] : min(abs(a[n]), floor(b[n]))\n"
     " stage s float32 [n=300] : sign(a[n]) + round(a[n])\n stage c bool [n=300] : a[n] < b[n] || isnan(a[n])\n out y\n out z\n out s\n out c"},

    {"sum of rows", "size N 4 1 0\n size K 600 1 0\n in x float32 [N, K]\n stage y float32 [n=N] sum [k=K] : x[n, k]\n out y"},
    {"sum of rows of a term", "size N 4 1 0\n size K 600 1 513\n in x float32 [N, K]\n stage y float32 [n=N] sum [k=K] : exp(x[n, k]) * 0.5\n out y"},
    {"sum of rows of two functions", "size N 4 1 0\n in x float32 [N, 700]\n stage y float32 [n=N] sum [k=700] : tanh(exp(x[n, k]))\n out y"},
    {"sums of cheap terms, which run in four vectors", /* rows of open and of known length, with and without a rest, between bounds, of bytes */
     "size N 4 1 2 0 3 1\n size K 600 1 0 33 64 127\n in x float32 [N, K]\n in w float32 [K]\n in u float32 [N, 300]\n in v float32 [N, 256]\n in i uint8 [N, 300]\n"
     " stage a float32 [n=N] sum [k=K] : max(x[n, k], 0) * w[k]\n stage b float32 [n=N] sum [k=300] : abs(u[n, k]) * 0.5 + 1\n"
     " stage c float32 [n=N] sum [k=256] : (v[n, k] - a[n]) * (v[n, k] - a[n])\n stage d float32 [n=N] sum [k=300] : 7 <= k && k < 280 ? u[n, k - 7] * b[n] : 0\n"
     " stage e float32 [n=N] sum [k=300] : float32(i[n, k]) * 2 + 1\n stage f float32 [n=N] sum [k=K] : k < K - 5 ? min(x[n, k + 5], 1) : 0\n"
     " out a\n out b\n out c\n out d\n out e\n out f"},
    {"sums of cheap terms over outer and inner axes",
     "size N 3 1 0\n size K 200 1 0\n in x float32 [N, 6, K]\n in z float32 [N, 6, 300]\n stage a float32 [c=6] sum [n=N, k=K] : x[n, c, k] * 2 + 1\n"
     " stage b float32 [c=6] sum [n=N, k=300] : max(z[n, c, k], -1) * 0.5\n out a\n out b"},
    {"a sum of what each of many operands is once a row", /* walks along what lies together, not along the rows */
     "size N 600 1 0\n in x float32 [N, 49]\n in a float32 [N]\n in b float32 [N]\n in c float32 [N]\n in d float32 [N]\n"
     " stage y float32 [n=N] sum [k=49] : max((x[n, k] * a[n] + b[n]) * c[n] + d[n], 0)\n out y"},
    {"sum of columns", "size N 600 1 0\n size K 600 1 7\n in x float32 [N, K]\n stage y float32 [k=K] sum [n=N] : x[n, k] * 2\n out y"},
    {"sum of everything", "size N 7 1 0\n in x float32 [N, 5, 9]\n stage y float32 [] sum [n=N, a=5, b=9] : x[n, a, b]\n out y"},
    {"sum over the middle", "size N 3 1 0\n in x float32 [N, 6, 40]\n stage y float32 [n=N, k=40] sum [c=6] : x[n, c, k]\n out y"},
    {"sum over outer and inner", "size N 3 1 0\n in x float32 [N, 6, 40]\n stage y float32 [c=6] sum [n=N, k=40] : x[n, c, k]\n out y"},
    {"max, min, product", "size N 3 1 2\n in x float32 [N, 50] special\n in z float32 [N, 5]\n stage a float32 [n=N] max [k=50] : x[n, k]\n stage b float32 [n=N] min [k=50] : x[n, k]\n"
     " stage c float32 [n=N] prod [k=5] : z[n, k]\n out a\n out b\n out c"},
    {"arg-max of rows", "size N 3 1 0\n in x float32 [N, 50] special\n stage y int64 [n=N] argmax [k=50] : x[n, k]\n second : k\n out y"},
    {"arg-min, last, of columns", "size N 3 1 2\n in x float32 [N, 50, 9]\n stage y int64 [n=N, j=9] argmin_last [k=50] : floor(x[n, k, j])\n second : k\n out y"},
    {"arg-max, last, of integers", "size N 3 1 2\n in x int32 [N, 50] below 9\n stage y int64 [n=N] argmax_last [k=50] : x[n, k]\n second : k\n out y"},
    {"any and all", "size N 3 1 0\n in x bool [N, 3]\n stage a bool [n=N] and [k=3] : x[n, k]\n stage o bool [n=N] or [k=3] : x[n, k]\n out a\n out o"},
    {"integer reductions",
     "size N 3 1 0\n in x int32 [N, 70]\n in z int8 [N, 70]\n in u uint8 [N, 70]\n in w int64 [N, 70]\n"
     " stage a int32 [n=N] sum [k=70] : x[n, k]\n stage b int8 [n=N] max [k=70] : z[n, k]\n stage c uint8 [n=N] min [k=70] : u[n, k]\n"
     " stage d int64 [n=N] prod [k=70] : w[n, k]\n stage e int64 [k=70] sum [n=N] : w[n, k] * 3\n out a\n out b\n out c\n out d\n out e"},
    {"double reductions", "size N 3 1 0\n in x float64 [N, 70]\n stage a float64 [n=N] sum [k=70] : exp(x[n, k])\n stage b float64 [k=70] max [n=N] : x[n, k]\n out a\n out b"},
    {"a reduction over one point", "size N 3 1 0\n in x float32 [N, 1]\n stage y float32 [n=N] sum [k=1] : x[n, k]\n stage z float32 [n=N] : y[n] * 2\n out z"},

    {"softmax of rows",
     "size N 4 1 0\n size S 70 1 513\n in x float32 [N, S]\n stage m float32 [n=N, o=1] max [k=S] : x[n, k]\n stage e float32 [n=N, k=S] : exp(x[n, k] - m[n, 0])\n"
     " stage s float32 [n=N, o=1] sum [k=S] : e[n, k]\n stage y float32 [n=N, k=S] : e[n, k] / s[n, 0]\n out y"},
    {"softmax of the middle axis",
     "size N 2 1 0\n size S 30 1 600\n in x float32 [N, 6, S]\n stage m float32 [n=N, o=1, i=S] max [c=6] : x[n, c, i]\n"
     " stage e float32 [n=N, c=6, i=S] : exp(x[n, c, i] - m[n, 0, i])\n stage s float32 [n=N, o=1, i=S] sum [c=6] : e[n, c, i]\n"
     " stage y float32 [n=N, c=6, i=S] : e[n, c, i] / s[n, 0, i]\n out y"},
    {"softmax of the first axis",
     "size N 6 1 0\n in x float32 [N, 9]\n stage m float32 [i=9] max [c=N] : x[c, i]\n stage e float32 [c=N, i=9] : exp(x[c, i] - m[i])\n"
     " stage s float32 [i=9] sum [c=N] : e[c, i]\n stage y float32 [c=N, i=9] : e[c, i] / s[i]\n out y"},
    {"layer norm",
     "size N 5 1 0\n in x float32 [N, 96]\n in g float32 [96]\n in b float32 [96]\n stage s float32 [n=N] sum [k=96] : x[n, k]\n stage m float32 [n=N] : s[n] / 96\n"
     " stage q float32 [n=N] sum [k=96] : (x[n, k] - m[n]) * (x[n, k] - m[n])\n stage d float32 [n=N] : 1 / sqrt(q[n] / 96 + 0.001)\n"
     " stage y float32 [n=N, k=96] : (x[n, k] - m[n]) * d[n] * g[k] + b[k]\n out y\n out m\n out d"},
    {"instance norm",
     "size N 2 1 0\n in x float32 [N, 3, 5, 7]\n in g float32 [3]\n stage s float32 [n=N, c=3] sum [h=5, w=7] : x[n, c, h, w]\n"
     " stage q float32 [n=N, c=3] sum [h=5, w=7] : (x[n, c, h, w] - s[n, c] / 35) * (x[n, c, h, w] - s[n, c] / 35)\n"
     " stage y float32 [n=N, c=3, h=5, w=7] : (x[n, c, h, w] - s[n, c] / 35) / sqrt(q[n, c] / 35 + 0.01) * g[c]\n out y"},
    {"batch statistics",
     "size N 3 1 2\n in x float32 [N, 4, 30]\n stage s float32 [c=4] sum [n=N, k=30] : x[n, c, k]\n stage y float32 [n=N, c=4, k=30] : x[n, c, k] - s[c] * 0.01\n out y\n out s"},
    {"mean of everything, taken off", "size N 3 1 0\n in x float32 [N, 50]\n stage s float32 [] sum [n=N, k=50] : x[n, k]\n stage y float32 [n=N, k=50] : x[n, k] - s[]\n out y"},
    {"squeeze and excite",
     "size N 2 1 0\n in x float32 [N, 8, 30]\n in a float32 [4, 8]\n in b float32 [8, 4]\n stage p float32 [n=N, c=8] sum [k=30] : x[n, c, k]\n"
     " stage h float32 [n=N, r=4] sum [c=8] : a[r, c] * (p[n, c] / 30)\n stage g float32 [n=N, r=4] : max(h[n, r], 0)\n"
     " stage o float32 [n=N, c=8] sum [r=4] : b[c, r] * g[n, r]\n stage q float32 [n=N, c=8] : 1 / (1 + exp(-o[n, c]))\n"
     " stage y float32 [n=N, c=8, k=30] : x[n, c, k] * q[n, c]\n out y"},
    {"outer difference of two reductions",
     "size N 5 1 0\n in x float32 [N, 20]\n in z float32 [7, 20]\n stage a float32 [n=N] sum [k=20] : x[n, k]\n stage b float32 [m=7] sum [k=20] : z[m, k]\n"
     " stage y float32 [n=N, m=7] : a[n] - b[m]\n out y"},
    {"a reduction read twice over", "size N 5 1 2\n in x float32 [N, 20]\n stage a float32 [n=N] sum [k=20] : x[n, k]\n stage y float32 [n=N, m=N] : a[n] - a[m]\n out y"},
    {"a dear map read by a window",
     "size N 2 1 0\n in x float32 [N, 20]\n stage e float32 [n=N, k=20] : exp(x[n, k])\n stage y float32 [n=N, k=18] sum [t=3] : e[n, k + t]\n out y"},
    {"padded softmax",
     "size N 4 1 0\n in x float32 [N, 40]\n stage m float32 [n=N] max [k=40] : x[n, k]\n stage e float32 [n=N, k=40] : exp(x[n, k] - m[n])\n stage s float32 [n=N] sum [k=40] : e[n, k]\n"
     " stage y float32 [n=N + 2, k=44] : 1 <= n && n < N + 1 && 3 <= k && k < 43 ? e[n - 1, k - 3] / s[n - 1] : 7\n out y"},

    {"matrix product, integers", "size M 5 1 0\n in a int32 [M, 20]\n in b int32 [20, 30]\n stage y int32 [m=M, n=30] sum [k=20] : a[m, k] * b[k, n]\n out y"},
    {"matrix product, transposed, doubles", "size M 5 1 0\n in a float64 [M, 40]\n in b float64 [30, 40]\n stage y float64 [m=M, n=30] sum [k=40] : a[m, k] * b[n, k]\n out y"},
    {"matrix product of bytes with offsets",
     "size M 5 1 0\n in a uint8 [M, 20] below 200\n in b int8 [20, 30]\n in z uint8 [] below 9\n"
     " stage y int32 [m=M, n=30] sum [k=20] : (int32(a[m, k]) - int32(z[])) * int32(b[k, n])\n stage r float32 [m=M, n=30] : float32(y[m, n]) * 0.5\n out r"},
    {"convolution of doubles with borders",
     "size N 2 1 0\n size H 9 1 6\n in x float64 [N, 3, H, 11]\n in w float64 [4, 3, 3, 3]\n"
     " stage y float64 [n=N, c=4, h=H, v=11] sum [i=3, p=3, q=3] : (0 <= h + p - 1 && h + p - 1 < H && 0 <= v + q - 1 && v + q - 1 < 11 ? x[n, i, h + p - 1, v + q - 1] : 0) * w[c, i, p, q]\n"
     " stage z float64 [n=N, c=4, h=H, v=11] : max(y[n, c, h, v], 0)\n out z"},
    {"depth-wise convolution, stride 2",
     "size N 2 1 0\n in x float32 [N, 5, 15, 19]\n in w float32 [5, 3, 3]\n in b float32 [5]\n"
     " stage y float32 [n=N, c=5, h=8, v=10] sum [p=3, q=3] : (1 <= 2*h + p && 2*h + p < 16 && 1 <= 2*v + q && 2*v + q < 20 ? x[n, c, 2*h + p - 1, 2*v + q - 1] : 0) * w[c, p, q]\n"
     " stage z float32 [n=N, c=5, h=8, v=10] : min(max(y[n, c, h, v] + b[c], 0), 6)\n out z"},
    {"depth-wise convolution, wide",
     "size N 1 2 0\n in x float32 [N, 3, 20, 70]\n in w float32 [3, 5, 5]\n"
     " stage y float32 [n=N, c=3, h=20, v=70] sum [p=5, q=5] : (2 <= h + p && h + p < 22 && 2 <= v + q && v + q < 72 ? x[n, c, h + p - 2, v + q - 2] : 0) * w[c, p, q]\n out y"},
    {"overlapping windows without borders", "in x float32 [6, 21, 71] special\n stage y float32 [c=6, h=10, j=35] max [a=3, b=3] : x[c, h * 2 + a, j * 2 + b]\n out y"},
    {"overlapping windows without borders, sizes not known, behind a relu",
     "size N 2 1 0\n size H 9 1 3\n size W 20 1 40\n in x float32 [N, 3, 2 * H + 1, 2 * W + 1]\n stage r float32 [n=N, c=3, h=2 * H + 1, j=2 * W + 1] : max(x[n, c, h, j], 0.1)\n"
     " stage y float32 [n=N, c=3, h=H, j=W] max [a=3, b=3] : r[n, c, h * 2 + a, j * 2 + b]\n out y"},
    {"averages of overlapping windows at stride 3, lines at stride 1",
     "size N 2 1\n in x float32 [N, 3, 14, 65]\n stage s float32 [n=N, c=3, h=10, j=21] sum [a=5, b=5] : x[n, c, h + a, j * 3 + b]\n stage y float32 [n=N, c=3, h=10, j=21] : s[n, c, h, j] / 25\n out y"},
    {"depth-wise without borders at stride 2, narrow and wide",
     "in x float32 [5, 19, 19]\n in z float32 [5, 9, 101]\n in w float32 [5, 3, 3]\n stage a float32 [c=5, h=9, j=9] sum [p=3, q=3] : x[c, h * 2 + p, j * 2 + q] * w[c, p, q]\n"
     " stage b float32 [c=5, h=4, j=50] sum [p=3, q=3] : z[c, h * 2 + p, j * 2 + q] * w[c, p, q]\n out a\n out b"},
    {"overlapping windows of bytes along one axis", "in x uint8 [30, 400]\n stage y uint8 [n=30, j=198] max [b=5] : x[n, j * 2 + b]\n out y"},
    {"bands: depth-wise, then point-wise",
     "size N 2 1 0\n in x float32 [N, 7, 24, 20]\n in w float32 [7, 3, 3]\n in b float32 [7]\n in u float32 [10, 7]\n in d float32 [10]\n"
     " stage s float32 [n=N, c=7, h=24, v=20] sum [p=3, q=3] : (1 <= h + p && h + p < 25 && 1 <= v + q && v + q < 21 ? x[n, c, h + p - 1, v + q - 1] : 0) * w[c, p, q]\n"
     " stage a float32 [n=N, c=7, h=24, v=20] : min(max(s[n, c, h, v] + b[c], 0), 6)\n"
     " stage t float32 [n=N, o=10, h=24, v=20] sum [c=7] : a[n, c, h, v] * u[o, c]\n stage y float32 [n=N, o=10, h=24, v=20] : t[n, o, h, v] + d[o]\n out y"},
    {"bands: stride 2, narrow pictures, a residual",
     "in x float32 [1, 5, 14, 14]\n in w float32 [5, 3, 3]\n in u float32 [20, 5]\n in r float32 [1, 20, 7, 7]\n"
     " stage s float32 [n=1, c=5, h=7, v=7] sum [p=3, q=3] : (1 <= 2*h + p && 2*h + p < 15 && 1 <= 2*v + q && 2*v + q < 15 ? x[n, c, 2*h + p - 1, 2*v + q - 1] : 0) * w[c, p, q]\n"
     " stage t float32 [n=1, o=20, h=7, v=7] sum [c=5] : u[o, c] * s[n, c, h, v]\n stage y float32 [n=1, o=20, h=7, v=7] : max(t[n, o, h, v] + r[n, o, h, v], 0)\n out y"},
    {"bands: no borders, work in front and behind",
     "in x float32 [1, 6, 15, 40]\n in w float32 [6, 3, 3]\n in u float32 [9, 6]\n stage z float32 [n=1, c=6, h=15, v=40] : max(x[n, c, h, v], 0)\n"
     " stage s float32 [n=1, c=6, h=13, v=38] sum [p=3, q=3] : z[n, c, h + p, v + q] * w[c, p, q]\n stage a float32 [n=1, c=6, h=13, v=38] : tanh(s[n, c, h, v])\n"
     " stage y float32 [n=1, o=9, h=13, v=38] sum [c=6] : a[n, c, h, v] * u[o, c]\n out y"},
    {"bands: dilated taps, lines not known",
     "size H 9 4 12\n in x float32 [1, 4, H, 33]\n in w float32 [4, 3, 3]\n in u float32 [6, 4]\n"
     " stage s float32 [n=1, c=4, h=H, v=33] sum [p=3, q=3] : (2 <= h + 2*p && h + 2*p < H + 2 && 2 <= v + 2*q && v + 2*q < 35 ? x[n, c, h + 2*p - 2, v + 2*q - 2] : 0) * w[c, p, q]\n"
     " stage y float32 [n=1, o=6, h=H, v=33] sum [c=4] : s[n, c, h, v] * u[o, c]\n out y"},
    {"bands: a pool in front",
     "size N 2 1 0\n in x float32 [N, 8, 25, 31]\n in u float32 [12, 8]\n"
     " stage s float32 [n=N, c=8, h=12, v=15] max [p=3, q=3] : x[n, c, 2*h + p, 2*v + q]\n stage y float32 [n=N, o=12, h=12, v=15] sum [c=8] : s[n, c, h, v] * u[o, c]\n out y"},
    {"planes: flat, with a bias and a sum behind", /* vectors run over the ends of lines; channels in blocks of six */
     "size N 2 1 0\n in x float32 [N, 12, 7, 7]\n in w float32 [12, 5, 5]\n in b float32 [12]\n in r float32 [N, 12, 7, 7]\n"
     " stage s float32 [n=N, c=12, h=7, v=7] sum [p=5, q=5] : (2 <= h + p && h + p < 9 && 2 <= v + q && v + q < 9 ? x[n, c, h + p - 2, v + q - 2] : 0) * w[c, p, q]\n"
     " stage y float32 [n=N, c=12, h=7, v=7] : max(s[n, c, h, v] + b[c], 0) + r[n, c, h, v]\n out y"},
    {"planes: lines of whole vectors, the mean of each behind",
     "size N 2 1 0\n in x float32 [N, 16, 14, 14]\n in w float32 [16, 3, 3]\n"
     " stage s float32 [n=N, c=16, h=14, v=14] sum [p=3, q=3] : (1 <= h + p && h + p < 15 && 1 <= v + q && v + q < 15 ? x[n, c, h + p - 1, v + q - 1] : 0) * w[c, p, q]\n"
     " stage y float32 [n=N, c=16, h=14, v=14] : max(s[n, c, h, v], 0)\n stage m float32 [n=N, c=16] sum [h=14, v=14] : y[n, c, h, v]\n out y\n out m"},
    {"planes: strides, a prime number of channels",
     "size N 2 1 0\n in x float32 [N, 11, 13, 14]\n in w float32 [11, 5, 5]\n"
     " stage s float32 [n=N, c=11, h=7, v=7] sum [p=5, q=5] : (2 <= 2*h + p && 2*h + p < 15 && 2 <= 2*v + q && 2*v + q < 16 ? x[n, c, 2*h + p - 2, 2*v + q - 2] : 0) * w[c, p, q]\n out s"},
    {"planes: a pool with uneven borders",
     "size N 8 1 0\n in x float32 [N, 8, 9, 13] special\n"
     " stage y float32 [n=N, c=8, h=9, v=13] max [p=3, q=3] : 1 <= h + p && h + p < 10 && 2 <= v + q && v + q < 15 ? x[n, c, h + p - 1, v + q - 2] : -inf\n out y"},
    {"planes: dilated taps of a changed operand",
     "size N 2 1 0\n in x float32 [N, 10, 9, 9]\n in w float32 [10, 3, 3]\n stage a float32 [n=N, c=10, h=9, v=9] : max(x[n, c, h, v], 0) * 2\n"
     " stage s float32 [n=N, c=10, h=9, v=9] sum [p=3, q=3] : (2 <= h + 2*p && h + 2*p < 11 && 2 <= v + 2*q && v + 2*q < 11 ? a[n, c, h + 2*p - 2, v + 2*q - 2] : 0) * w[c, p, q]\n out s"},
    {"planes behind: an activation that reads the sum twice",
     "size N 2 1 0\n in x float32 [N, 8, 14, 14]\n in w float32 [8, 3, 3]\n in b float32 [8]\n"
     " stage s float32 [n=N, c=8, h=7, v=7] sum [p=3, q=3] : (1 <= 2*h + p && 2*h + p < 15 && 1 <= 2*v + q && 2*v + q < 15 ? x[n, c, 2*h + p - 1, 2*v + q - 1] : 0) * w[c, p, q]\n"
     " stage a float32 [n=N, c=8, h=7, v=7] : s[n, c, h, v] + b[c]\n stage g float32 [n=N, c=8, h=7, v=7] : min(max(a[n, c, h, v] + 3, 0), 6) / 6\n"
     " stage y float32 [n=N, c=8, h=7, v=7] : a[n, c, h, v] * g[n, c, h, v]\n out y"},
    {"planes behind: functions of the sum",
     "size N 2 1 0\n in x float32 [N, 9, 9, 9]\n in w float32 [9, 3, 3]\n"
     " stage s float32 [n=N, c=9, h=9, v=9] sum [p=3, q=3] : (1 <= h + p && h + p < 10 && 1 <= v + q && v + q < 10 ? x[n, c, h + p - 1, v + q - 1] : 0) * w[c, p, q]\n"
     " stage y float32 [n=N, c=9, h=9, v=9] : s[n, c, h, v] / (1 + exp(-s[n, c, h, v])) + tanh(s[n, c, h, v])\n out y"},
    {"planes: the sum, and what is made of it crosswise, are results",
     "size N 2 1 0\n in x float32 [N, 8, 7, 7]\n in w float32 [8, 3, 3]\n"
     " stage s float32 [n=N, c=8, h=7, v=7] sum [p=3, q=3] : (1 <= h + p && h + p < 8 && 1 <= v + q && v + q < 8 ? x[n, c, h + p - 1, v + q - 1] : 0) * w[c, p, q]\n"
     " stage a float32 [n=N, c=8, h=7, v=7] : max(s[n, c, h, v], 0)\n stage t float32 [n=N, c=8, h=7, v=7] : a[n, c, h, v] + s[n, c, v, h]\n"
     " stage y int32 [n=N, c=8, h=7, v=7] : int32(a[n, c, h, v] * 4) + int32(h + v)\n out s\n out t\n out y"},
    {"planes behind: a max pool and a sum of one picture meet",
     "size N 2 1 0\n in x float32 [N, 8, 7, 7]\n in w float32 [8, 3, 3]\n"
     " stage s float32 [n=N, c=8, h=7, v=7] sum [p=3, q=3] : (1 <= h + p && h + p < 8 && 1 <= v + q && v + q < 8 ? x[n, c, h + p - 1, v + q - 1] : 0) * w[c, p, q]\n"
     " stage m float32 [n=N, c=8, h=7, v=7] max [p=3, q=3] : 1 <= h + p && h + p < 8 && 1 <= v + q && v + q < 8 ? x[n, c, h + p - 1, v + q - 1] : -inf\n"
     " stage y float32 [n=N, c=8, h=7, v=7] : s[n, c, h, v] - m[n, c, h, v]\n out y"},
    {"planes behind: a large window, sizes not known",
     "size H 9 4 3 1 0 5\n size W 20 1 2 37 6 0\n in x float32 [8, H, W]\n in w float32 [8, 5, 5]\n in b float32 [8]\n"
     " stage s float32 [c=8, h=H, v=W] sum [p=5, q=5] : (2 <= h + p && h + p < H + 2 && 2 <= v + q && v + q < W + 2 ? x[c, h + p - 2, v + q - 2] : 0) * w[c, p, q]\n"
     " stage a float32 [c=8, h=H, v=W] : s[c, h, v] + b[c]\n stage y float32 [c=8, h=H, v=W] : a[c, h, v] * min(max(a[c, h, v] + 3, 0), 6) / 6\n out y"},
    {"planes: a large window with gaps, fewer outputs than positions, sizes not known",
     "size H 11 9 0 23\n size W 12 9 1 40\n in x float32 [2, 9, H + 8, W + 4]\n in w float32 [9, 5, 3]\n"
     " stage s float32 [n=2, c=9, h=H, v=W] sum [p=5, q=3] : (h + 2*p < H + 7 && 1 <= v + 2*q ? x[n, c, h + 2*p, v + 2*q - 1] : 0) * w[c, p, q]\n"
     " stage y float32 [n=2, c=9, h=H, v=W] : s[n, c, h, v] < 0 ? 0.1 * s[n, c, h, v] : s[n, c, h, v]\n out y"},
    {"planes behind: a column of taps, functions, only the width not known",
     "size W 20 1 0 16 33\n in x float32 [8, 6, W]\n in w float32 [8, 13]\n"
     " stage s float32 [c=8, h=6, v=W] sum [p=13, q=1] : (6 <= h + p && h + p < 12 && 0 <= v + q && v + q < W ? x[c, h + p - 6, v + q] : 0) * w[c, p]\n"
     " stage y float32 [c=8, h=6, v=W] : tanh(s[c, h, v]) + exp(-s[c, h, v])\n out y"},
    {"phases: two, borders on both sides, of a changed operand",
     "size N 2 1 0\n in x float32 [N, 3, 21, 41]\n in w float32 [3, 3, 3]\n stage a float32 [n=N, c=3, h=21, v=41] : max(x[n, c, h, v], 0) + 1\n"
     " stage s float32 [n=N, c=3, h=11, v=21] sum [p=3, q=3] : (1 <= 2*h + p && 2*h + p < 22 && 1 <= 2*v + q && 2*v + q < 42 ? a[n, c, 2*h + p - 1, 2*v + q - 1] : 0) * w[c, p, q]\n out s"},
    {"phases: two, no border in front",
     "size N 2 1 0\n in x float32 [N, 3, 20, 40]\n in w float32 [3, 3, 3]\n"
     " stage s float32 [n=N, c=3, h=10, v=20] sum [p=3, q=3] : (2*h + p < 20 && 2*v + q < 40 ? x[n, c, 2*h + p, 2*v + q] : 0) * w[c, p, q]\n out s"},
    {"phases: three, of a sum of two operands",
     "size N 2 1 0\n in x float32 [N, 3, 9, 50]\n in z float32 [50]\n in w float32 [3, 3, 5]\n"
     " stage s float32 [n=N, c=3, h=9, v=17] sum [p=3, q=5] : (1 <= h + p && h + p < 10 && 2 <= 3*v + q && 3*v + q < 52 ? x[n, c, h + p - 1, 3*v + q - 2] + z[3*v + q - 2] : 0) * w[c, p, q]\n out s"},
    {"phases: four of a max pool, width not known",
     "size W 40 1 2 3 4 5 33 0\n in x float32 [5, 9, W] special\n"
     " stage y float32 [c=5, h=9, v=W] max [p=3, q=5] : 1 <= h + p && h + p < 10 && 3 <= 4*v + q && 4*v + q < W + 3 ? x[c, h + p - 1, 4*v + q - 3] : -inf\n out y"},
    {"in step: lines of a wide window, their number known",
     "size N 2 1 0\n in x float32 [N, 3, 21, 40]\n in w float32 [3, 5, 5]\n"
     " stage s float32 [n=N, c=3, h=21, v=40] sum [p=5, q=5] : (2 <= h + p && h + p < 23 && 2 <= v + q && v + q < 42 ? x[n, c, h + p - 2, v + q - 2] : 0) * w[c, p, q]\n"
     " stage y float32 [n=N, c=3, h=21, v=40] : min(max(s[n, c, h, v], 0), 6)\n out y"},
    {"in step: not known",
     "size H 9 4 3 1 0 17\n in x float32 [1, 3, H, 37]\n in w float32 [3, 5, 3]\n"
     " stage s float32 [n=1, c=3, h=H, v=37] sum [p=5, q=3] : (2 <= h + p && h + p < H + 2 && 1 <= v + q && v + q < 38 ? x[n, c, h + p - 2, v + q - 1] : 0) * w[c, p, q]\n out s"},
    {"grouped convolution of integers",
     "size N 2 1 0\n in x int8 [N, 4, 7, 9]\n in w int8 [6, 2, 3, 3]\n"
     " stage y int32 [n=N, c=6, h=7, v=9] sum [i=2, p=3, q=3] : (0 <= h + p - 1 && h + p - 1 < 7 && 0 <= v + q - 1 && v + q - 1 < 9 ? int32(x[n, floordiv(c, 3)*2 + i, h + p - 1, v + q - 1]) : 0)"
     " * int32(w[c, i, p, q])\n out y"},
    {"max pool with borders",
     "size N 2 1 0\n in x float32 [N, 3, 15, 20] special\n"
     " stage y float32 [n=N, c=3, h=8, v=10] max [p=3, q=3] : 1 <= 2*h + p && 2*h + p < 16 && 1 <= 2*v + q && 2*v + q < 21 ? x[n, c, 2*h + p - 1, 2*v + q - 1] : -inf\n out y"},
    {"wide max pool",
     "size N 2 1 0\n in x float32 [N, 3, 15, 20] special\n"
     " stage y float32 [n=N, c=3, h=15, v=20] max [p=7, q=5] : 3 <= h + p && h + p < 18 && 2 <= v + q && v + q < 22 ? x[n, c, h + p - 3, v + q - 2] : -inf\n out y"},
    {"wide sum pool with strides",
     "size N 2 1 0\n in x float32 [N, 3, 15, 21]\n"
     " stage y float32 [n=N, c=3, h=8, v=7] sum [p=5, q=4] : 2 <= 2*h + p && 2*h + p < 17 && 1 <= 3*v + q && 3*v + q < 22 ? x[n, c, 2*h + p - 2, 3*v + q - 1] : 0\n out y"},
    {"average pool without borders", "size N 2 1 0\n in x float32 [N, 3, 8, 20]\n stage y float32 [n=N, c=3, h=4, v=10] sum [p=2, q=2] : x[n, c, 2*h + p, 2*v + q]\n"
     " stage z float32 [n=N, c=3, h=4, v=10] : y[n, c, h, v] / 4\n out z"},
    {"global average pool", "size N 2 1 0\n in x float32 [N, 30, 7, 7]\n stage y float32 [n=N, c=30, h=1, w=1] sum [p=7, q=7] : x[n, c, p, q]\n"
     " stage z float32 [n=N, c=30, h=1, w=1] : y[n, c, h, w] / 49\n out z"},
    {"local response",
     "size N 2 1 0\n in x float32 [N, 9, 4, 5]\n stage s float32 [n=N, c=9, h=4, w=5] sum [j=5] : 0 <= c + j - 2 && c + j - 2 < 9 ? x[n, c + j - 2, h, w] * x[n, c + j - 2, h, w] : 0\n"
     " stage y float32 [n=N, c=9, h=4, w=5] : x[n, c, h, w] / pow(1 + s[n, c, h, w] * 0.1, 0.75)\n out y"},
    {"prefix sum", "size N 4 1 0\n in x float32 [N, 12]\n stage y float32 [n=N, k=12] sum [j=12] : j <= k ? x[n, j] : 0\n out y"},
    {"transposed convolution",
     "size N 2 1 0\n in x float32 [N, 3, 5, 6]\n in w float32 [3, 2, 3, 3]\n"
     " stage y float32 [n=N, c=2, h=11, v=13] sum [i=3, p=3, q=3] : (floormod(h - p, 2) == 0 && 0 <= floordiv(h - p, 2) && floordiv(h - p, 2) < 5 && floormod(v - q, 2) == 0 &&"
     " 0 <= floordiv(v - q, 2) && floordiv(v - q, 2) < 6 ? x[n, i, floordiv(h - p, 2), floordiv(v - q, 2)] : 0) * w[i, c, p, q]\n out y"},
    {"reduction in front of a concat",
     "size N 3 1 0\n in x float32 [N, 30, 4]\n in z float32 [N, 5]\n stage s float32 [n=N, j=4] sum [k=30] : x[n, k, j]\n stage y float32 [n=N, j=9] : j < 4 ? s[n, j] : z[n, j - 4]\n out y"},
    {"reduction behind a concat",
     "size N 3 1 0\n in a float32 [N, 30]\n in b float32 [N, 11]\n stage s float32 [n=N] sum [k=41] : k < 30 ? a[n, k] : b[n, k - 30]\n out s"},
    {"sum of what is gathered", "size N 3 1 0\n in x float32 [50, 8]\n in i int64 [N, 6] below 50\n stage s float32 [n=N, k=8] sum [j=6] : x[i[n, j], k]\n out s"},
    {"two results of different reductions",
     "size N 3 1 0\n in x float32 [N, 40]\n stage a float32 [n=N] sum [k=40] : x[n, k]\n stage b float32 [k=40] max [n=N] : x[n, k]\n stage y float32 [n=N, k=40] : x[n, k] * a[n]\n out a\n out b\n out y"},

    {"half precision", "size N 300 1 0\n in x float16 [N]\n in b bfloat16 [N]\n stage a float16 [n=N] : x[n] * x[n] + 1\n stage y float16 [n=N] : exp(a[n]) / 2\n"
     " stage z bfloat16 [n=N] : bfloat16(float32(b[n]) * 3)\n out y\n out z"},
    {"half precision summed in float", "size N 3 1 0\n in x float16 [N, 40]\n stage y float16 [n=N] sum [k=40] : float32(x[n, k])\n out y"},
    {"products of bytes whose pairs exceed 16 bits",
     "size N 3 1 0\n in x uint8 [N, 515] below 2\n in w int8 [515, 33] below 2\n stage a uint8 [n=N, k=515] : x[n, k] * 255\n stage b int8 [k=515, c=33] : w[k, c] * -128\n"
     " stage y int32 [n=N, c=33] sum [k=515] : int32(a[n, k]) * int32(b[k, c])\n stage z int32 [n=N] sum [k=515] : int32(a[n, k]) * int32(b[k, 0])\n out y\n out z"},
    {"sums of integers that wrap",
     "in x uint8 [2, 40000] below 2\n stage y int32 [n=2] sum [k=40000] : int32(x[n, k] * 255) * 65025\n stage z int32 [k=3] sum [n=2, j=9000] : int32(x[n, j * 3 + k] * 255) * 65025\n out y\n out z"},
    {"elements of four and two bits",
     "size N 5 1 0 7\n in x float32 [N, 6]\n stage a float32 [n=N, k=6] : x[n, k] * 5\n stage y int4 [n=N, k=6] : int4(a[n, k])\n stage z uint2 [n=N, k=6] : uint2(abs(x[n, k]) * 2)\n"
     " stage w float32 [n=N, k=6] : float32(y[n, k]) + a[n, k]\n out y\n out z\n out w"},
    {"bytes that hold the end of one row and the start of the next",
     "size N 5 1 0 8\n size K 7 3 1 5\n in x float32 [N, K]\n stage y uint4 [n=N, k=K] : uint4(abs(x[n, k]) * 7)\n stage z int2 [n=N, k=K] : int2(x[n, k])\n out y\n out z"},
    {"packed elements transposed and shifted",
     "size N 5 1 0 8\n in x int4 [N, 7]\n in u uint2 [N, 7]\n stage y int4 [k=7, n=N] : x[n, k]\n stage z int4 [n=N, k=9] : k < 2 ? 3 : x[n, k - 2]\n"
     " stage v uint2 [n=N, k=3] : u[n, 2 * k + 1]\n out y\n out z\n out v"},
    {"a packed scalar", "in x float32 []\n stage y int4 [] : int4(x[] * 3)\n stage z uint2 [] : 3\n out y\n out z"},
    {"packed integers that wrap",
     "in a int4 [50]\n in b int4 [50]\n in c uint4 [50]\n in i int64 [50]\n stage y int4 [n=50] : a[n] * b[n] - max(a[n], b[n])\n stage z uint4 [n=50] : c[n] + c[n] ^ 5\n stage w uint4 [n=50] : uint4(i[n])\n"
     " stage v int4 [n=50] : int4(i[n]) / b[n] + abs(a[n])\n out y\n out z\n out w\n out v"},
    {"a packed result of rows that are reduced",
     "size N 5 1 0 6\n in x float32 [N, 40]\n stage m float32 [n=N] max [k=40] : x[n, k]\n stage e float32 [n=N, k=40] : exp(x[n, k] - m[n])\n stage s float32 [n=N] sum [k=40] : e[n, k]\n"
     " stage y uint4 [n=N, k=40] : uint4(e[n, k] / s[n] * 90)\n stage z int4 [n=N] : int4(m[n] * 3)\n out y\n out z"},
    {"numbers of eight bits",
     "size N 301 1 0\n in x float32 [N] special\n in a float8e4m3fn [N] special\n in b float8e5m2 [N] special\n stage c float8e4m3fn [n=N] : float8e4m3fn(x[n])\n stage d float8e5m2 [n=N] : float8e5m2(x[n])\n"
     " stage e float8e4m3fnuz [n=N] : float8e4m3fnuz(x[n])\n stage f float8e5m2fnuz [n=N] : float8e5m2fnuz(a[n])\n stage g float8e8m0 [n=N] : float8e8m0(abs(x[n]))\n stage h float8e5m2 [n=N] : b[n] * b[n] + 1\n"
     " stage i float32 [n=N] : float32(a[n]) - float32(b[n])\n stage j float8e4m3fn [n=N] : a[n]\n stage k float8e5m2 [n=N] : b[n] < 0 ? 2 : b[n]\n"
     " out c\n out d\n out e\n out f\n out g\n out h\n out i\n out j\n out k"},
    {"numbers of eight bits from double and integers",
     "in x float64 [300] special\n in i int32 [300]\n in h float16 [300] special\n stage a float8e4m3fn [n=300] : float8e4m3fn(x[n])\n stage b float8e5m2 [n=300] : float8e5m2(x[n] * 60000)\n stage c float8e4m3fnuz [n=300] : float8e4m3fnuz(i[n])\n"
     " stage d float8e5m2 [n=300] : float8e5m2(h[n])\n stage e float4e2m1 [n=300] : float4e2m1(x[n] * 4)\n stage f bool [n=300] : bool(a[n])\n stage g int8 [n=300] : int8(a[n])\n out a\n out b\n out c\n out d\n out e\n out f\n out g"},
    {"numbers of four bits",
     "size N 5 1 0 8\n in x float4e2m1 [N, 9] special\n in z float32 [N, 9] special\n stage a float32 [n=N, k=9] : float32(x[n, 8 - k]) * 2\n stage y float4e2m1 [n=N, k=9] : float4e2m1(a[n, k] + z[n, k])\n"
     " stage w float4e2m1 [k=9, n=N] : x[n, k] * x[n, k]\n out y\n out w\n out a"},
    {"a product with weights of four bits",
     "size N 9 1 0\n in x float32 [N, 64]\n in w int4 [64, 48]\n in s float32 [48]\n stage b float32 [k=64, c=48] : float32(w[k, c]) * s[c]\n stage y float32 [n=N, c=48] sum [k=64] : x[n, k] * b[k, c]\n out y"},
    {"a product with weights of eight bits, quantised again",
     "size N 9 1 0\n in x float8e4m3fn [N, 64]\n in w float8e5m2 [64, 47]\n stage y float32 [n=N, c=47] sum [k=64] : float32(x[n, k]) * float32(w[k, c])\n stage z int4 [n=N, c=47] : int4(round(y[n, c]) * 0.5)\n out z"},
    {"sums of packed elements",
     "size N 5 1 0\n in x int4 [N, 33]\n in u uint2 [N, 33]\n stage s int32 [n=N] sum [k=33] : int32(x[n, k])\n stage t int32 [k=33] sum [n=N] : int32(u[n, k])\n stage m int8 [n=N] max [k=33] : int8(x[n, k])\n out s\n out t\n out m"},
    {"conversions",
     "in x float32 [200]\n in i int64 [200]\n in b bool [200]\n stage a int32 [n=200] : int32(x[n] * 1000)\n stage c uint8 [n=200] : uint8(i[n])\n stage d float32 [n=200] : float32(b[n]) + float32(i[n])\n"
     " stage e bool [n=200] : bool(x[n])\n stage f int8 [n=200] : int8(x[n])\n out a\n out c\n out d\n out e\n out f"},
    {"integers that wrap and divide",
     "in a int32 [200]\n in b int32 [200]\n in c int8 [200]\n in l int64 [200]\n stage q int32 [n=200] : a[n] / b[n] + floormod(a[n], b[n])\n stage m int32 [n=200] : a[n] * 2147483647 - b[n]\n"
     " stage s int8 [n=200] : c[n] * c[n] + abs(c[n])\n stage g int64 [n=200] : l[n] * 9223372036854775807 + max(l[n], -5)\n stage t int32 [n=200] : (a[n] & b[n]) ^ (a[n] << 3)\n"
     " out q\n out m\n out s\n out g\n out t"},
    {"indices as values", "size N 30 1 0\n stage y int64 [n=N, k=4] : n * 4 + k - N\n stage z float32 [n=N, k=4] : float32(n) / 2\n out y\n out z"},
    {"short rows side by side", /* four, and two that are left; two; units of several axes; as many as a size tells */
     "size S 9 1 0\n in x float32 [70, 19]\n in z float32 [5, 13, 67]\n in u float32 [S, 16, 12]\n stage m float32 [n=70] max [k=19] : x[n, k]\n stage e float32 [n=70, k=19] : exp(x[n, k] - m[n])\n"
     " stage s float32 [n=70] sum [k=19] : e[n, k]\n stage y float32 [n=70, k=19] : e[n, k] / s[n]\n"
     " stage t float32 [b=5, n=13] sum [k=67] : z[b, n, k]\n stage v float32 [b=5, n=13, k=67] : z[b, n, k] - t[b, n] / 67\n"
     " stage l float32 [b=S, n=16] max [k=12] : u[b, n, k]\n stage w float32 [b=S, n=16, k=12] : u[b, n, k] / l[b, n]\n out y\n out v\n out w"},
    {"names that C has taken", "size int 5 1 0\n size p0 3 2 1\n size t0 2 1 4\n in x float32 [int, p0, t0]\n stage for float32 [i=int, while=p0, if=t0] : exp(x[i, while, if]) + float32(p0 * t0)\n out for"},
};

enum { WRITTEN = sizeof written / sizeof *written };

static opf_machine machine = {.name = "test", .flags = "", .lanes = 4, .vectors = 16, .l1_bytes = 32768, .l2_bytes = 524288, .l3_bytes = 8388608,
                              .flops_per_second = 1e11, .l1_bandwidth = 2e11, .l2_bandwidth = 1e11, .l3_bandwidth = 5e10, .dram_bandwidth = 1e10};

static void run_all(kernel_case *cases, int count, const char *compiler, const char *const *flags) {
    void *library = cases_compile(cases, count, compiler, flags);
    if (!library) {
        print_message("%s is not there: skipped\n", compiler);
        return;
    }
    for (int i = 0; i < count; i++)
        for (int run = 0; run < cases[i].n_runs; run++) case_run(&cases[i], run);
    dlclose(library);
}

static kernel_case cases[WRITTEN];

static bool mentions(const opf_nest *nest, const char *what) {
    opf_text text = {0};
    opf_nest_print(nest, &text);
    bool found = strstr(opf_text_string(&text), what) != NULL;
    opf_text_free(&text);
    return found;
}

static int set_up(void **state) {
    (void)state;
    for (int i = 0; i < WRITTEN; i++) {
        bool planes = strncmp(written[i].title, "planes", 6) == 0;
        machine.lanes = planes ? 16 : 4;
        case_read(&cases[i], written[i].title, written[i].text);
        if (opf_nest_schedule(&cases[i].nest, &cases[i].group, &machine) != OPF_OK) return 1;
        bool bands = strncmp(written[i].title, "bands", 5) == 0;
        bool step = strncmp(written[i].title, "in step", 7) == 0;
        if (step && !mentions(cases[i].nest, "h_block")) case_fail(&cases[i], "takes no lines in step: %s", cases[i].nest->schedule);
        if (planes && !mentions(cases[i].nest, ", plane")) case_fail(&cases[i], "computes no planes: %s", cases[i].nest->schedule);
        if (strncmp(written[i].title, "planes behind", 13) == 0 && !mentions(cases[i].nest, "y, plane"))
            case_fail(&cases[i], "takes columns before all is done: %s", cases[i].nest->schedule);
        if (strncmp(written[i].title, "phases", 6) == 0 && strstr(cases[i].nest->schedule, "{ phase"))
            case_fail(&cases[i], "takes one phase after the other: %s", cases[i].nest->schedule);
        if (bands && !(cases[i].nest->tile && cases[i].nest->tile->fill)) case_fail(&cases[i], "is no nest in bands: %s", cases[i].nest->schedule);
    }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (int i = 0; i < WRITTEN; i++) case_free(&cases[i]);
    return 0;
}

static void with_gcc(void **state) {
    (void)state;
    run_all(cases, WRITTEN, "gcc", (const char *const[]){"-O3", NULL});
}

static void with_clang(void **state) {
    (void)state;
    run_all(cases, WRITTEN, "clang", (const char *const[]){"-O2", NULL});
}

static void undefined_behaviour(void **state) {
    (void)state;
    run_all(cases, WRITTEN, "gcc", (const char *const[]){"-O1", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error", NULL});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(undefined_behaviour), cmocka_unit_test(with_gcc), cmocka_unit_test(with_clang)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
