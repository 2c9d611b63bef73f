/* Graphviz as a process. */
#ifndef OPF_REPORT_LAYOUT_H
#define OPF_REPORT_LAYOUT_H

#include "base/diag.h"

/* DOT text → what `dot -T<form>` makes of it ("svg", "plain"). Where dot cannot be started or fails, that is reported with
 * this severity, and its status returned. */
opf_status opf_layout(const char *dot, const char *form, opf_text *out, opf_severity severity, opf_diags *diags);

#endif
