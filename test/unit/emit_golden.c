/* Generated kernels as they should read: test/golden/NAME.txt holds a case (test/unit/kernel_case.h), a line of dashes, and
 * its kernel. OPF_UPDATE_GOLDEN=1 writes the kernels anew; the difference is then for a person to read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>

#include "kernel_case.h"

#define SEPARATOR "\n----\n"

static opf_machine machine = {.name = "test", .flags = "", .lanes = 8, .vectors = 16, .l1_bytes = 32768, .l2_bytes = 524288, .l3_bytes = 8388608,
                              .flops_per_second = 1e11, .l1_bandwidth = 2e11, .l2_bandwidth = 1e11, .l3_bandwidth = 5e10, .dram_bandwidth = 1e10};

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    opf_text text = {0};
    char buffer[4096];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, file)) > 0;) opf_text_add_n(&text, buffer, n);
    fclose(file);
    return text.data;
}

static void check_file(const char *path) {
    char *whole = read_file(path), *expected = strstr(whole, SEPARATOR);
    if (expected) {
        *expected = '\0';
        expected += strlen(SEPARATOR);
    }
    kernel_case c;
    case_read(&c, path, whole);
    assert_int_equal(opf_nest_schedule(&c.nest, &c.group, &machine), OPF_OK);
    opf_text got = {0};
    assert_int_equal(opf_emit_kernel(c.nest, "kernel", &got), OPF_OK);
    if (getenv("OPF_UPDATE_GOLDEN")) {
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        fprintf(file, "%s%s%s", whole, SEPARATOR, got.data);
        fclose(file);
    } else {
        if (!expected || strcmp(expected, got.data) != 0) fprintf(stderr, "%s: the kernel now reads\n%s", path, got.data);
        assert_non_null(expected);
        assert_string_equal(got.data, expected);
    }
    opf_text_free(&got);
    case_free(&c);
    free(whole);
}

static int is_text(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 4 && strcmp(entry->d_name + length - 4, ".txt") == 0;
}

static void kernels_read_as_written(void **state) {
    (void)state;
    struct dirent **list;
    int count = scandir(OPF_TEST_DATA "/../golden", &list, is_text, alphasort);
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", OPF_TEST_DATA "/../golden", list[i]->d_name);
        check_file(path);
        free(list[i]);
    }
    free(list);
}

/* Groups that differ in names of values alone give one body, so that they share a kernel. */
static void equal_groups_share_their_body(void **state) {
    (void)state;
    const char *texts[2] = {"size N 3\nin x float32 [N, 64]\nstage y float32 [n=N, k=64] : max(x[n, k], 0)\nout y",
                            "size N 3\nin other float32 [N, 64]\nstage relu float32 [n=N, k=64] : max(other[n, k], 0)\nout relu"};
    opf_text bodies[2] = {{0}, {0}};
    for (int i = 0; i < 2; i++) {
        kernel_case c;
        case_read(&c, "sharing", texts[i]);
        assert_int_equal(opf_nest_schedule(&c.nest, &c.group, &machine), OPF_OK);
        assert_int_equal(opf_emit_kernel_body(c.nest, &bodies[i]), OPF_OK);
        case_free(&c);
    }
    assert_string_equal(bodies[0].data, bodies[1].data);
    for (int i = 0; i < 2; i++) opf_text_free(&bodies[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_read_as_written), cmocka_unit_test(equal_groups_share_their_body)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
