/* NumPy's .npy files, versions 1 to 3 (numpy/lib/format.py). Types that NumPy lacks are widened: bfloat16 and float8 to
 * float32, 4- and 2-bit integers to 8 bits. Strings are <U, UTF-32 padded with zeros. */
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "base/checked.h"

typedef struct type_row { opf_dtype dtype; const char *descr; int bytes; } type_row;
static const type_row types[] = {
    {OPF_FLOAT32, "f4", 4}, {OPF_FLOAT64, "f8", 8}, {OPF_FLOAT16, "f2", 2}, {OPF_INT8, "i1", 1},  {OPF_INT16, "i2", 2},
    {OPF_INT32, "i4", 4},   {OPF_INT64, "i8", 8},   {OPF_UINT8, "u1", 1},   {OPF_UINT16, "u2", 2}, {OPF_UINT32, "u4", 4},
    {OPF_UINT64, "u8", 8},  {OPF_BOOL, "b1", 1},    {OPF_COMPLEX64, "c8", 8}, {OPF_COMPLEX128, "c16", 16},
};

static opf_status bad(opf_context *context, const char *path, const char *what) {
    opf_diag_add(context->diags, OPF_ERROR, "input", (opf_place){path, NULL, NULL, -1}, "no readable .npy file: %s", what);
    return OPF_ERROR_INPUT;
}

/* ---- header ---- */

typedef struct header {
    const type_row *type;      /* NULL: strings */
    int width;                 /* bytes of an element */
    bool swapped, fortran;
    int rank;
    int64_t dims[OPF_MAX_RANK];
    size_t data;               /* offset */
} header;

/* The text behind a key of the header's dictionary; NULL where absent. */
static const char *value_of(const char *text, const char *key) {
    const char *at = strstr(text, key);
    if (!at) return NULL;
    at += strlen(key);
    at += strspn(at, "'\"");
    at += strspn(at, " ");
    if (*at != ':') return NULL;
    at++;
    return at + strspn(at, " ");
}

static const char *parse_type(header *h, const char *text) {
    const char *descr = value_of(text, "descr");
    if (!descr || (*descr != '\'' && *descr != '"')) return "a structured type or none";
    descr++;
    bool big = *descr == '>';
    if (strchr("<>|=", *descr)) descr++;
    size_t length = strcspn(descr, "'\"");
    if (*descr == 'U' || *descr == 'S') {
        char *end;
        long characters = strtol(descr + 1, &end, 10);
        if (end != descr + length || characters < 0 || characters > 1 << 24 || *descr == 'S') return "its type of strings";
        h->width = (int)characters * 4;
        h->swapped = big;
        return NULL;
    }
    for (size_t i = 0; i < OPF_COUNT(types); i++)
        if (strlen(types[i].descr) == length && strncmp(types[i].descr, descr, length) == 0) h->type = &types[i];
    if (!h->type) return "its element type";
    h->width = h->type->bytes;
    h->swapped = big && h->width > 1;
    return NULL;
}

static const char *parse_shape(header *h, const char *text) {
    const char *shape = value_of(text, "shape");
    if (!shape || *shape != '(') return "no shape";
    for (shape++;; h->rank++) {
        shape += strspn(shape, " ,");
        if (*shape == ')') return NULL;
        if (h->rank == OPF_MAX_RANK) return "too many axes";
        char *end;
        long long size = strtoll(shape, &end, 10);
        if (end == shape || size < 0) return "its shape";
        h->dims[h->rank] = size;
        shape = *end == 'L' ? end + 1 : end;
    }
}

static const char *parse_header(header *h, const opf_mapping *file, opf_arena *arena) {
    const unsigned char *data = file->data;
    if (file->size < 10 || memcmp(data, "\x93NUMPY", 6) != 0) return "its first bytes";
    bool wide = data[6] >= 2;
    if (wide && file->size < 12) return "it is cut off";
    size_t length = wide ? (size_t)data[8] | (size_t)data[9] << 8 | (size_t)data[10] << 16 | (size_t)data[11] << 24 : (size_t)data[8] | (size_t)data[9] << 8;
    h->data = (wide ? 12 : 10) + length;
    if (data[6] < 1 || data[6] > 3) return "its version";
    if (h->data > file->size) return "it is cut off";
    const char *text = opf_arena_string_n(arena, (const char *)data + (wide ? 12 : 10), length);
    const char *order = value_of(text, "fortran_order");
    h->fortran = order && strncmp(order, "True", 4) == 0;
    const char *problem = parse_type(h, text);
    return problem ? problem : parse_shape(h, text);
}

/* ---- reading ---- */

/* Row-major position → position in the file of an array stored column by column. */
static int64_t fortran_position(const header *h, int64_t index) {
    int64_t position = 0, strides[OPF_MAX_RANK], stride = 1;
    for (int k = 0; k < h->rank; k++) {
        strides[k] = stride;
        stride *= h->dims[k];
    }
    for (int k = h->rank - 1; k >= 0; k--) {
        position += index % h->dims[k] * strides[k];
        index /= h->dims[k];
    }
    return position;
}

static void swap_bytes(unsigned char *element, int bytes) {
    for (int i = 0; i < bytes / 2; i++) {
        unsigned char byte = element[i];
        element[i] = element[bytes - 1 - i];
        element[bytes - 1 - i] = byte;
    }
}

/* One scalar, or each half of a complex one. */
static void swap_element(unsigned char *element, const header *h) {
    bool complex = h->type->dtype == OPF_COMPLEX64 || h->type->dtype == OPF_COMPLEX128;
    int part = complex ? h->width / 2 : h->width;
    for (int at = 0; at < h->width; at += part) swap_bytes(element + at, part);
}

static void add_utf8(opf_text *out, uint32_t c) {
    if (c > 0x10FFFF) c = 0xFFFD;
    char bytes[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = n; i-- > 1; c >>= 6) bytes[i] = (char)(0x80 | (c & 0x3F));
    bytes[0] = (char)(lead[n] | c);
    opf_text_add_n(out, bytes, n);
}

static const char *read_string(const unsigned char *at, const header *h, opf_arena *arena) {
    opf_text text = {0};
    for (int i = 0; i < h->width / 4; i++) {
        unsigned char unit[4];
        memcpy(unit, at + 4 * i, 4);
        if (h->swapped) swap_bytes(unit, 4);
        uint32_t c = (uint32_t)unit[0] | (uint32_t)unit[1] << 8 | (uint32_t)unit[2] << 16 | (uint32_t)unit[3] << 24;
        if (!c) break;
        add_utf8(&text, c);
    }
    const char *string = opf_arena_string(arena, opf_text_string(&text));
    opf_text_free(&text);
    return string;
}

static const void *read_elements(const header *h, const unsigned char *from, int64_t elements, opf_arena *arena) {
    unsigned char *numbers = h->type ? opf_arena_array(arena, (size_t)elements + 1, (size_t)h->width) : NULL;
    const char **strings = h->type ? NULL : opf_arena_array(arena, (size_t)elements + 1, sizeof *strings);
    if (h->type && !h->swapped && !h->fortran) return memcpy(numbers, from, (size_t)elements * (size_t)h->width);
    for (int64_t i = 0; i < elements; i++) {
        const unsigned char *element = from + (h->fortran ? fortran_position(h, i) : i) * h->width;
        if (!h->type) {
            strings[i] = read_string(element, h, arena);
            continue;
        }
        memcpy(numbers + i * h->width, element, (size_t)h->width);
        if (h->swapped) swap_element(numbers + i * h->width, h);
    }
    return h->type ? (const void *)numbers : (const void *)strings;
}

opf_status opf_npy_read(opf_array *out, opf_context *context, const char *path) {
    opf_mapping file;
    header h = {0};
    opf_status status = opf_file_map(&file, path, context->diags);
    if (status != OPF_OK) return status;
    const char *problem = parse_header(&h, &file, context->arena);
    int64_t elements = 1, bytes = 0;
    bool fits = true;
    for (int k = 0; !problem && k < h.rank; k++) fits = fits && opf_checked_mul(elements, h.dims[k], &elements);
    fits = fits && opf_checked_mul(elements, h.width, &bytes);
    if (!problem && (!fits || (uint64_t)bytes > file.size - h.data)) problem = "it is shorter than its shape says";
    if (problem) status = bad(context, path, problem);
    else
        *out = (opf_array){.dtype = h.type ? (int)h.type->dtype : (int)OPF_STRING, .rank = h.rank,
                           .dims = opf_arena_copy(context->arena, h.dims, sizeof h.dims),
                           .data = read_elements(&h, file.data + h.data, elements, context->arena)};
    opf_file_unmap(&file);
    return status;
}

/* ---- writing ---- */

static opf_dtype stored_as(opf_dtype dtype) {
    if (dtype == OPF_BFLOAT16 || (opf_dtype_is_float(dtype) && opf_dtype_bits(dtype) <= 8)) return OPF_FLOAT32;
    if (dtype == OPF_INT4 || dtype == OPF_INT2) return OPF_INT8;
    if (dtype == OPF_UINT4 || dtype == OPF_UINT2) return OPF_UINT8;
    return dtype;
}

/* The next character of UTF-8; a byte that fits nowhere becomes U+FFFD. */
static uint32_t next_character(const char **at) {
    const unsigned char *s = (const unsigned char *)*at;
    int more = s[0] < 0x80 ? 0 : s[0] >= 0xC2 && s[0] < 0xE0 ? 1 : s[0] >= 0xE0 && s[0] < 0xF0 ? 2 : s[0] >= 0xF0 && s[0] < 0xF5 ? 3 : -1;
    uint32_t c = more <= 0 ? s[0] : s[0] & (0x3Fu >> more);
    ++*at;
    if (more < 0) return 0xFFFD;
    for (int i = 1; i <= more; i++) {
        if ((s[i] & 0xC0) != 0x80) return 0xFFFD;
        c = c << 6 | (s[i] & 0x3Fu);
        ++*at;
    }
    return c;
}

static size_t characters(const char *string) {
    size_t n = 0;
    while (*string) {
        next_character(&string);
        n++;
    }
    return n;
}

static size_t longest(const opf_tensor *tensor) {
    const char *const *strings = tensor->data;
    size_t most = 1;
    for (int64_t i = 0; i < tensor->elements; i++) {
        size_t length = characters(strings[i]);
        if (length > most) most = length;
    }
    return most;
}

static void write_strings(const opf_tensor *tensor, size_t width, opf_text *out) {
    const char *const *strings = tensor->data;
    for (int64_t i = 0; i < tensor->elements; i++) {
        const char *at = strings[i];
        for (size_t k = 0; k < width; k++) {
            uint32_t c = *at ? next_character(&at) : 0;
            char bytes[4] = {(char)c, (char)(c >> 8), (char)(c >> 16), (char)(c >> 24)};
            opf_text_add_n(out, bytes, 4);
        }
    }
}

static void write_numbers(const opf_tensor *tensor, opf_dtype as, opf_text *out) {
    if (as == tensor->dtype) {
        opf_text_add_n(out, tensor->bytes ? tensor->data : "", tensor->bytes);
        return;
    }
    for (int64_t i = 0; i < tensor->elements; i++) {
        char element[8] = {0};
        if (as == OPF_FLOAT32) opf_dtype_store(as, element, 0, opf_tensor_get(tensor, i));
        else opf_dtype_store_int(as, element, 0, opf_tensor_get_int(tensor, i));
        opf_text_add_n(out, element, opf_dtype_bytes(as, 1));
    }
}

/* Magic, version 1.0, the dictionary, padded so that the data starts at a multiple of 64. */
static void write_header(const opf_tensor *tensor, const char *descr, opf_text *out) {
    opf_text dictionary = {0};
    opf_text_printf(&dictionary, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int k = 0; k < tensor->rank; k++) opf_text_printf(&dictionary, "%s%lld%s", k ? ", " : "", (long long)tensor->dims[k], tensor->rank == 1 ? "," : "");
    opf_text_add(&dictionary, "), }");
    while ((10 + dictionary.length + 1) % 64) opf_text_add(&dictionary, " ");
    opf_text_add(&dictionary, "\n");
    char length[2] = {(char)dictionary.length, (char)(dictionary.length >> 8)};
    opf_text_add_n(out, "\x93NUMPY\x01\x00", 8);
    opf_text_add_n(out, length, 2);
    opf_text_add_n(out, dictionary.data, dictionary.length);
    opf_text_free(&dictionary);
}

static opf_status write_tensor(const opf_tensor *tensor, opf_text *out, opf_arena *arena) {
    if (tensor->dtype == OPF_STRING) {
        size_t width = longest(tensor);
        write_header(tensor, opf_arena_printf(arena, "<U%zu", width), out);
        write_strings(tensor, width, out);
        return OPF_OK;
    }
    opf_dtype as = stored_as(tensor->dtype);
    for (size_t i = 0; i < OPF_COUNT(types); i++) {
        if (types[i].dtype != as) continue;
        write_header(tensor, opf_arena_printf(arena, "%c%s", types[i].bytes == 1 ? '|' : '<', types[i].descr), out);
        write_numbers(tensor, as, out);
        return OPF_OK;
    }
    return OPF_ERROR_UNSUPPORTED;
}

opf_status opf_npy_write(opf_context *context, const opf_array *array, const char *path) {
    opf_arena *arena = opf_arena_new();
    opf_text text = {0};
    const opf_tensor *tensor;
    opf_status status = opf_array_tensor(&tensor, array, arena, context->diags);
    if (status == OPF_OK) status = write_tensor(tensor, &text, arena);
    if (status == OPF_OK) status = opf_file_write(path, text.data, text.length, context->diags);
    opf_text_free(&text);
    opf_arena_free(arena);
    return status;
}
