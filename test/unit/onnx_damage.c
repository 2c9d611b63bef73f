/* Damaged files: cut at every length, with bits flipped, with random bytes, nested thousands deep. Each is refused with a
 * message or read as a valid module; nothing else may happen (the build with sanitizers watches). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "onnx/onnx.h"

static opf_diags *diags;

static int setup(void **state) {
    (void)state;
    diags = opf_diags_new();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    opf_diags_free(diags);
    return 0;
}

/* Reads from a block of exactly this size, so that a sanitizer sees one byte too many. True where it was a model. */
static bool read_exactly(const void *data, size_t size) {
    void *copy = malloc(size ? size : 1);
    if (size) memcpy(copy, data, size);
    opf_diags_clear(diags);
    opf_module *module = NULL;
    opf_status status = opf_onnx_read_memory(&module, copy, size, "damaged.onnx", diags);
    if (status == OPF_OK) {
        assert_int_equal(opf_graph_check(module->graph, "read"), OPF_OK);
        assert_int_equal(opf_diags_errors(diags), 0);
        opf_text text = {0};
        opf_graph_print(module->graph, &text);
        assert_true(text.length > 0);
        opf_text_free(&text);
        opf_module_free(module);
    } else {
        assert_null(module);
        assert_true(opf_diags_errors(diags) > 0);
    }
    free(copy);
    return status == OPF_OK;
}

static opf_mapping map_data(const char *name) {
    opf_text path = {0};
    opf_text_printf(&path, "%s/%s", OPF_TEST_DATA, name);
    opf_mapping file;
    assert_int_equal(opf_file_map(&file, path.data, diags), OPF_OK);
    opf_text_free(&path);
    return file;
}

/* `whole_parts`: at so many lengths a whole field ends, and what stands before is a model as well. */
static void cut_at(const char *name, size_t step, int whole_parts) {
    opf_mapping file = map_data(name);
    int good = 0;
    for (size_t size = 0; size < file.size; size += step) good += read_exactly(file.data, size);
    assert_int_equal(good, whole_parts);
    assert_true(read_exactly(file.data, file.size));
    opf_file_unmap(&file);
}

static void cut_at_every_length(void **state) {
    (void)state;
    cut_at("onnx/storage.onnx", 1, 0);
    cut_at("onnx/functions.onnx", 1, 6); /* after each operator set and function but the last */
    cut_at("onnx/attributes.onnx", 1, 1);
}

static void a_real_model_cut(void **state) {
    (void)state;
    cut_at("../../examples/ppocr_cls_v2/model.onnx", 997, 0);
}

/* xorshift64*, Vigna 2016: the same damage in every run. */
static uint64_t next(uint64_t *seed) {
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return *seed * 0x2545F4914F6CDD1Du;
}

static void flip(const char *name, int rounds) {
    opf_mapping file = map_data(name);
    unsigned char *copy = malloc(file.size);
    uint64_t seed = 1;
    int survived = 0;
    for (int round = 0; round < rounds; round++) {
        memcpy(copy, file.data, file.size);
        for (uint64_t flips = 1 + next(&seed) % 4; flips > 0; flips--) copy[next(&seed) % file.size] ^= (unsigned char)(1u << next(&seed) % 8);
        survived += read_exactly(copy, file.size);
    }
    assert_true(survived < rounds); /* some damage was seen */
    free(copy);
    opf_file_unmap(&file);
}

static void flipped_bits(void **state) {
    (void)state;
    static const char *const names[] = {"storage", "functions", "attributes", "types", "loop", "unsorted", "constants", "sparse", "names", "function_graph"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[64];
        snprintf(path, sizeof path, "onnx/%s.onnx", names[i]);
        flip(path, 1500);
    }
    flip("../../examples/ppocr_cls_v2/model.onnx", 30);
}

static void random_bytes(void **state) {
    (void)state;
    uint64_t seed = 7;
    unsigned char bytes[512];
    for (int round = 0; round < 5000; round++) {
        size_t size = next(&seed) % sizeof bytes;
        for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)next(&seed);
        assert_false(read_exactly(bytes, size));
    }
}

/* ---- nesting ---- */

/* A growing message, written from its end: a wrapper goes in front of what is there. */
typedef struct backwards {
    unsigned char *data;
    size_t capacity, start;
} backwards;

static void put(backwards *b, const void *bytes, size_t size) {
    assert_true(b->start >= size);
    b->start -= size;
    memcpy(b->data + b->start, bytes, size);
}

static void put_header(backwards *b, int field, size_t size) {
    unsigned char bytes[16];
    size_t n = 0;
    bytes[n++] = (unsigned char)(field << 3 | 2);
    for (; size > 127; size >>= 7) bytes[n++] = (unsigned char)(size & 127) | 128;
    bytes[n++] = (unsigned char)size;
    put(b, bytes, n);
}

/* Everything from the start up to `end` becomes a field. */
static void wrap(backwards *b, int field, size_t end) { put_header(b, field, end - b->start); }

static void put_text(backwards *b, int field, const char *text) {
    put(b, text, strlen(text));
    put_header(b, field, strlen(text));
}

enum { MODEL_GRAPH = 7, GRAPH_NODE = 1, GRAPH_OUTPUT = 12, NODE_OUTPUT = 2, NODE_OP = 4, NODE_ATTRIBUTE = 5, ATTRIBUTE_NAME = 1, ATTRIBUTE_GRAPH = 6 };

/* A model of If nodes inside each other's branches, `depth` of them. */
static bool read_nested(int depth) {
    backwards b = {.capacity = (size_t)depth * 64 + 256};
    b.data = malloc(b.capacity);
    b.start = b.capacity;
    for (int i = 0; i <= depth; i++) {
        if (i > 0) {
            wrap(&b, ATTRIBUTE_GRAPH, b.capacity);
            put_text(&b, ATTRIBUTE_NAME, "then_branch");
            wrap(&b, NODE_ATTRIBUTE, b.capacity);
        }
        put_text(&b, NODE_OP, i ? "If" : "Leaf");
        put_text(&b, NODE_OUTPUT, "y");
        wrap(&b, GRAPH_NODE, b.capacity);
        size_t end = b.start;
        put_text(&b, 1, "y");
        wrap(&b, GRAPH_OUTPUT, end);
    }
    wrap(&b, MODEL_GRAPH, b.capacity);
    static const unsigned char versions[] = {1 << 3, 8, 8 << 3 | 2, 2, 2 << 3, 17}; /* IR version 8, opset 17 */
    put(&b, versions, sizeof versions);
    bool good = read_exactly(b.data + b.start, b.capacity - b.start);
    free(b.data);
    return good;
}

static void deep_nesting_is_refused(void **state) {
    (void)state;
    assert_true(read_nested(1));
    assert_true(read_nested(200));
    assert_false(read_nested(10000));
    assert_int_equal(opf_diags_count(diags), 1);
    assert_string_equal(opf_diags_at(diags, 0)->message, "sub-graphs and functions are nested more than 256 deep");
    assert_false(read_nested(100000));
}

/* Types nest, too: sequences of sequences. */
static void deep_types_are_refused(void **state) {
    (void)state;
    enum { DEPTH = 10000 };
    backwards b = {.capacity = DEPTH * 16 + 256};
    b.data = malloc(b.capacity);
    b.start = b.capacity;
    for (int i = 0; i < DEPTH; i++) {
        wrap(&b, 1, b.capacity); /* Sequence.elem_type */
        wrap(&b, 4, b.capacity); /* Type.sequence_type */
    }
    wrap(&b, 2, b.capacity); /* ValueInfo.type */
    put_text(&b, 1, "x");
    wrap(&b, 11, b.capacity); /* Graph.input */
    size_t end = b.start;
    put_text(&b, 1, "x");
    wrap(&b, GRAPH_OUTPUT, end);
    wrap(&b, MODEL_GRAPH, b.capacity);
    static const unsigned char version[] = {1 << 3, 8};
    put(&b, version, sizeof version);
    assert_false(read_exactly(b.data + b.start, b.capacity - b.start));
    assert_string_equal(opf_diags_at(diags, 0)->message, "input 'x' has a type that is nested more than 16 deep");
    free(b.data);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(cut_at_every_length), TEST(a_real_model_cut), TEST(flipped_bits), TEST(random_bytes), TEST(deep_nesting_is_refused), TEST(deep_types_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
