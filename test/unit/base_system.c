/* Files and child processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"

typedef struct fixture {
    opf_arena *arena;
    opf_diags *diags;
    char *folder;
} fixture;

static int setup(void **state) {
    fixture *f = calloc(1, sizeof *f);
    f->arena = opf_arena_new();
    f->diags = opf_diags_new();
    *state = f;
    return opf_folder_temporary(&f->folder, f->arena, f->diags) == OPF_OK ? 0 : -1;
}

static int teardown(void **state) {
    fixture *f = *state;
    opf_folder_remove(f->folder);
    if (opf_file_exists(f->folder)) return -1;
    opf_diags_free(f->diags);
    opf_arena_free(f->arena);
    free(f);
    return 0;
}

static const char *in_folder(const fixture *f, const char *name) { return opf_arena_printf(f->arena, "%s/%s", f->folder, name); }

static int entries(const char *folder) {
    int count = 0;
    DIR *open = opendir(folder);
    while (readdir(open)) count++;
    closedir(open);
    return count - 2;
}

static void expect_file(fixture *f, const char *path, const char *expected) {
    opf_mapping mapping;
    assert_int_equal(opf_file_map(&mapping, path, f->diags), OPF_OK);
    assert_int_equal(mapping.size, strlen(expected));
    if (mapping.size) assert_memory_equal(mapping.data, expected, mapping.size);
    opf_file_unmap(&mapping);
}

static void files_are_replaced_whole(void **state) {
    fixture *f = *state;
    const char *path = in_folder(f, "out.txt");
    assert_false(opf_file_exists(path));
    assert_int_equal(opf_file_write(path, "first", 5, f->diags), OPF_OK);
    opf_mapping before;
    assert_int_equal(opf_file_map(&before, path, f->diags), OPF_OK);
    assert_int_equal(opf_file_write(path, "second one", 10, f->diags), OPF_OK);
    assert_memory_equal(before.data, "first", 5); /* who reads the old file goes on reading it */
    opf_file_unmap(&before);
    expect_file(f, path, "second one");
    assert_int_equal(opf_file_write(path, "", 0, f->diags), OPF_OK);
    expect_file(f, path, "");
    assert_int_equal(entries(f->folder), 1);
    assert_int_equal(opf_diags_count(f->diags), 0);
}

static void links_and_devices_stay(void **state) {
    fixture *f = *state;
    const char *target = in_folder(f, "target"), *link = in_folder(f, "link");
    assert_int_equal(opf_file_write(target, "old", 3, f->diags), OPF_OK);
    assert_int_equal(symlink("target", link), 0);
    assert_int_equal(opf_file_write(link, "new", 3, f->diags), OPF_OK);
    expect_file(f, target, "new");
    struct stat about;
    assert_int_equal(lstat(link, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(opf_file_write("/dev/null", "x", 1, f->diags), OPF_OK);
    assert_int_equal(stat("/dev/null", &about), 0);
    assert_true(S_ISCHR(about.st_mode));
}

static void file_errors_are_told(void **state) {
    fixture *f = *state;
    opf_mapping mapping;
    assert_int_equal(opf_file_map(&mapping, in_folder(f, "missing"), f->diags), OPF_ERROR_SYSTEM);
    assert_int_equal(opf_file_map(&mapping, f->folder, f->diags), OPF_ERROR_SYSTEM);
    assert_int_equal(opf_file_map(&mapping, "/dev/null", f->diags), OPF_ERROR_SYSTEM);
    assert_int_equal(opf_file_write(in_folder(f, "no/such/folder"), "x", 1, f->diags), OPF_ERROR_SYSTEM);
    assert_int_equal(opf_file_write(f->folder, "x", 1, f->diags), OPF_ERROR_SYSTEM);
    static const char *const expected[] = {"cannot be opened: No such file or directory", "cannot be read: it is a folder", "cannot be read: it is no regular file",
                                           "cannot be created: No such file or directory", "cannot be written: it is a folder"};
    assert_int_equal(opf_diags_count(f->diags), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(opf_diags_at(f->diags, i)->code, "io");
        assert_string_equal(opf_diags_at(f->diags, i)->message, expected[i]);
    }
    assert_int_equal(entries(f->folder), 0);
}

static void a_full_disk_leaves_the_old_file(void **state) {
    fixture *f = *state;
    if (access("/dev/full", W_OK) != 0) skip();
    assert_int_equal(opf_file_write("/dev/full", "x", 1, f->diags), OPF_ERROR_SYSTEM);
    assert_string_equal(opf_diags_at(f->diags, 0)->message, "cannot be written: No space left on device");
}

static void folders_are_made_with_parents(void **state) {
    fixture *f = *state;
    const char *deep = in_folder(f, "a/b//c/");
    assert_int_equal(opf_folder_make(deep, f->diags), OPF_OK);
    assert_int_equal(opf_folder_make(deep, f->diags), OPF_OK);
    assert_true(opf_file_exists(in_folder(f, "a/b/c")));
    assert_int_equal(opf_file_write(in_folder(f, "a/file"), "x", 1, f->diags), OPF_OK);
    assert_int_equal(opf_folder_make(in_folder(f, "a/file/d"), f->diags), OPF_ERROR_SYSTEM);
    assert_int_equal(opf_diags_count(f->diags), 1);
}

static void processes_talk_back(void **state) {
    (void)state;
    opf_process *process;
    opf_text out = {0}, err = {0};
    int code = -1;
    const char *const argv[] = {"sh", "-c", "cat; echo oops >&2; exit 3", NULL};
    assert_int_equal(opf_process_start(&process, argv, "hello"), OPF_OK);
    assert_int_equal(opf_process_wait(process, &code, &out, &err), OPF_OK);
    assert_int_equal(code, 3);
    assert_string_equal(opf_text_string(&out), "hello");
    assert_string_equal(opf_text_string(&err), "oops\n");
    opf_text_free(&out);
    opf_text_free(&err);
}

/* More than a pipe holds, both ways, with several running at once and read in any order. */
static void processes_never_block_each_other(void **state) {
    (void)state;
    enum { COUNT = 3, SIZE = 1 << 20 };
    char *input = malloc(SIZE + 1);
    memset(input, 'x', SIZE);
    input[SIZE] = '\0';
    opf_process *processes[COUNT];
    const char *const argv[] = {"cat", NULL};
    for (int i = 0; i < COUNT; i++) assert_int_equal(opf_process_start(&processes[i], argv, input), OPF_OK);
    for (int i = COUNT; i-- > 0;) {
        opf_text out = {0};
        int code = -1;
        assert_int_equal(opf_process_wait(processes[i], &code, &out, NULL), OPF_OK);
        assert_int_equal(code, 0);
        assert_int_equal(out.length, SIZE);
        opf_text_free(&out);
    }
    free(input);
}

static void processes_fail_cleanly(void **state) {
    (void)state;
    opf_process *process;
    int code = -1;
    const char *const missing[] = {"opfuse-no-such-program", NULL};
    assert_int_equal(opf_process_start(&process, missing, NULL), OPF_ERROR_SYSTEM);
    assert_null(process);
    const char *const killed[] = {"sh", "-c", "kill -9 $$", NULL};
    assert_int_equal(opf_process_start(&process, killed, NULL), OPF_OK);
    assert_int_equal(opf_process_wait(process, &code, NULL, NULL), OPF_OK);
    assert_int_equal(code, 128 + 9);
    const char *const empty[] = {"cat", NULL}; /* standard input is empty where none is given */
    opf_text out = {0};
    assert_int_equal(opf_process_start(&process, empty, NULL), OPF_OK);
    assert_int_equal(opf_process_wait(process, &code, &out, NULL), OPF_OK);
    assert_int_equal(code, 0);
    assert_int_equal(out.length, 0);
    opf_text_free(&out);
}

static void the_clock_goes_forward(void **state) {
    (void)state;
    int64_t before = opf_clock_now();
    usleep(2000);
    int64_t passed = opf_clock_now() - before;
    assert_true(passed >= 2000000);
    assert_true(passed < 60 * (int64_t)1000000000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_are_replaced_whole, setup, teardown), cmocka_unit_test_setup_teardown(links_and_devices_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(file_errors_are_told, setup, teardown), cmocka_unit_test_setup_teardown(a_full_disk_leaves_the_old_file, setup, teardown),
        cmocka_unit_test_setup_teardown(folders_are_made_with_parents, setup, teardown),
        cmocka_unit_test(processes_talk_back), cmocka_unit_test(processes_never_block_each_other), cmocka_unit_test(processes_fail_cleanly),
        cmocka_unit_test(the_clock_goes_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
