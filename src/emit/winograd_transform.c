/* Winograd's transforms as functions of vectors whose lanes are tiles side by side. Both sides of a tile are transformed by the
 * same coefficients: first all lines at once, then the columns of each line. */
#include "emit/tile_internal.h"
#include "loop/winograd.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double square(double x) { return x * x; }

/* A number as a float literal. */
static const char *number(double x, char text[32]) {
    snprintf(text, 32, "%.9g", x);
    bool plain = !strpbrk(text, ".en");
    strcat(text, plain ? ".0f" : "f");
    return text;
}

/* ---- one side ---- */

/* v0 … from x0 …: points come as 0 and pairs ±p. With q the other pair's square (none: the product over it is 1),
 * even + odd and even - odd are the pair's two. */
static void print_input_side(const opf_winograd_form *form, const char *indent, opf_text *out) {
    char a[32], b[32];
    if (form->outputs == 2) {
        opf_text_printf(out, "%sconst opf_vf v0 = x2 - x0, v1 = x2 + x1, v2 = x2 - x1, v3 = x3 - x1;\n", indent);
        return;
    }
    double p = form->points[1], q = form->points[3];
    number(square(p) * square(q), a), number(-(square(p) + square(q)), b);
    opf_text_printf(out, "%sconst opf_vf v0 = opf_vfma(opf_vsplat(%s), x0, opf_vfma(opf_vsplat(%s), x2, x4));\n", indent, a, b);
    opf_text_printf(out, "%sconst opf_vf v5 = opf_vfma(opf_vsplat(%s), x1, opf_vfma(opf_vsplat(%s), x3, x5));\n", indent, a, b);
    for (int pair = 0; pair < 2; pair++) {
        number(-square(form->points[pair ? 1 : 3]), b);
        opf_text_printf(out, "%sconst opf_vf even%d = opf_vfma(opf_vsplat(%s), x2, x4), odd%d = opf_vfma(opf_vsplat(%s), x1, x3);\n", indent, pair, b, pair, b);
        for (int sign = 0; sign < 2; sign++)
            opf_text_printf(out, "%sconst opf_vf v%d = opf_vfma(opf_vsplat(%s), odd%d, even%d);\n", indent, 1 + 2 * pair + sign, number(form->points[1 + 2 * pair + sign], a), pair, pair);
    }
}

/* y0 … from m0 …. */
static void print_output_side(const opf_winograd_form *form, const char *indent, opf_text *out) {
    if (form->outputs == 2) {
        opf_text_printf(out, "%sconst opf_vf y0 = m0 + (m1 + m2), y1 = (m1 - m2) + m3;\n", indent);
        return;
    }
    opf_text_printf(out, "%sconst opf_vf sum0 = m1 + m2, difference0 = m1 - m2, sum1 = m3 + m4, difference1 = m3 - m4;\n", indent);
    opf_text_printf(out, "%sconst opf_vf y0 = m0 + (sum0 + sum1);\n", indent);
    for (int k = 1; k < 4; k++) {
        char a[32], b[32];
        const char *of = k % 2 ? "difference" : "sum";
        number(pow(form->points[1], k), a), number(pow(form->points[3], k), b);
        if (k < 3) opf_text_printf(out, "%sconst opf_vf y%d = opf_vfma(opf_vsplat(%s), %s0, opf_vsplat(%s) * %s1);\n", indent, k, a, of, b, of);
        else opf_text_printf(out, "%sconst opf_vf y3 = opf_vfma(opf_vsplat(%s), %s0, opf_vfma(opf_vsplat(%s), %s1, m5));\n", indent, a, of, b, of);
    }
}

/* "base", "base + unit", "base + 2 * unit", … */
static void print_place(const char *base, int k, const char *unit, opf_text *out) {
    opf_text_add(out, base);
    if (k == 1) opf_text_printf(out, " + %s", unit);
    if (k > 1) opf_text_printf(out, " + %d * %s", k, unit);
}

static void print_load(const char *indent, const char *name, int k, const char *base, const char *unit, const char *more, opf_text *out) {
    opf_text_printf(out, "%sconst opf_vf %s%d = opf_vload(", indent, name, k);
    print_place(base, k, unit, out);
    opf_text_printf(out, "%s);\n", more);
}

static void print_store(const char *indent, const char *function, int k, const char *base, const char *unit, const char *name, const char *more, opf_text *out) {
    opf_text_printf(out, "%s%s(", indent, function);
    print_place(base, k, unit, out);
    opf_text_printf(out, ", %s%d%s);\n", name, k, more);
}

/* ---- input ---- */

static void print_input_lines(const opf_winograd_form *form, opf_text *out) {
    int n = form->inputs, m = form->outputs;
    opf_text_printf(out, "        for (int i = 0; i < %d * OPF_LANES; i += OPF_LANES) {\n", m + 1);
    for (int k = 0; k < n; k++) print_load("            ", "x", k, "lines", "pitch", " + i", out);
    print_input_side(form, "            ", out);
    for (int k = 0; k < n; k++) opf_text_printf(out, "            opf_vstore(&transformed[%d][i], v%d);\n", k, k);
    opf_text_add(out, "        }\n");
}

/* Lane t of xk is element m * t + k of the line. */
static void print_split(const opf_winograd_form *form, opf_text *out) {
    int m = form->outputs;
    for (int k = 0; k < m; k++) print_load("            ", "w", k, "line", "OPF_LANES", "", out);
    if (m == 2) {
        opf_text_add(out, "            const opf_vf x0 = opf_veven(w0, w1), x1 = opf_vodd(w0, w1);\n");
    } else {
        opf_text_add(out, "            const opf_vf even0 = opf_veven(w0, w1), even1 = opf_veven(w2, w3), odd0 = opf_vodd(w0, w1), odd1 = opf_vodd(w2, w3);\n"
                          "            const opf_vf x0 = opf_veven(even0, even1), x2 = opf_vodd(even0, even1), x1 = opf_veven(odd0, odd1), x3 = opf_vodd(odd0, odd1);\n");
    }
    for (int k = 0; k < 2; k++)
        opf_text_printf(out, "            const opf_vf x%d = opf_vnext(x%d, line[%d * OPF_LANES%s]);\n", m + k, k, m, k ? " + 1" : "");
}

static void print_input(const opf_winograd_form *form, opf_text *out) {
    int n = form->inputs, m = form->outputs;
    opf_text_printf(out, "#ifndef OPF_WINOGRAD_%d\n#define OPF_WINOGRAD_%d\n", m, m);
    opf_text_printf(out, "/* A row of input tiles, %d x %d elements every %d of them, from lines `pitch` apart: element (i, j) of the transformed tile t goes\n"
                         " * to v[(i * %d + j) * plane + t]. Tiles go by vectors: more are read than the `count` asked for, and written as far as there is `room`. */\n", n, n, m, n);
    opf_text_printf(out, "static void opf_winograd_input_%d(float *restrict v, int64_t plane, const float *restrict lines, int64_t pitch, int64_t count, int64_t room) {\n", m);
    opf_text_printf(out, "    for (int64_t t = 0; t < count; t += OPF_LANES, v += OPF_LANES, lines += %d * OPF_LANES) {\n", m);
    opf_text_printf(out, "        const int lanes = opf_lanes_left(room - t);\n        float transformed[%d][%d * OPF_LANES];\n", n, m + 1);
    print_input_lines(form, out);
    opf_text_printf(out, "        for (int i = 0; i < %d; i++) {\n            const float *line = transformed[i];\n", n);
    print_split(form, out);
    opf_text_add(out, "            {\n");
    print_input_side(form, "                ", out);
    opf_text_printf(out, "                float *to = v + i * %d * plane;\n", n);
    opf_text_add(out, "                if (lanes == OPF_LANES) {\n");
    for (int k = 0; k < n; k++) print_store("                    ", "opf_vstore", k, "to", "plane", "v", "", out);
    opf_text_add(out, "                } else {\n");
    for (int k = 0; k < n; k++) print_store("                    ", "opf_vstore_part", k, "to", "plane", "v", ", lanes", out);
    opf_text_add(out, "                }\n            }\n        }\n    }\n}\n");
}

/* ---- output ---- */

static void print_join(const opf_winograd_form *form, opf_text *out) {
    int m = form->outputs;
    if (m == 2) {
        opf_text_add(out, "            const opf_vf w0 = opf_vzip_low(y0, y1), w1 = opf_vzip_high(y0, y1);\n");
        return;
    }
    opf_text_add(out, "            const opf_vf even0 = opf_vzip_low(y0, y2), even1 = opf_vzip_high(y0, y2), odd0 = opf_vzip_low(y1, y3), odd1 = opf_vzip_high(y1, y3);\n"
                      "            const opf_vf w0 = opf_vzip_low(even0, odd0), w1 = opf_vzip_high(even0, odd0), w2 = opf_vzip_low(even1, odd1), w3 = opf_vzip_high(even1, odd1);\n");
}

static void print_output_stores(const opf_winograd_form *form, opf_text *out) {
    int m = form->outputs;
    opf_text_printf(out, "            float *to = y + i * pitch;\n            if (columns >= %d * OPF_LANES) {\n", m);
    for (int k = 0; k < m; k++) print_store("                ", "opf_vstore", k, "to", "OPF_LANES", "w", "", out);
    opf_text_add(out, "                continue;\n            }\n");
    opf_text_add(out, "            opf_vstore_part(to, w0, opf_lanes_left(columns));\n");
    for (int k = 1; k < m; k++)
        opf_text_printf(out, "            if (columns > %d * OPF_LANES) opf_vstore_part(to + %d * OPF_LANES, w%d, opf_lanes_left(columns - %d * OPF_LANES));\n", k, k, k, k);
}

static void print_output(const opf_winograd_form *form, opf_text *out) {
    int n = form->inputs, m = form->outputs;
    opf_text_printf(out, "/* A row of output tiles, %d x %d elements each, from products as opf_winograd_input_%d leaves its tiles: %d lines of `columns` elements\n"
                         " * that are `pitch` apart. */\n", m, m, m, m);
    opf_text_printf(out, "static void opf_winograd_output_%d(float *restrict y, int64_t pitch, const float *restrict products, int64_t plane, int64_t columns) {\n", m);
    opf_text_printf(out, "    for (; columns > 0; columns -= %d * OPF_LANES, products += OPF_LANES, y += %d * OPF_LANES) {\n", m, m);
    opf_text_printf(out, "        opf_vf transformed[%d][%d];\n        for (int j = 0; j < %d; j++) {\n", m, n, n);
    for (int k = 0; k < n; k++) opf_text_printf(out, "            const opf_vf m%d = opf_vload(products + (%d + j) * plane);\n", k, k * n);
    print_output_side(form, "            ", out);
    for (int k = 0; k < m; k++) opf_text_printf(out, "            transformed[%d][j] = y%d;\n", k, k);
    opf_text_printf(out, "        }\n        for (int i = 0; i < %d; i++) {\n            const opf_vf *line = transformed[i];\n", m);
    opf_text_add(out, "            const opf_vf m0 = line[0]");
    for (int k = 1; k < n; k++) opf_text_printf(out, ", m%d = line[%d]", k, k);
    opf_text_add(out, ";\n");
    print_output_side(form, "            ", out);
    print_join(form, out);
    print_output_stores(form, out);
    opf_text_add(out, "        }\n    }\n}\n#endif\n");
}

void opf_emit_winograd_functions(int outputs, opf_text *out) {
    const opf_winograd_form *form = opf_winograd_form_of(outputs);
    print_input(form, out);
    print_output(form, out);
}
