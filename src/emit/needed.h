/* The prelude, as a file for people to read has it: no more than what it needs. Works on the text, line by line; what it relies on is
 * how the prelude is written (a chunk ends where all brackets are closed; names start with opf_ or OPF_; what is used has been defined
 * further up). Private to src/emit. */
#ifndef OPF_EMIT_NEEDED_H
#define OPF_EMIT_NEEDED_H

#include <stdbool.h>

#include "base/text.h"

/* What is known of a file before it is compiled. */
typedef struct opf_known {
    int lanes;             /* OPF_LANES */
    bool exact;            /* OPF_EXACT is defined */
    const char *included;  /* text of a header in front, whose guards are defined; "" for none */
} opf_known;

/* The text without the branches of #if that cannot be, and without guards of headers. (resolve.c) */
void opf_emit_resolved(const char *text, const opf_known *known, opf_text *out);

/* Those definitions of a resolved text that `needing` mentions, and what they need themselves, with their comments; all pragmas and
 * #include lines. (needed.c) */
void opf_emit_needed(const char *text, const char *needing, opf_text *out);

#endif
