/* The prelude as plain C has it: conditions that are decided beforehand, and no more definitions than are needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/emit.h"
#include "emit/needed.h"

static void expect_resolved(const char *text, const char *want) {
    const opf_known known = {.lanes = 8, .exact = false, .included = "#ifndef OPF_HOOK_H\n#define OPF_HOOK_H\n#endif\n"};
    opf_text got = {0};
    opf_emit_resolved(text, &known, &got);
    assert_string_equal(opf_text_string(&got), want);
    opf_text_free(&got);
}

static void what_is_known_is_decided(void **state) {
    (void)state;
    expect_resolved("#if OPF_LANES == 8\na\n#else\nb\n#endif\n", "a\n");
    expect_resolved("#if OPF_LANES == 16\na\n#elif OPF_LANES >= 8 /* or more */\nb\n#else\nc\n#endif\nd\n", "b\nd\n");
    expect_resolved("#ifdef OPF_EXACT\na\n#else\nb\n#endif\n#ifndef OPF_EXACT\nc\n#endif\n#ifndef OPF_LANES\nd\n#endif\n", "b\nc\n");
    expect_resolved("#if defined(X)\na\n#elif OPF_LANES == 4 && defined(Y)\nb\n#elif OPF_LANES == 8 && defined(Z)\nc\n#else\nd\n#endif\n", "#if defined(X)\na\n#elif defined(Z)\nc\n#else\nd\n#endif\n");
    expect_resolved("#if defined(X)\na\n#elif OPF_LANES == 8\nb\n#elif defined(Y)\nc\n#else\nd\n#endif\n", "#if defined(X)\na\n#else\nb\n#endif\n");
    expect_resolved("#if OPF_LANES == 4\n#if defined(X)\na\n#else\nb\n#endif\n#elif defined(Y)\nc\n#endif\n", "#if defined(Y)\nc\n#endif\n");
    expect_resolved("#if (defined(X) || defined(Y)) && !defined(OPF_EXACT)\na\n#endif\n", "#if (defined(X) || defined(Y))\na\n#endif\n");
}

static void guards_are_gone(void **state) {
    (void)state;
    expect_resolved("#ifndef OPF_A_H\n#define OPF_A_H\na\n#endif\n#ifndef OPF_B_H\n#define OPF_B_H\n#ifndef OPF_A_H\n#include \"a.h\"\n#endif\nb\n#endif\n#ifndef OPF_A_H\nagain\n#endif\n", "a\nb\n");
    expect_resolved("#ifndef OPF_HOOK_H\n#define OPF_HOOK_H\nhook\n#endif\nrest\n", "rest\n");
}

static void expect_needed(const char *text, const char *needing, const char *want) {
    opf_text got = {0};
    opf_emit_needed(text, needing, &got);
    assert_string_equal(opf_text_string(&got), want);
    opf_text_free(&got);
}

static const char some[] =
    "/* About all of it. */\n\n"
    "#include <stdint.h>\n\n"
    "/* One. */\n"
    "static inline int opf_one(int x) { return x; } /* opf_three */\n"
    "static inline int opf_two(int x,\n                          int y) {\n"
    "#if defined(A)\n    return opf_one(x) + '{';\n#else\n    return y;\n#endif\n}\n\n"
    "#define OPF_MAKE(name, T)              \\\n"
    "    static inline T opf_##name##_of(T x) { \\\n        return opf_two(x, 1); \\\n    }\n"
    "OPF_MAKE(a, int) OPF_MAKE(b, long)\n"
    "OPF_MAKE(c, char)\n"
    "#undef OPF_MAKE\n\n"
    "/* Types. */\n\n"
    "typedef struct opf_pair {\n    int x; /* } */\n} opf_pair;\n"
    "enum { OPF_FIRST, OPF_SECOND };\n"
    "#if defined(B)\ntypedef int opf_word;\n#else\ntypedef long opf_word;\n#endif\n";

static void what_is_needed_stays(void **state) {
    (void)state;
    expect_needed(some, "nothing", "#include <stdint.h>\n");
    expect_needed(some, "opf_one(1)", "#include <stdint.h>\n\n/* About all of it. */\n\n/* One. */\nstatic inline int opf_one(int x) { return x; } /* opf_three */\n");
    expect_needed(some, "OPF_SECOND", "#include <stdint.h>\n\n/* Types. */\n\nenum { OPF_FIRST, OPF_SECOND };\n");
    expect_needed(some, "opf_word w; opf_pair p;", "#include <stdint.h>\n\n/* Types. */\n\ntypedef struct opf_pair {\n    int x; /* } */\n} opf_pair;\n"
                                                   "#if defined(B)\ntypedef int opf_word;\n#else\ntypedef long opf_word;\n#endif\n");
}

/* What a macro makes is found, and what its body needs. */
static void macros_are_looked_into(void **state) {
    (void)state;
    opf_text got = {0};
    opf_emit_needed(some, "opf_c_of(1)", &got);
    assert_non_null(strstr(got.data, "OPF_MAKE(c, char)\n#undef OPF_MAKE\n"));
    assert_null(strstr(got.data, "OPF_MAKE(a"));
    assert_non_null(strstr(got.data, "opf_two(int x,"));
    assert_non_null(strstr(got.data, "opf_one(int x)"));
    assert_null(strstr(got.data, "opf_pair"));
    opf_text_free(&got);
}

/* Of the prelude itself: every function alone, with what it needs, is a file that compiles without a warning. */
static int compile(const char *text) {
    char name[] = "/tmp/opf_needed_XXXXXX.c", command[256];
    int file = mkstemps(name, 2);
    assert_true(file >= 0);
    FILE *out = fdopen(file, "w");
    fputs(text, out);
    fclose(out);
    snprintf(command, sizeof command, "cc -std=c11 -Wall -Wextra -Werror -Wno-psabi -Wno-unused-function -fsyntax-only %s", name);
    int status = system(command);
    remove(name);
    return status;
}

static void the_prelude_falls_into_its_parts(void **state) {
    (void)state;
    static const char *const parts[] = {"opf_hook", "opf_entry_table", "opf_share", "opf_exp_f32", "opf_pow_f32", "opf_min_i64", "opf_floordiv_i64", "opf_sum_u8", "opf_max_reduce_f32", "opf_sum_f64",
                                        "opf_transpose_f32", "opf_store_past", "opf_half_of_f32", "opf_vsum_lanes", "opf_vlarger", "opf_pack_panel", "opf_dot_f32", "opf_round_f32"};
    for (int lanes = 4; lanes <= 16; lanes *= 2)
        for (int exact = 0; exact < 2; exact++) {
            const opf_known known = {.lanes = lanes, .exact = exact, .included = ""};
            opf_text whole = {0}, resolved = {0};
            opf_text_printf(&whole, "%s%s", opf_prelude_abi(), opf_prelude_kernels());
            opf_emit_resolved(whole.data, &known, &resolved);
            for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
                opf_text file = {0};
                opf_text_printf(&file, "#define OPF_LANES %d\n%s", lanes, exact ? "#define OPF_EXACT 1\n" : "");
                opf_emit_needed(resolved.data, parts[i], &file);
                if (compile(file.data)) fail_msg("%s with %d lanes does not stand alone:\n%s", parts[i], lanes, file.data);
                assert_true(file.length < whole.length / 2);
                opf_text_free(&file);
            }
            opf_text_free(&whole);
            opf_text_free(&resolved);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_known_is_decided), cmocka_unit_test(guards_are_gone),      cmocka_unit_test(what_is_needed_stays),
        cmocka_unit_test(macros_are_looked_into),   cmocka_unit_test(the_prelude_falls_into_its_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
