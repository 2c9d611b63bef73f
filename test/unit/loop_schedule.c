/* Schedules as text, and what they are met by. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "loop/schedule.h"

static void round_trip(void **state) {
    (void)state;
    opf_arena *arena = opf_arena_new();
    opf_schedule a, b;
    opf_text text = {0};
    static const char given[] = "algorithm=winograd-4 tile_rows=8 depth_pass=all prefetch=none order=columns-fastest compiler=clang ";
    assert_null(opf_schedule_parse(&a, given, arena));
    assert_int_equal(a.at[OPF_KNOB_ALGORITHM], OPF_BY_WINOGRAD_4);
    assert_int_equal(a.at[OPF_KNOB_DEPTH_PASS], OPF_KNOB_ALL);
    assert_string_equal(opf_schedule_compiler(&a), "clang");
    opf_schedule_print(&a, "=", " ", &text);
    assert_null(opf_schedule_parse(&b, opf_text_string(&text), arena));
    assert_memory_equal(&a, &b, sizeof a);
    opf_text_free(&text);
    opf_arena_free(arena);
}

static void all_knobs_have_names(void **state) {
    (void)state;
    for (int a = 0; a < OPF_KNOBS; a++)
        for (int b = 0; b < a; b++) assert_string_not_equal(opf_knob_name((opf_knob)a), opf_knob_name((opf_knob)b));
}

static void wrong_texts(void **state) {
    (void)state;
    static const struct { const char *text, *part; } wrong[] = {
        {"unroll", "no key=value"},         {"unroll=0", "from 1 to"},      {"unroll=x", "from 1 to"},    {"unroll=17", "from 1 to"},
        {"unroll=2 unroll=2", "twice"},     {"algorithm=magic", "one of"},  {"depth_pass=none", "or all"}, {"speed=9", "no choice 'speed'"},
        {"unroll=99999999999999999999", "from 1 to"},
    };
    opf_arena *arena = opf_arena_new();
    for (size_t i = 0; i < OPF_COUNT(wrong); i++) {
        opf_schedule schedule;
        const char *problem = opf_schedule_parse(&schedule, wrong[i].text, arena);
        assert_non_null(problem);
        if (!strstr(problem, wrong[i].part)) fail_msg("'%s': %s", wrong[i].text, problem);
    }
    opf_arena_free(arena);
}

static void what_is_unmet(void **state) {
    (void)state;
    opf_schedule wanted = {{0}}, chosen = {{0}};
    chosen.at[OPF_KNOB_UNROLL] = 2;
    assert_int_equal(opf_schedule_unmet(&wanted, &chosen), -1); /* nothing is asked for */
    wanted.at[OPF_KNOB_UNROLL] = 2;
    assert_int_equal(opf_schedule_unmet(&wanted, &chosen), -1);
    wanted.at[OPF_KNOB_UNROLL] = 4;
    assert_int_equal(opf_schedule_unmet(&wanted, &chosen), OPF_KNOB_UNROLL);
    assert_true(opf_schedule_same_bits(&wanted, &chosen)); /* how a loop is unrolled moves no bit */
    wanted.at[OPF_KNOB_ALGORITHM] = OPF_BY_WINOGRAD_2;
    assert_false(opf_schedule_same_bits(&wanted, &chosen));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(round_trip), cmocka_unit_test(all_knobs_have_names), cmocka_unit_test(wrong_texts), cmocka_unit_test(what_is_unmet)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
