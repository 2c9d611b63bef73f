/* Contractions of 8-bit integers (test/data/integers) give the exact sums on every path: by words of four bytes, by words of two int16. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/vec.h"
#include "loop/machine.h"
#include "opfuse/opfuse.h"
#include "own_cache.h"

#define FOLDER OPF_TEST_DATA "/integers/"

/* Does the tile take it? */
static const struct row { const char *model; bool tile; } rows[] = {
    {"largest", true}, {"beyond", true}, {"shifted", true}, {"two_inputs", true}, {"two_inputs_beyond", true}, {"conv", true},
    {"conv_groups", true}, {"qlinear_conv", true}, {"qlinear_matmul", true},
};
static const char *const machines[] = {"x86-64-v4-vnni", "x86-64-v4", "x86-64-v3", "generic"};

enum { ALL_LARGEST, ALL_LOWEST, MIXED, PATTERNS };

static opf_array made(const opf_port *port, int pattern, int number) {
    int64_t *dims = OPF_ARRAY(arena, int64_t, port->rank + 1), elements = 1;
    bool is_signed = port->dtype == 3; /* int8 */
    for (int k = 0; k < port->rank; k++) elements *= dims[k] = port->dims[k];
    uint8_t *data = OPF_ARRAY(arena, uint8_t, elements + 1);
    for (int64_t k = 0; k < elements; k++)
        data[k] = pattern == MIXED ? (uint8_t)(k * 37 + k / 7 + number * 11) : (pattern == ALL_LARGEST) == is_signed ? (is_signed ? 127 : 0) : is_signed ? 128 : 255;
    return (opf_array){.name = port->name, .dtype = port->dtype, .rank = port->rank, .dims = dims, .data = data};
}

static opf_model *model_for(opf_context **context, const char *name, const char *machine) {
    char path[256];
    opf_model *model = NULL;
    *context = opf_context_new();
    snprintf(path, sizeof path, FOLDER "%s.onnx", name);
    if (opf_context_set(*context, "cache", cache) != OPF_OK || opf_context_set(*context, "machine", machine) != OPF_OK) return NULL;
    return opf_model_load(&model, *context, path) == OPF_OK ? model : NULL;
}

static void check(const struct row *row, const char *machine) {
    opf_context *context;
    opf_model *model = model_for(&context, row->model, machine);
    char *schedules = NULL;
    assert_non_null(model);
    assert_int_equal(opf_model_schedules(model, &schedules), OPF_OK);
    if ((strstr(schedules, "algorithm = tile") != NULL) != row->tile) fail_msg("%s: %s", row->model, schedules);
    opf_string_free(schedules);
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        opf_array inputs[4];
        char *report = NULL;
        for (size_t i = 0; i < opf_model_inputs(model); i++) {
            opf_port port = opf_model_input(model, i);
            inputs[i] = made(&port, pattern, (int)i);
        }
        if (opf_model_verify(model, inputs, &(opf_verify_options){.rtol = 0, .atol = 0}, &report) != OPF_OK)
            fail_msg("%s on %s, pattern %d: %s", row->model, machine, pattern, report ? report : "no report");
        opf_string_free(report);
    }
    opf_model_free(model);
    opf_context_free(context);
}

static bool runs_here(const char *name) {
    for (size_t k = 0; k < opf_machine_count(); k++)
        if (strcmp(opf_machine_at(k)->name, name) == 0) return opf_machine_runs(opf_machine_at(k));
    return false;
}

/* state: the machine */
static void test_integers(void **state) {
    const char *machine = *state;
    if (!runs_here(machine)) skip();
    for (size_t k = 0; k < OPF_COUNT(rows); k++) check(&rows[k], machine);
}

int main(void) {
    struct CMUnitTest tests[OPF_COUNT(machines)];
    for (size_t k = 0; k < OPF_COUNT(machines); k++) tests[k] = (struct CMUnitTest){machines[k], test_integers, NULL, NULL, (void *)machines[k]};
    return cmocka_run_group_tests(tests, make_cache, remove_cache);
}
