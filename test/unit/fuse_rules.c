/* The table of rules: every rule has an id of its own and a sentence, every refusal says what would allow it, and sentences use
 * no field that is not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fuse/rules.h"

static const opf_rule_words words = {
    .from = "F", .from_kind = "FK", .from_op = "FO", .to = "T", .to_kind = "TK", .value = "V", .source = "S", .sink = "K",
    .blocker = "B", .met = "M", .blocker_op = "BO", .users = "U", .pattern = "N", .why = "W", .off = "R", .place = "P", .limit = 7, .bytes = 9,
};

static void check_sentence(const char *sentence) {
    opf_text text = {0};
    opf_words_print(sentence, &words, &text);
    assert_true(text.length > 0);
    if (strchr(opf_text_string(&text), '?') || strchr(opf_text_string(&text), '{'))
        fail_msg("a field of this sentence is not known: %s", sentence);
    opf_text_free(&text);
}

static void rules_are_whole(void **unused) {
    (void)unused;
    for (int r = 0; r < OPF_RULE_COUNT; r++) {
        assert_non_null(opf_rules[r].id);
        assert_non_null(opf_rules[r].sentence);
        check_sentence(opf_rules[r].sentence);
        for (int other = 0; other < r; other++)
            assert_string_not_equal(opf_rules[r].id, opf_rules[other].id);
    }
}

static void refusals_have_remedies(void **unused) {
    (void)unused;
    for (int r = 0; r < OPF_RULE_COUNT; r++) {
        bool refused = opf_rules[r].verdict == OPF_REFUSED && r != OPF_RULE_SINGLE;
        if (refused != (opf_remedies[r].sentence != NULL))
            fail_msg("rule %s %s", opf_rules[r].id, refused ? "refuses and names no remedy (remedies.c)" : "refuses nothing and names a remedy");
        if (refused)
            check_sentence(opf_remedies[r].sentence);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rules_are_whole), cmocka_unit_test(refusals_have_remedies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
