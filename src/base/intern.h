/* Interned strings: equal text is one pointer. */
#ifndef OPF_BASE_INTERN_H
#define OPF_BASE_INTERN_H

#include <stddef.h>

typedef struct opf_interner opf_interner;

opf_interner *opf_interner_new(void);
void opf_interner_free(opf_interner *interner);
const char *opf_intern(opf_interner *interner, const char *text);
const char *opf_intern_n(opf_interner *interner, const char *text, size_t length);

#endif
