/* The prelude's text, embedded at build time, as generated files need it. */
#include "emit/emit.h"

extern const char opf_embedded_opf_abi[];
extern const char opf_embedded_opf_math[];
extern const char opf_embedded_opf_scalar[];
extern const char opf_embedded_opf_vector[];
extern const char opf_embedded_opf_reduce[];

const char *opf_prelude_abi(void) { return opf_embedded_opf_abi; }
