/* Arrays as .npy and .pb files: what is written is read again; what is no such file is refused in one sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opfuse/opfuse.h"

static opf_context *context;
static char folder[] = "/tmp/opfuse-arrays-XXXXXX";

static int set_up(void **state) {
    (void)state;
    context = opf_context_new();
    strcpy(folder, "/tmp/opfuse-arrays-XXXXXX");
    return mkdtemp(folder) ? 0 : 1;
}

static int tear_down(void **state) {
    (void)state;
    char path[128];
    const char *const names[] = {"a.npy", "a.pb", "a.txt"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
    opf_context_free(context);
    return 0;
}

static const char *at(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static opf_array written_and_read(opf_array array, const char *name) {
    opf_array back;
    assert_int_equal(opf_array_write(context, &array, at(name)), OPF_OK);
    assert_int_equal(opf_array_read(&back, context, at(name)), OPF_OK);
    assert_int_equal(back.rank, array.rank);
    for (int k = 0; k < array.rank; k++) assert_int_equal(back.dims[k], array.dims[k]);
    return back;
}

static const int64_t two_three[] = {2, 3};

static void numbers_survive(void **state) {
    (void)state;
    static const struct { int dtype; size_t bytes; } types[] = {{1, 4}, {11, 8}, {10, 2}, {3, 1}, {5, 2}, {6, 4}, {7, 8}, {2, 1}, {4, 2}, {12, 4}, {13, 8}, {9, 1}};
    unsigned char data[48];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i % 2);
    const char *const names[] = {"a.npy", "a.pb"};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t n = 0; n < 2; n++) {
            opf_array back = written_and_read((opf_array){.dtype = types[t].dtype, .rank = 2, .dims = two_three, .data = data}, names[n]);
            assert_int_equal(back.dtype, types[t].dtype);
            assert_memory_equal(back.data, data, 6 * types[t].bytes);
        }
}

static void scalars_and_empty_arrays_survive(void **state) {
    (void)state;
    float x = 2.5f;
    int64_t none[] = {0, 7};
    assert_true(*(const float *)written_and_read((opf_array){.dtype = 1, .data = &x}, "a.npy").data == 2.5f);
    assert_true(*(const float *)written_and_read((opf_array){.dtype = 1, .data = &x}, "a.pb").data == 2.5f);
    written_and_read((opf_array){.dtype = 1, .rank = 2, .dims = none}, "a.npy");
    written_and_read((opf_array){.dtype = 1, .rank = 2, .dims = none}, "a.pb");
}

static void types_that_numpy_lacks_are_widened(void **state) {
    (void)state;
    int64_t three[] = {3};
    uint16_t brain[] = {0x3f80, 0xc000, 0x7f80}; /* 1, -2, infinity */
    opf_array back = written_and_read((opf_array){.dtype = 16, .rank = 1, .dims = three, .data = brain}, "a.npy");
    assert_int_equal(back.dtype, 1);
    assert_true(opf_array_get(&back, 0) == 1 && opf_array_get(&back, 1) == -2 && opf_array_get(&back, 2) > 1e38);
    unsigned char nibbles[] = {0x7f, 0x08}; /* -1, 7, -8 */
    back = written_and_read((opf_array){.dtype = 22, .rank = 1, .dims = three, .data = nibbles}, "a.npy");
    assert_int_equal(back.dtype, 3);
    assert_true(opf_array_get(&back, 0) == -1 && opf_array_get(&back, 1) == 7 && opf_array_get(&back, 2) == -8);
    opf_array narrow;
    assert_int_equal(opf_array_convert(&narrow, context, &back, 22), OPF_OK);
    assert_int_equal(narrow.dtype, 22);
    assert_true(opf_array_get(&narrow, 2) == -8);
}

static void strings_survive(void **state) {
    (void)state;
    int64_t three[] = {3};
    const char *const words[] = {"", "grün 日本", "x"};
    opf_array back = written_and_read((opf_array){.dtype = 8, .rank = 1, .dims = three, .data = words}, "a.npy");
    assert_int_equal(back.dtype, 8);
    for (int i = 0; i < 3; i++) assert_string_equal(((const char *const *)back.data)[i], words[i]);
}

/* ---- files of others ---- */

static void write_bytes(const char *name, const void *data, size_t size) {
    FILE *file = fopen(at(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

static size_t npy(unsigned char *out, const char *dictionary, const void *data, size_t size) {
    size_t length = strlen(dictionary);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (unsigned char)length;
    out[9] = (unsigned char)(length >> 8);
    memcpy(out + 10, dictionary, length);
    memcpy(out + 10 + length, data, size);
    return 10 + length + size;
}

static void big_endian_and_column_order_are_read(void **state) {
    (void)state;
    unsigned char file[256], data[12] = {0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6}; /* columns of [[1,2,3],[4,5,6]] */
    size_t size = npy(file, "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n", data, sizeof data);
    write_bytes("a.npy", file, size);
    opf_array back;
    assert_int_equal(opf_array_read(&back, context, at("a.npy")), OPF_OK);
    assert_int_equal(back.dtype, 5);
    for (int i = 0; i < 6; i++) assert_int_equal(((const int16_t *)back.data)[i], i + 1);
}

static void refused(const void *data, size_t size) {
    opf_array array;
    opf_context_clear_messages(context);
    write_bytes("a.npy", data, size);
    assert_int_equal(opf_array_read(&array, context, at("a.npy")), OPF_ERROR_INPUT);
    assert_int_equal(opf_context_messages(context), 1);
    assert_non_null(strstr(opf_context_message(context, 0).text, "no readable .npy file"));
}

static void damaged_files_are_refused(void **state) {
    (void)state;
    unsigned char file[256], data[24] = {0};
    size_t whole = npy(file, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", data, sizeof data);
    for (size_t size = 0; size < whole; size++) refused(file, size);
    refused("plain text, much too long to be cut off", 39);
    static const char *const dictionaries[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9), }", "{'descr': '<f4', 'shape': (-2,), }", "{'descr': '<f4', 'shape': (2, ",
        "{'descr': [('a', '<f4')], 'shape': (2,), }", "{'descr': '<x4', 'shape': (2,), }", "{'descr': '<U99999999999', 'shape': (2,), }", "{'shape': (2,), }", "{'descr': '<f4'}",
        "{'descr': '<f4', 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1), }",
    };
    for (size_t i = 0; i < sizeof dictionaries / sizeof *dictionaries; i++) refused(file, npy(file, dictionaries[i], data, sizeof data));
}

static void other_endings_are_misuse(void **state) {
    (void)state;
    opf_array array;
    write_bytes("a.txt", "1 2 3", 5);
    assert_int_equal(opf_array_read(&array, context, at("a.txt")), OPF_ERROR_USAGE);
}

static void options_are_checked(void **state) {
    (void)state;
    static const struct { const char *option, *value; opf_status status; } cases[] = {
        {"fuse", "tvm", OPF_OK},        {"fuse", "all", OPF_ERROR_USAGE},       {"threads", "2", OPF_OK},      {"threads", "0", OPF_ERROR_USAGE},
        {"dim", "a=b=3", OPF_OK},       {"dim", "=3", OPF_ERROR_USAGE},         {"dim", "n", OPF_ERROR_USAGE}, {"dim", "n=-1", OPF_ERROR_USAGE},
        {"shape", "x=1,?,3", OPF_OK},   {"shape", "x=", OPF_OK},                {"shape", "x=1,", OPF_ERROR_USAGE}, {"shape", "x=1,,2", OPF_ERROR_USAGE},
        {"seed", "18", OPF_OK},         {"seed", "x", OPF_ERROR_USAGE},         {"dump-after", "fuse", OPF_OK}, {"stop-after", "lunch", OPF_ERROR_USAGE},
        {"machine", "generic", OPF_OK}, {"time-passes", "yes", OPF_ERROR_USAGE}, {"max-depth", "3", OPF_OK},   {"colour", "red", OPF_ERROR_USAGE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) assert_int_equal(opf_context_set(context, cases[i].option, cases[i].value), cases[i].status);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(numbers_survive), CASE(scalars_and_empty_arrays_survive), CASE(types_that_numpy_lacks_are_widened), CASE(strings_survive),
        CASE(big_endian_and_column_order_are_read), CASE(damaged_files_are_refused), CASE(other_endings_are_misuse), CASE(options_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
