/* The log as a JSON value, for those who add to it or read it again. */
#ifndef OPF_FUSE_EXPLAIN_JSON_H
#define OPF_FUSE_EXPLAIN_JSON_H

#include <jansson.h>

#include "fuse/explain.h"

/* Names come from files and need not be UTF-8; JSON must be. NULL becomes null. */
json_t *opf_json_text(const char *string);
json_t *opf_edge_object(const opf_fusion *fusion, const opf_edge *edge); /* one of its edges */
/* What `explain --json` prints (docs/cli.md). The caller owns the reference. */
json_t *opf_explain_object(const opf_fusion *fusion);
/* Adds the text of a value and a line end; takes over the reference. flags: jansson's. */
void opf_json_print(json_t *value, size_t flags, opf_text *out);

#endif
