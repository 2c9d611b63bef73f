/* The prelude's text, embedded at build time, as generated files need it. */
#include "emit/emit.h"

extern const char opf_embedded_opf_interface[];
extern const char opf_embedded_opf_heap[];
extern const char opf_embedded_opf_hook[];
extern const char opf_embedded_opf_kernels[];

const char *opf_prelude_abi(void) { return opf_embedded_opf_interface; }
const char *opf_prelude_hook(void) { return opf_embedded_opf_hook; }
const char *opf_prelude_heap(void) { return opf_embedded_opf_heap; }
const char *opf_prelude_kernels(void) { return opf_embedded_opf_kernels; }
