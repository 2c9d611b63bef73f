/* Growing strings. */
#include "base/text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* Room for `more` characters and the terminator. */
static void reserve(opf_text *text, size_t more) {
    if (more > SIZE_MAX / 4 || text->length > SIZE_MAX / 4) opf_out_of_memory();
    size_t needed = text->length + more + 1;
    if (needed <= text->capacity) return;
    size_t capacity = text->capacity * 2 > needed ? text->capacity * 2 : needed + 64;
    char *data = realloc(text->data, capacity);
    if (!data) opf_out_of_memory();
    text->data = data;
    text->capacity = capacity;
}

void *opf_text_add_room(opf_text *text, size_t length) {
    reserve(text, length);
    text->length += length;
    text->data[text->length] = '\0';
    return text->data + text->length - length;
}

void opf_text_add_n(opf_text *text, const char *string, size_t length) {
    void *room = opf_text_add_room(text, length);
    if (length) memcpy(room, string, length);
}

void opf_text_add(opf_text *text, const char *string) { opf_text_add_n(text, string, strlen(string)); }

void opf_text_vprintf(opf_text *text, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    reserve(text, 120);
    size_t room = text->capacity - text->length;
    int length = vsnprintf(text->data + text->length, room, format, arguments);
    if (length < 0) {
        text->data[text->length] = '\0';
        length = 0;
    } else if ((size_t)length >= room) {
        reserve(text, (size_t)length);
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
    }
    text->length += (size_t)length;
    va_end(again);
}

void opf_text_printf(opf_text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    opf_text_vprintf(text, format, arguments);
    va_end(arguments);
}

const char *opf_text_string(const opf_text *text) { return text->data ? text->data : ""; }

void opf_text_clear(opf_text *text) {
    text->length = 0;
    if (text->data) text->data[0] = '\0';
}

void opf_text_free(opf_text *text) {
    free(text->data);
    *text = (opf_text){0};
}
