/* The machine table: rows by name, the row of this CPU, files, and what is wrong with them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loop/machine.h"

typedef struct fixture { opf_arena *arena; opf_diags *diags; opf_machine machine; } fixture;

static fixture make(void) { return (fixture){.arena = opf_arena_new(), .diags = opf_diags_new()}; }
static void drop(fixture *f) {
    opf_diags_free(f->diags);
    opf_arena_free(f->arena);
}

static void rows_are_sound(void **state) {
    (void)state;
    bool runs = false;
    for (size_t i = 0; i < opf_machine_count(); i++) {
        const opf_machine *row = opf_machine_at(i);
        assert_true(row->lanes == 4 || row->lanes == 8 || row->lanes == 16);
        assert_true(row->vectors == 16 || row->vectors == 32);
        assert_true(row->l1_bytes < row->l2_bytes && row->l2_bytes < row->l3_bytes);
        assert_true(row->l1_bandwidth > row->l2_bandwidth && row->l2_bandwidth > row->l3_bandwidth && row->l3_bandwidth > row->dram_bandwidth);
        runs |= opf_machine_runs(row);
        assert_true(opf_machine_architecture(row) || !*opf_machine_features(row)); /* features are those of an architecture */
        fixture f = make();
        assert_int_equal(opf_machine_choose(&f.machine, row->name, f.arena, f.diags), OPF_OK);
        assert_string_equal(f.machine.name, row->name);
        drop(&f);
    }
    assert_true(runs);
}

static void this_cpu(void **state) {
    (void)state;
    const char *const names[] = {NULL, "", "native"};
    for (int i = 0; i < 3; i++) {
        fixture f = make();
        assert_int_equal(opf_machine_choose(&f.machine, names[i], f.arena, f.diags), OPF_OK);
        assert_true(opf_machine_runs(&f.machine));
        drop(&f);
    }
}

static void rows_of_other_machines_are_foreign(void **state) {
    (void)state;
    for (size_t i = 0; i < opf_machine_count(); i++) {
        opf_machine machine = *opf_machine_at(i);
        assert_int_equal(opf_machine_is_foreign(&machine), !opf_machine_runs(&machine));
        machine.flags = "-mtune=native"; /* from a file, with flags of its own */
        assert_false(opf_machine_is_foreign(&machine));
    }
}

/* Chooses from a file that holds `text`. */
static opf_status from_text(fixture *f, const char *text) {
    char path[] = "/tmp/opf-machine-XXXXXX";
    int file = mkstemp(path);
    assert_true(write(file, text, strlen(text)) == (ssize_t)strlen(text));
    close(file);
    opf_status status = opf_machine_choose(&f->machine, path, f->arena, f->diags);
    unlink(path);
    return status;
}

static void a_file_fills_a_row(void **state) {
    (void)state;
    fixture f = make();
    assert_int_equal(from_text(&f, "{\"base\": \"x86-64-v3\", \"name\": \"mine\", \"l2_bytes\": 1048576, \"flops_per_second\": 1.5e11}"), OPF_OK);
    assert_string_equal(f.machine.name, "mine");
    assert_int_equal(f.machine.l2_bytes, 1048576);
    assert_true(f.machine.flops_per_second == 1.5e11);
    assert_int_equal(f.machine.lanes, 8); /* of the base */
    drop(&f);
}

static void bad_files_get_a_sentence(void **state) {
    (void)state;
    static const char *const texts[] = {
        "", "{", "[]", "{\"base\": \"z80\"}", "{\"speed\": 1}", "{\"lanes\": 7}", "{\"lanes\": \"8\"}", "{\"vectors\": 0}", "{\"l1_bytes\": -1}",
        "{\"name\": 3}", "{\"flops_per_second\": 0}", "{\"vectors\": 24}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fixture f = make();
        assert_int_equal(from_text(&f, texts[i]), OPF_ERROR_INPUT);
        assert_int_equal(opf_diags_errors(f.diags), 1);
        assert_non_null(opf_diags_at(f.diags, 0)->hint);
        drop(&f);
    }
    fixture f = make();
    assert_int_equal(opf_machine_choose(&f.machine, "/no/such/file", f.arena, f.diags), OPF_ERROR_INPUT);
    assert_int_equal(opf_diags_errors(f.diags), 1);
    drop(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_sound), cmocka_unit_test(this_cpu), cmocka_unit_test(rows_of_other_machines_are_foreign), cmocka_unit_test(a_file_fills_a_row), cmocka_unit_test(bad_files_get_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
