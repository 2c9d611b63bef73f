/* The report: one HTML page about a fused model that needs nothing else, neither files nor network. */
#ifndef OPF_REPORT_PAGE_H
#define OPF_REPORT_PAGE_H

#include <jansson.h>

#include "plan/program.h"
#include "report/profile.h"

/* The pictures of a model as read and typed, with those of its sub-graphs, before a pass has touched it. `laid_out` becomes
 * false where Graphviz could not be run. The caller owns the reference. */
json_t *opf_page_before(const opf_module *module, bool *laid_out);

/* The page. Takes over `before`. unfused_bytes: the workspace under policy none; < 0: not known. profile: of the same program;
 * NULL: nothing was measured, and the page has no times. */
opf_status opf_page_print(const opf_program *program, json_t *before, bool laid_out, int64_t unfused_bytes, const opf_profile *profile, const char *version, opf_text *out);

#endif
