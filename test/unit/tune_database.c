/* The database of schedules: merged by the better time, whole under writers at once, refused where it is something else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/file.h"
#include "tune/catalog.h"

typedef struct place { opf_arena *arena; opf_diags *diags; char *folder; const char *path; } place;

static int set_up(void **state) {
    opf_arena *arena = opf_arena_new();
    place *p = OPF_NEW(arena, place);
    *p = (place){.arena = arena, .diags = opf_diags_new()};
    assert_int_equal(opf_folder_temporary(&p->folder, arena, p->diags), OPF_OK);
    p->path = opf_arena_printf(arena, "%s/below/schedules.db", p->folder);
    *state = p;
    return 0;
}

static int tear_down(void **state) {
    place *p = *state;
    opf_folder_remove(p->folder);
    opf_diags_free(p->diags);
    opf_arena_free(p->arena);
    return 0;
}

static opf_tuning tuning(const char *kernel, int threads, double best, int64_t unroll) {
    opf_tuning t = {.kernel = kernel, .operators = "Conv Relu", .cpu = "a CPU", .threads = threads, .default_ms = 2, .best_ms = best, .date = 1000000000,
                    .default_code = "00112233445566ff", .best_code = "8899aabbccddeeff"};
    t.schedule.at[OPF_KNOB_UNROLL] = unroll;
    return t;
}

static const char *const kernel_a = "0123456789abcdef0123456789abcdef", *const kernel_b = "ffffffffffffffffffffffffffffffff";

static void better_one_stays(void **state) {
    place *p = *state;
    opf_database *d;
    opf_tunings found;
    bool taken;
    assert_int_equal(opf_database_open(&d, p->path, false, p->diags), OPF_OK);
    assert_null(d); /* reading makes no file */
    assert_int_equal(opf_database_open(&d, p->path, true, p->diags), OPF_OK);
    opf_tuning slow = tuning(kernel_a, 1, 1.5, 4), fast = tuning(kernel_a, 1, 1.25, 8), other = tuning(kernel_a, 2, 1.75, 1);
    assert_int_equal(opf_database_merge(d, &slow, &taken), OPF_OK);
    assert_true(taken);
    opf_database_merge(d, &fast, &taken);
    assert_true(taken);
    opf_database_merge(d, &slow, &taken);
    assert_false(taken);
    opf_database_merge(d, &other, &taken);
    assert_true(taken);
    assert_int_equal(opf_database_find(d, kernel_a, "a CPU", &found, p->arena), OPF_OK);
    assert_int_equal(found.list.count, 2);
    assert_int_equal(found.list.data[0].threads, 1);
    assert_int_equal(found.list.data[0].schedule.at[OPF_KNOB_UNROLL], 8);
    assert_int_equal(opf_database_find(d, kernel_a, "another CPU", &found, p->arena), OPF_OK);
    assert_int_equal(found.list.count, 0);
    opf_database_forget(d, &slow);
    opf_database_find(d, NULL, NULL, &found, p->arena);
    assert_int_equal(found.list.count, 1);
    opf_database_close(d);
}

static void trials_are_known_again(void **state) {
    place *p = *state;
    opf_database *d;
    double share = 0;
    opf_tuning t = tuning(kernel_a, 1, 1, 4), other = tuning(kernel_a, 1, 1, 2);
    assert_int_equal(opf_database_open(&d, p->path, true, p->diags), OPF_OK);
    assert_false(opf_database_tried(d, &t, &share));
    assert_int_equal(opf_database_note(d, &t, 0.75), OPF_OK);
    opf_database_close(d);
    assert_int_equal(opf_database_open(&d, p->path, true, p->diags), OPF_OK);
    assert_true(opf_database_tried(d, &t, &share));
    assert_true(share == 0.75);
    assert_false(opf_database_tried(d, &other, &share));
    opf_database_close(d);
}

/* What was measured on other code is another row, and another trial; without a code none is told. */
static void codes_are_kept_apart(void **state) {
    place *p = *state;
    opf_database *d;
    opf_tunings found;
    bool taken;
    double share = 0;
    opf_tuning here = tuning(kernel_a, 1, 1.5, 4), there = tuning(kernel_a, 1, 1.25, 4), again = tuning(kernel_a, 1, 1.5, 4), untold = tuning(kernel_a, 1, 1, 4);
    there.default_code = "1111111111111111";
    again.best_code = "2222222222222222";
    untold.default_code = untold.best_code = NULL;
    assert_int_equal(opf_database_open(&d, p->path, true, p->diags), OPF_OK);
    const opf_tuning *rows[] = {&here, &there, &untold};
    for (size_t i = 0; i < OPF_COUNT(rows); i++) {
        assert_int_equal(opf_database_merge(d, rows[i], &taken), OPF_OK);
        assert_true(taken);
    }
    assert_int_equal(opf_database_find(d, kernel_a, NULL, &found, p->arena), OPF_OK);
    assert_int_equal(found.list.count, 3);
    assert_null(found.list.data[0].default_code);
    assert_string_equal(found.list.data[1].default_code, here.default_code);
    assert_string_equal(found.list.data[1].best_code, here.best_code);
    assert_int_equal(opf_database_note(d, &here, 0.75), OPF_OK);
    assert_true(opf_database_tried(d, &here, &share));
    assert_false(opf_database_tried(d, &there, &share));
    assert_false(opf_database_tried(d, &again, &share));
    assert_int_equal(opf_database_forget(d, &here), OPF_OK);
    opf_database_find(d, kernel_a, NULL, &found, p->arena);
    assert_int_equal(found.list.count, 2);
    opf_database_close(d);
}

/* A file of version 1: readable and empty, until it is written to; then its schedules are there without a code. */
static void older_files(void **state) {
    place *p = *state;
    opf_database *d;
    opf_tunings found;
    double share;
    opf_tuning t = tuning(kernel_a, 1, 1.5, 4);
    const char *path = opf_arena_printf(p->arena, "%s/old.db", p->folder);
    sqlite3 *handle;
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    assert_int_equal(sqlite3_exec(handle,
                                  "PRAGMA application_id = 1869637235; PRAGMA user_version = 1;"
                                  "CREATE TABLE schedules (kernel TEXT NOT NULL, cpu TEXT NOT NULL, threads INTEGER NOT NULL, schedule TEXT NOT NULL, operators TEXT,"
                                  " default_ms REAL NOT NULL, best_ms REAL NOT NULL, date INTEGER NOT NULL, PRIMARY KEY (kernel, cpu, threads)) WITHOUT ROWID;"
                                  "CREATE TABLE trials (kernel TEXT NOT NULL, cpu TEXT NOT NULL, threads INTEGER NOT NULL, schedule TEXT NOT NULL, share REAL NOT NULL,"
                                  " date INTEGER NOT NULL, PRIMARY KEY (kernel, cpu, threads, schedule)) WITHOUT ROWID;"
                                  "INSERT INTO schedules VALUES ('0123456789abcdef0123456789abcdef', 'a CPU', 1, 'unroll=4', 'Conv Relu', 2, 1.5, 1000000000);"
                                  "INSERT INTO trials VALUES ('0123456789abcdef0123456789abcdef', 'a CPU', 1, 'unroll=4', 0.75, 1000000000);",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(handle);
    assert_int_equal(opf_database_open(&d, path, false, p->diags), OPF_OK);
    assert_int_equal(opf_database_find(d, kernel_a, NULL, &found, p->arena), OPF_OK);
    assert_int_equal(found.list.count, 0);
    opf_database_close(d);
    for (int time = 0; time < 2; time++) {
        assert_int_equal(opf_database_open(&d, path, true, p->diags), OPF_OK);
        assert_int_equal(opf_database_find(d, kernel_a, "a CPU", &found, p->arena), OPF_OK);
        assert_int_equal(found.list.count, 1);
        assert_null(found.list.data[0].best_code);
        assert_int_equal(found.list.data[0].schedule.at[OPF_KNOB_UNROLL], 4);
        assert_false(opf_database_tried(d, &t, &share));
        opf_database_close(d);
    }
}

/* Four processes write at once; every row of each arrives. */
static void many_writers(void **state) {
    place *p = *state;
    enum { WRITERS = 4, ROWS = 25 };
    for (int w = 0; w < WRITERS; w++) {
        if (fork() != 0) continue;
        opf_database *d;
        bool good = opf_database_open(&d, p->path, true, p->diags) == OPF_OK, taken;
        for (int i = 0; i < ROWS && good; i++) {
            opf_tuning t = tuning(opf_arena_printf(p->arena, "%032x", w * ROWS + i), 1, 1, 2), shared = tuning(kernel_b, 1, 1.0 / (1 + w * ROWS + i), 2);
            good = opf_database_merge(d, &t, &taken) == OPF_OK && opf_database_merge(d, &shared, &taken) == OPF_OK;
        }
        if (good) opf_database_close(d);
        for (size_t i = 0; i < opf_diags_count(p->diags); i++) fprintf(stderr, "%s\n", opf_diags_at(p->diags, i)->message);
        _exit(!good);
    }
    for (int w = 0; w < WRITERS; w++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    opf_database *d;
    opf_tunings found;
    assert_int_equal(opf_database_open(&d, p->path, false, p->diags), OPF_OK);
    opf_database_find(d, NULL, NULL, &found, p->arena);
    assert_int_equal(found.list.count, WRITERS * ROWS + 1);
    opf_database_find(d, kernel_b, NULL, &found, p->arena);
    assert_true(found.list.data[0].best_ms == 1.0 / (WRITERS * ROWS)); /* the best of all */
    opf_database_close(d);
}

static void text_round_trip(void **state) {
    place *p = *state;
    opf_tuning t = tuning(kernel_a, 3, 1.25, 8);
    opf_text text = {0}, again = {0};
    opf_tunings read;
    const char *path = opf_arena_printf(p->arena, "%s/text", p->folder);
    opf_text_add(&text, "# a comment\n\n");
    opf_tuning_print(&t, &text);
    assert_int_equal(opf_file_write(path, text.data, text.length, p->diags), OPF_OK);
    assert_int_equal(opf_tunings_read(&read, path, p->arena, p->diags), OPF_OK);
    assert_int_equal(read.list.count, 1);
    assert_int_equal(read.list.data[0].date, 1000000000);
    assert_string_equal(read.list.data[0].default_code, t.default_code);
    assert_string_equal(read.list.data[0].best_code, t.best_code);
    opf_text_add(&again, "# a comment\n\n");
    opf_tuning_print(&read.list.data[0], &again);
    assert_string_equal(text.data, again.data);
    opf_text_free(&text);
    opf_text_free(&again);
}

static void wrong_files(void **state) {
    place *p = *state;
    static const char *const wrong[] = {"unroll = 2\n", "[kernel 12]\n", "[kernel 0123456789abcdef0123456789abcdef]\nunroll\n", "[kernel 0123456789abcdef0123456789abcdef]\nthreads = many\n",
                                        "[kernel 0123456789abcdef0123456789abcdef]\nunroll = 2\nunroll = 2\n", "[kernel 0123456789abcdef0123456789abcdef]\ncode = 00112233445566ff\n",
                                        "[kernel 0123456789abcdef0123456789abcdef]\ncode = 00112233445566ff/8899aabbccddeef\n"};
    const char *path = opf_arena_printf(p->arena, "%s/wrong", p->folder);
    for (size_t i = 0; i < OPF_COUNT(wrong); i++) {
        opf_tunings read;
        opf_diags_clear(p->diags);
        assert_int_equal(opf_file_write(path, wrong[i], strlen(wrong[i]), p->diags), OPF_OK);
        assert_int_equal(opf_tunings_read(&read, path, p->arena, p->diags), OPF_ERROR_INPUT);
        assert_int_equal(opf_diags_errors(p->diags), 1);
    }
}

/* Every byte of a good file put wrong in turn, a few at a time: opened or refused, never a crash, never a silent half. */
static void damaged_files(void **state) {
    place *p = *state;
    opf_database *d;
    opf_tunings found;
    opf_mapping file;
    bool taken;
    opf_tuning t = tuning(kernel_a, 1, 1, 4);
    assert_int_equal(opf_database_open(&d, p->path, true, p->diags), OPF_OK);
    opf_database_merge(d, &t, &taken);
    opf_database_close(d);
    assert_int_equal(opf_file_map(&file, p->path, p->diags), OPF_OK);
    const char *path = opf_arena_printf(p->arena, "%s/damaged.db", p->folder);
    char *bytes = opf_arena_copy(p->arena, file.data, file.size);
    for (size_t at = 0; at < file.size; at += 37) {
        bytes[at] = (char)~bytes[at];
        opf_diags_clear(p->diags);
        assert_int_equal(opf_file_write(path, bytes, file.size, p->diags), OPF_OK);
        opf_status status = opf_database_open(&d, path, false, p->diags);
        if (status == OPF_OK && d) status = opf_database_find(d, kernel_a, "a CPU", &found, p->arena);
        if (status != OPF_OK) assert_true(opf_diags_errors(p->diags) > 0);
        opf_database_close(d);
        bytes[at] = (char)~bytes[at];
    }
    opf_file_unmap(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(better_one_stays, set_up, tear_down), cmocka_unit_test_setup_teardown(trials_are_known_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(codes_are_kept_apart, set_up, tear_down), cmocka_unit_test_setup_teardown(older_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_writers, set_up, tear_down),     cmocka_unit_test_setup_teardown(text_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_files, set_up, tear_down),      cmocka_unit_test_setup_teardown(damaged_files, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
