/* Graphviz as a process. */
#ifndef OPF_REPORT_LAYOUT_H
#define OPF_REPORT_LAYOUT_H

#include "base/diag.h"

/* DOT text → SVG text by `dot -Tsvg`. Reported where dot cannot be started or fails. */
opf_status opf_layout_svg(const char *dot, opf_text *svg, opf_diags *diags);

#endif
