/* A growing string, used by everything that prints: dumps, emitted C, JSON, pictures. */
#ifndef OPF_BASE_TEXT_H
#define OPF_BASE_TEXT_H

#include <stdarg.h>
#include <stddef.h>

typedef struct opf_text {
    char *data; /* always terminated once something was added; NULL while empty */
    size_t length, capacity;
} opf_text;

void opf_text_add(opf_text *text, const char *string);
void opf_text_add_n(opf_text *text, const char *string, size_t length);
void *opf_text_add_room(opf_text *text, size_t length); /* for the caller to fill at once */
void opf_text_printf(opf_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void opf_text_vprintf(opf_text *text, const char *format, va_list arguments);
const char *opf_text_string(const opf_text *text); /* "" while empty */
void opf_text_clear(opf_text *text);               /* keeps the storage */
void opf_text_free(opf_text *text);

#endif
