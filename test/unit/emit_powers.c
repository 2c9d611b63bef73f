/* Powers of a softmax stay raised (opf_exp_raised_f32) where nothing but their own quotient reads them, and only there (loop/power.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel_case.h"

typedef struct power_case { const char *title, *text; bool exact, raised; } power_case;

#define LARGEST "in x float32 [40, 130]\n stage m float32 [n=40] max [k=130] : x[n, k]\n"
#define POWERS LARGEST " stage e float32 [n=40, k=130] : exp(x[n, k] - m[n])\n"
#define SUM POWERS " stage s float32 [n=40] sum [k=130] : e[n, k]\n"
#define QUOTIENT " stage y float32 [n=40, k=130] : e[n, k] / s[n]\n"

static const power_case cases[] = {
    {"softmax", SUM QUOTIENT " out y", false, true},
    {"a factor behind the quotient", SUM " stage y float32 [n=40, k=130] : e[n, k] / s[n] * x[n, k]\n out y", false, true},
    {"the powers are a result", SUM QUOTIENT " out y\n out e", false, false},
    {"the sum is a result", SUM QUOTIENT " out y\n out s", false, false},
    {"the powers are read beside the quotient", SUM " stage y float32 [n=40, k=130] : e[n, k] / s[n] + e[n, k]\n out y", false, false},
    {"the sum is read beside the quotient", SUM " stage y float32 [n=40, k=130] : e[n, k] / s[n] + log(s[n])\n out y", false, false},
    {"the quotient of sum and power", SUM " stage y float32 [n=40, k=130] : s[n] / e[n, k]\n out y", false, false},
    {"divided by another", SUM " stage y float32 [n=40, k=130] : e[n, k] / m[n]\n out y", false, false},
    {"a sum of something else than the powers", POWERS " stage s float32 [n=40] sum [k=130] : e[n, k] + 1\n" QUOTIENT " out y", false, false},
    {"no sum", POWERS " stage y float32 [n=40, k=130] : e[n, k] * 2\n out y", false, false},
    {"something is summed behind the quotient", SUM QUOTIENT " stage z float32 [n=40] sum [k=130] : y[n, k]\n out z", false, false},
    {"powers of what may be above 0", "in x float32 [40, 130]\n stage e float32 [n=40, k=130] : exp(x[n, k])\n stage s float32 [n=40] sum [k=130] : e[n, k]\n" QUOTIENT " out y", false, false},
    {"exact", SUM QUOTIENT " out y", true, false},
};

static void only_where_divided(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kernel_case c;
        opf_text text = {0};
        case_read(&c, cases[i].title, cases[i].text);
        if (cases[i].exact) c.module->accuracy = OPF_ACCURACY_EXACT;
        if (opf_nest_schedule(&c.nest, &c.group, opf_machine_named("x86-64-v3")) != OPF_OK) case_fail(&c, "no schedule");
        if (opf_emit_kernel_body(c.nest, &text) != OPF_OK) case_fail(&c, "no kernel");
        if ((strstr(text.data, "opf_exp_raised_f32") != NULL) != cases[i].raised) case_fail(&c, "powers are %sraised in\n%s", cases[i].raised ? "not " : "", text.data);
        opf_text_free(&text);
        case_free(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_where_divided)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
