/* Strings: comparing, joining, splitting, looking up, reading and writing numbers. Text is UTF-8, taken byte by byte unless a
 * kernel says otherwise. */
#ifndef OPF_LIB_TEXT_H
#define OPF_LIB_TEXT_H
#ifndef OPF_LIB_H
#include "opf_lib.h"
#endif

#include <stdio.h>
#include <stdlib.h>

static inline const char *opf_lib_text(const opf_lib_tensor *t, int64_t i) { return ((const char *const *)t->data)[i]; }
static inline void opf_lib_set_text(const opf_lib_tensor *t, int64_t i, const char *text) { ((const char **)t->data)[i] = text; }

/* A terminated copy of `length` bytes; NULL where there is no memory. */
static inline char *opf_lib_keep(opf_heap *heap, const char *text, size_t length) {
    char *copy = (char *)opf_heap_take(heap, (int64_t)length + 1, 1);
    if (!copy) return copy;
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

/* Where element i of a result lies in an operand that is broadcast to it. */
static inline int64_t opf_lib_broadcast(const opf_lib_tensor *out, const opf_lib_tensor *t, int64_t i) {
    int64_t at = 0, stride = 1;
    for (int k = out->rank - 1, j = t->rank - 1; k >= 0; k--, j--) {
        int64_t index = i % out->dims[k];
        i /= out->dims[k];
        if (j < 0) continue;
        if (t->dims[j] != 1) at += index * stride;
        stride *= t->dims[j];
    }
    return at;
}

/* in: A, B of strings, broadcast. out: are they equal? */
static inline void opf_lib_text_equal(const opf_lib_args *a) {
    const opf_lib_tensor *out = &a->out[0];
    for (int64_t i = 0, n = opf_lib_elements(out); i < n; i++)
        ((unsigned char *)out->data)[i] = strcmp(opf_lib_text(&a->in[0], opf_lib_broadcast(out, &a->in[0], i)), opf_lib_text(&a->in[1], opf_lib_broadcast(out, &a->in[1], i))) == 0;
}

/* in: A, B, broadcast. out: one behind the other. Takes memory. */
static inline void opf_lib_text_concat(const opf_lib_args *a) {
    const opf_lib_tensor *out = &a->out[0];
    for (int64_t i = 0, n = opf_lib_elements(out); i < n; i++) {
        const char *left = opf_lib_text(&a->in[0], opf_lib_broadcast(out, &a->in[0], i)), *right = opf_lib_text(&a->in[1], opf_lib_broadcast(out, &a->in[1], i));
        size_t length = strlen(left), more = strlen(right);
        char *joined = (char *)opf_heap_take(a->heap, (int64_t)(length + more) + 1, 1);
        if (!joined) return;
        memcpy(joined, left, length);
        memcpy(joined + length, right, more + 1);
        opf_lib_set_text(out, i, joined);
    }
}

/* ---- splitting ---- */

static inline int opf_lib_is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* The next part of a text: its bytes, and where to go on; NULL: there was none. `last`: all that is left is one part. An
 * empty delimiter stands for any run of white space, none of it at the ends. */
static inline const char *opf_lib_next_part(const char **rest, const char *delimiter, int last, size_t *length) {
    const char *begin = *rest, *end;
    size_t skip = strlen(delimiter);
    if (!begin) return begin;
    if (!skip) {
        while (opf_lib_is_space(*begin)) begin++;
        if (!*begin) return *rest = NULL;
        for (end = begin; *end && (last || !opf_lib_is_space(*end));) end++;
        *rest = end;
    } else {
        end = last ? NULL : strstr(begin, delimiter);
        *rest = end ? end + skip : NULL;
        if (!end) end = begin + strlen(begin);
    }
    *length = (size_t)(end - begin);
    return begin;
}

static inline int64_t opf_lib_count_parts(const char *text, const char *delimiter, int64_t most) {
    int64_t count = 0;
    size_t length;
    while (opf_lib_next_part(&text, delimiter, most >= 0 && count >= most, &length)) count++;
    return count;
}

/* in: X, then the delimiter. ints: most splits (-1: any number). out: the parts of each string, along an axis of their own
 * as long as the longest row, filled up with empty strings; how many parts each string has. counts: the longest row. */
static inline void opf_lib_text_split(const opf_lib_args *a) {
    const opf_lib_tensor *x = &a->in[0];
    const char *delimiter = opf_lib_text(&a->in[1], 0);
    int64_t n = opf_lib_elements(x), most = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t count = opf_lib_count_parts(opf_lib_text(x, i), delimiter, a->ints[0]);
        if (count > most) most = count;
        if (opf_lib_has(&a->out[1])) ((int64_t *)a->out[1].data)[i] = count;
    }
    a->counts[0] = most;
    if (!opf_lib_has(&a->out[0])) return;
    a->out[0].data = opf_heap_take(a->heap, n * most * (int64_t)sizeof(char *), 64);
    if (!a->out[0].data) return;
    for (int64_t i = 0; i < n; i++) {
        const char *rest = opf_lib_text(x, i);
        for (int64_t k = 0; k < most; k++) {
            size_t length = 0;
            const char *part = opf_lib_next_part(&rest, delimiter, a->ints[0] >= 0 && k >= a->ints[0], &length);
            part = part ? opf_lib_keep(a->heap, part, length) : "";
            if (!part) return;
            opf_lib_set_text(&a->out[0], i * most + k, part);
        }
    }
}

/* ---- upper and lower case ---- */

/* One character; invalid bytes stand for themselves. Returns how many bytes it has. */
static inline int opf_lib_decode(const char *text, uint32_t *character) {
    const unsigned char *b = (const unsigned char *)text;
    int more = b[0] >= 0xf0 ? 3 : b[0] >= 0xe0 ? 2 : b[0] >= 0xc2 ? 1 : 0;
    uint32_t c = more == 3 ? b[0] & 7u : more == 2 ? b[0] & 15u : more == 1 ? b[0] & 31u : b[0];
    for (int k = 1; k <= more; k++) {
        if ((b[k] & 0xc0) != 0x80) {
            *character = b[0];
            return 1;
        }
        c = c << 6 | (b[k] & 63u);
    }
    *character = c;
    return more + 1;
}

/* Latin with Latin-1 and Extended-A, Greek and Cyrillic letters, where one character stands for one. */
static inline uint32_t opf_lib_other_case(uint32_t c, int upper) {
    if (upper) {
        if (c >= 'a' && c <= 'z') return c - 32;
        if (c == 0xff) return 0x178;
        if ((c >= 0xe0 && c <= 0xfe && c != 0xf7) || (c >= 0x3b1 && c <= 0x3c9 && c != 0x3c2) || (c >= 0x430 && c <= 0x44f)) return c - 32;
        if (c >= 0x450 && c <= 0x45f) return c - 80;
    } else {
        if (c >= 'A' && c <= 'Z') return c + 32;
        if (c == 0x178) return 0xff;
        if ((c >= 0xc0 && c <= 0xde && c != 0xd7) || (c >= 0x391 && c <= 0x3a9 && c != 0x3a2) || (c >= 0x410 && c <= 0x42f)) return c + 32;
        if (c >= 0x400 && c <= 0x40f) return c + 80;
    }
    int odd_pairs = (c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17e); /* the capital is odd */
    int even_pairs = (c >= 0x100 && c <= 0x137 && c != 0x130 && c != 0x131) || (c >= 0x14a && c <= 0x177) || (c >= 0x460 && c <= 0x481) || (c >= 0x48a && c <= 0x4bf) || (c >= 0x4d0 && c <= 0x52f);
    if (!odd_pairs && !even_pairs) return c;
    return upper ? ((c & 1) == (uint32_t)odd_pairs ? c : c - 1) : ((c & 1) == (uint32_t)odd_pairs ? c + 1 : c);
}

/* The characters that change their case take as many bytes in both. 1: lower, 2: upper. */
static inline const char *opf_lib_change_case(opf_heap *heap, const char *text, int64_t action) {
    if (!action) return text;
    char *copy = opf_lib_keep(heap, text, strlen(text));
    for (char *at = copy; at && *at;) {
        uint32_t c, other;
        int bytes = opf_lib_decode(at, &c);
        other = opf_lib_other_case(c, action == 2);
        if (other != c && bytes == 1) at[0] = (char)other;
        else if (other != c && bytes == 2) at[0] = (char)(0xc0 | other >> 6), at[1] = (char)(0x80 | (other & 63));
        at += bytes;
    }
    return copy;
}

/* Equal but for the case? Takes no memory. */
static inline int opf_lib_same_text(const char *left, const char *right, int any_case) {
    if (!any_case) return strcmp(left, right) == 0;
    while (*left && *right) {
        uint32_t a, b;
        left += opf_lib_decode(left, &a);
        right += opf_lib_decode(right, &b);
        if (opf_lib_other_case(a, 0) != opf_lib_other_case(b, 0)) return 0;
    }
    return *left == *right;
}

/* in: X, then the stop words. ints: case of the result (0: as it is, 1: lower, 2: upper), does case count. out: X without
 * the stop words; one empty string where nothing is left. counts: how many. Takes memory. */
static inline void opf_lib_text_normalize(const opf_lib_args *a) {
    const opf_lib_tensor *x = &a->in[0], *stop = &a->in[1];
    int64_t found = 0, words = opf_lib_elements(stop);
    for (int64_t i = 0, n = opf_lib_elements(x); i < n; i++) {
        int dropped = 0;
        for (int64_t k = 0; k < words && !dropped; k++) dropped = opf_lib_same_text(opf_lib_text(x, i), opf_lib_text(stop, k), !a->ints[1]);
        if (dropped) continue;
        const char *text = opf_lib_change_case(a->heap, opf_lib_text(x, i), a->ints[0]);
        if (!text) return;
        opf_lib_set_text(&a->out[0], found++, text);
    }
    if (!found) opf_lib_set_text(&a->out[0], found++, "");
    a->counts[0] = found;
}

/* ---- looking up ---- */

/* How element i of one tensor compares with element j of another of its type: text by its bytes, numbers by size, NaN last. */
static inline int opf_lib_order(const opf_lib_tensor *x, int64_t i, const opf_lib_tensor *y, int64_t j) {
    if (x->dtype == OPF_LIB_STRING) return strcmp(opf_lib_text(x, i), opf_lib_text(y, j));
    uint64_t a = opf_lib_key(x, i), b = opf_lib_key(y, j);
    return (a > b) - (a < b);
}

/* The first of the sorted keys that equals the element; -1: none. */
static inline int64_t opf_lib_find(const opf_lib_tensor *keys, const opf_lib_tensor *x, int64_t i) {
    int64_t low = 0, high = opf_lib_elements(keys), n = high;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (opf_lib_order(keys, middle, x, i) < 0) low = middle + 1;
        else high = middle;
    }
    return low < n && opf_lib_order(keys, low, x, i) == 0 ? low : -1;
}

/* in: X, sorted keys of its type, their values, one more for all other elements. out: the values of X's elements. */
static inline void opf_lib_text_table(const opf_lib_args *a) {
    for (int64_t i = 0, n = opf_lib_elements(&a->in[0]); i < n; i++) {
        int64_t at = opf_lib_find(&a->in[1], &a->in[0], i);
        opf_lib_copy(&a->out[0], i, at < 0 ? &a->in[3] : &a->in[2], at < 0 ? 0 : at, 1);
    }
}

/* in: X of strings, categories. ints: are strings of no category all zeros; else they are none. out: float32, 1 where the
 * string is the category of the last axis. Can fail. */
static inline void opf_lib_text_one_hot(const opf_lib_args *a) {
    int64_t categories = opf_lib_elements(&a->in[1]);
    float *out = (float *)a->out[0].data;
    for (int64_t i = 0, n = opf_lib_elements(&a->in[0]); i < n; i++) {
        int known = 0;
        for (int64_t k = 0; k < categories; k++) {
            int same = strcmp(opf_lib_text(&a->in[0], i), opf_lib_text(&a->in[1], k)) == 0;
            out[i * categories + k] = (float)same;
            known |= same;
        }
        if (!known && !a->ints[0]) a->heap->problem = "a string is none of the categories";
    }
}

/* ---- numbers ---- */

/* As few digits as read back as the same number. */
static inline void opf_lib_write_double(char *text, size_t room, double value) {
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, room, "%.*g", digits, value);
        if (strtod(text, NULL) == value) return;
    }
}

/* in: X of numbers. out: strings; floating types with 8 digits, as far as they say anything, float64 with as many as it takes;
 * NaN, INF, -INF. Takes memory. */
static inline void opf_lib_text_from(const opf_lib_args *a) {
    const opf_lib_tensor *x = &a->in[0];
    for (int64_t i = 0, n = opf_lib_elements(x); i < n; i++) {
        char text[48];
        double value = opf_lib_is_float(x->dtype) ? opf_lib_real(x, i) : 0;
        if (value != value) strcpy(text, "NaN");
        else if (value - value != 0) strcpy(text, value < 0 ? "-INF" : "INF");
        else if (x->dtype == OPF_LIB_F64) opf_lib_write_double(text, sizeof text, value);
        else if (opf_lib_is_float(x->dtype)) snprintf(text, sizeof text, "%.8g", value);
        else if (x->dtype == OPF_LIB_U64) snprintf(text, sizeof text, "%llu", (unsigned long long)opf_lib_int(x, i));
        else snprintf(text, sizeof text, "%lld", (long long)opf_lib_int(x, i));
        for (char *c = text; *c; c++)
            if (*c == ',') *c = '.'; /* whatever the locale of the process */
        const char *kept = opf_lib_keep(a->heap, text, strlen(text));
        if (!kept) return;
        opf_lib_set_text(&a->out[0], i, kept);
    }
}

/* in: X of strings. out: numbers of any type but bool, by C's strtod, strtoll and strtoull. Can fail. */
static inline void opf_lib_text_to(const opf_lib_args *a) {
    const opf_lib_tensor *out = &a->out[0];
    for (int64_t i = 0, n = opf_lib_elements(out); i < n; i++) {
        const char *text = opf_lib_text(&a->in[0], i);
        char *end;
        if (opf_lib_is_float(out->dtype)) opf_lib_set_real(out, i, out->dtype == OPF_LIB_F32 ? (double)strtof(text, &end) : strtod(text, &end));
        else if (out->dtype == OPF_LIB_U64) opf_lib_set_int(out, i, (int64_t)strtoull(text, &end, 10));
        else opf_lib_set_int(out, i, strtoll(text, &end, 10));
        while (opf_lib_is_space(*end)) end++;
        if (end == text || *end) a->heap->problem = "a string is no number";
    }
}

#endif
