/* Patterns on graphs: which matches there are and which count, what becomes of them under the policies, near misses. */
#include "fusion.h"

#include "pattern/pattern.h"

typedef struct fixture {
    opf_diags *diags;
    opf_arena *arena;
    opf_module *module;
    opf_matches *matches;
} fixture;

/* The model as read, and the patterns on it; then the passes of policy best. */
static fixture match(const char *file, const char *text) {
    fixture f = {.diags = opf_diags_new(), .arena = opf_arena_new()};
    f.module = load("grouping", file, OPF_POLICY_NONE, f.diags);
    opf_patterns *patterns = opf_patterns_new(f.arena);
    if (opf_patterns_add(patterns, text, "patterns", f.diags) != OPF_OK)
        print_diags(f.diags);
    assert_int_equal(opf_diags_errors(f.diags), 0);
    f.matches = opf_patterns_match(patterns, f.module, true);
    return f;
}

static void forget(fixture *f) {
    opf_module_free(f->module);
    opf_diags_free(f->diags);
    opf_arena_free(f->arena);
}

/* "a + b taken; c + d refused: …" of all matches, in order. */
static void assert_matches(const fixture *f, const char *expected) {
    static const char *const states[] = {"taken", "overlapped", "refused"};
    opf_text text = {0};
    for (size_t m = 0; m < f->matches->list.count; m++) {
        const opf_match *one = f->matches->list.data[m];
        for (int k = 0; k < one->n_nodes; k++)
            opf_text_printf(&text, "%s%s", k ? "+" : m ? "; " : "", one->nodes[k]->name);
        opf_text_printf(&text, " %s", states[one->state]);
    }
    assert_string_equal(opf_text_string(&text), expected);
    opf_text_free(&text);
}

static const struct { const char *model, *patterns, *matches; } cases[] = {
    {"softmax_decomposed.onnx", "pattern p prefer chain Sub -> Exp", "sub+exp taken"},
    {"softmax_decomposed.onnx", "pattern p forbid chain Exp -> Div", "exp+div taken"},
    /* exp is needed by div too, which is no step of the chain */
    {"softmax_decomposed.onnx", "pattern p force chain Exp -> ReduceSum", "exp+sum refused"},
    {"softmax_decomposed.onnx", "pattern p force chain e: Exp -> s: ReduceSum results e, s", "exp+sum taken"},
    {"softmax_decomposed.onnx", "pattern p force chain Sub -> Exp -> ReduceSum -> Div", "sub+exp+sum+div taken"},
    {"softmax_decomposed.onnx", "pattern p prefer chain Exp -> Div[at 1]", ""},
    {"softmax_decomposed.onnx", "pattern p prefer chain Exp -> Div[at 0]", "exp+div refused"},
    {"softmax_decomposed.onnx", "pattern p force chain Sub -> Exp pattern q force priority 1 chain Exp -> ReduceSum -> Div", "exp+sum+div taken; sub+exp overlapped"},
    {"softmax_decomposed.onnx", "pattern p forbid chain Sub -> Exp pattern q forbid chain Exp -> Div", "sub+exp taken; exp+div taken"},
    {"softmax_decomposed.onnx", "pattern p forbid chain Sub -> Exp pattern q prefer chain Sub -> Exp", "sub+exp taken; sub+exp overlapped"},
    {"softmax_decomposed.onnx", "pattern p prefer chain Sub -> Exp -> Relu?", "sub+exp taken"},
    {"softmax_decomposed.onnx", "pattern p prefer chain Sub -> Relu? -> Exp", "sub+exp taken"},
    {"softmax_decomposed.onnx", "pattern p prefer chain Sub|Exp -> *[rank >= 2, type = float16]", ""},
    {"softmax_decomposed.onnx", "pattern p prefer function F (x) => (y) { m = ReduceMax <axes = [-1]> (x) s = Sub (x, m) y = Exp (s) }", "max+sub+exp taken"},
    {"softmax_decomposed.onnx", "pattern p prefer function F (x) => (y) { m = ReduceMax <axes = [-1], keepdims = 1> (x) s = Sub (x, m) y = Exp (s) }", "max+sub+exp taken"},
    {"softmax_decomposed.onnx", "pattern p prefer function F (x) => (y) { m = ReduceMax <axes = [-1], keepdims = 0> (x) s = Sub (x, m) y = Exp (s) }", ""},
    {"softmax_decomposed.onnx", "pattern p prefer function F (x, z) => (y) { m = ReduceMax <axes = [-1]> (x) s = Sub (z, m) y = Exp (s) }", "max+sub+exp taken"},
    {"softmax_decomposed.onnx", "pattern p prefer function F (x) => (y) { s = Sub (x, x) y = Exp (s) }", ""},
    {"resnet_basic_block.onnx", "pattern p force chain Conv -> BatchNormalization -> Relu", "c1+b1+r1 taken"},
    {"resnet_basic_block.onnx", "pattern p force function F (x, y) => (z) { s = Add (y, x) z = Relu (s) }", "add+r2 taken"},
    /* both directions of the block at once: add would wait for what reads r0 */
    {"resnet_basic_block.onnx", "pattern p force chain r: Relu -> a: Add results r, a", "r0+add refused"},
};

static void matches_are_found_and_settled(void **unused) {
    (void)unused;
    for (size_t c = 0; c < OPF_COUNT(cases); c++) {
        fixture f = match(cases[c].model, cases[c].patterns);
        print_message("%s\n", cases[c].patterns);
        assert_matches(&f, cases[c].matches);
        for (size_t m = 0; m < f.matches->list.count; m++)
            assert_int_equal(f.matches->list.data[m]->reason != NULL, f.matches->list.data[m]->state != OPF_MATCH_TAKEN);
        forget(&f);
    }
}

static void misses_say_where_they_stopped(void **unused) {
    (void)unused;
    static const struct { const char *patterns, *wanted, *at, *reason; } misses[] = {
        {"pattern p prefer chain Sub -> Exp -> Add", "Add", "sum", "it is ReduceSum"},
        {"pattern p prefer chain Sub -> Exp[rank = 7]", "Exp", "exp", "`rank = 7` does not hold"},
        {"pattern p prefer chain Sub -> Exp -> Div[at 1]", "Div", "div", "does not read 'exp' as operand 1"},
        {"pattern p prefer chain Div -> Add", "Add", NULL, "no node of this graph reads the result of 'div'"},
        {"pattern p prefer chain ReduceSum -> Div[input 1 constant]", "Div", "div", "is no constant"},
        {"pattern p prefer function F (x) => (y) { s = Sub (x, x) y = Exp (s) }", "Sub", "sub", "operands or results are not those"},
        {"pattern p prefer function F (x, m) => (y) { s = Sub (x, m) e = Log (s) y = Exp (e) }", "Log", "sub", "it is Sub"},
    };
    for (size_t c = 0; c < OPF_COUNT(misses); c++) {
        fixture f = match("softmax_decomposed.onnx", misses[c].patterns);
        assert_int_equal(f.matches->list.count, 0);
        assert_int_equal(f.matches->misses.count, 1);
        const opf_near_miss *miss = &f.matches->misses.data[0];
        assert_string_equal(miss->wanted, misses[c].wanted);
        assert_string_equal(miss->at ? miss->at->name : "none", misses[c].at ? misses[c].at : "none");
        if (!strstr(miss->reason, misses[c].reason))
            fail_msg("'%s' does not say '%s'", miss->reason, misses[c].reason);
        forget(&f);
    }
}

/* ---- in groups ---- */

static const opf_group *group_with(const opf_fusion *fusion, const char *name) {
    for (size_t g = 0; g < fusion->groups.count; g++)
        for (size_t k = 0; k < fusion->groups.data[g]->nodes.count; k++)
            if (strcmp(fusion->groups.data[g]->nodes.data[k]->name, name) == 0)
                return fusion->groups.data[g];
    return NULL;
}

static const opf_edge *edge_of(const opf_fusion *fusion, const char *from, const char *to) {
    for (size_t e = 0; e < fusion->edges.count; e++)
        if (strcmp(fusion->edges.data[e].from->name, from) == 0 && strcmp(fusion->edges.data[e].to->name, to) == 0)
            return &fusion->edges.data[e];
    return NULL;
}

static void groups_follow_patterns(void **unused) {
    (void)unused;
    static const struct { const char *model, *patterns, *a, *b; bool together; const char *rule; size_t nodes; } expected[] = {
        {"softmax_decomposed.onnx", "pattern p force chain Sub -> Exp -> ReduceSum -> Div", "exp", "div", true, "pattern:p", 4},
        {"softmax_decomposed.onnx", "pattern p force chain Sub -> Exp -> ReduceSum -> Div", "max", "sub", false, "pattern:p", 1},
        {"softmax_decomposed.onnx", "pattern p prefer chain Sub -> Exp", "sub", "exp", true, "pattern:p", 5},
        {"softmax_decomposed.onnx", "pattern p forbid chain ReduceMax -> Sub", "max", "sub", false, "pattern:p", 1},
        {"softmax_decomposed.onnx", "pattern p forbid chain Exp", "sub", "exp", false, "pattern:p", 2},
        {"resnet_basic_block.onnx", "pattern p forbid chain Conv -> BatchNormalization", "r1", "c2", false, "before-anchor", 3},
        {"resnet_basic_block.onnx", "pattern p force chain Relu -> Conv", "r1", "c2", true, "pattern:p", 2},
    };
    for (size_t c = 0; c < OPF_COUNT(expected); c++) {
        fixture f = match(expected[c].model, expected[c].patterns);
        print_message("%s\n", expected[c].patterns);
        const opf_fusion *fusion = fuse(f.module, &(opf_fuse_options){.policy = c == 5 ? OPF_POLICY_TVM : OPF_POLICY_BEST, .matches = f.matches}, f.diags);
        const opf_group *a = group_with(fusion, expected[c].a), *b = group_with(fusion, expected[c].b);
        assert_int_equal(a == b, expected[c].together);
        const opf_edge *edge = edge_of(fusion, expected[c].a, expected[c].b);
        assert_non_null(edge);
        assert_string_equal(edge->rule, expected[c].rule);
        assert_int_equal(edge->verdict, expected[c].together ? OPF_FUSED : OPF_REFUSED);
        if (c < 5)
            assert_int_equal(a->nodes.count, expected[c].nodes);
        forget(&f);
    }
}

/* What no rule makes one loop nest of is refused with the rule's reason, and the nodes are fused as without the pattern. */
static void impossible_kernels_are_refused(void **unused) {
    (void)unused;
    fixture f = match("resnet_basic_block.onnx", "pattern p force chain Conv -> BatchNormalization -> Relu -> Conv");
    assert_matches(&f, "c1+b1+r1+c2 taken");
    const opf_fusion *fusion = fuse(f.module, &(opf_fuse_options){.policy = OPF_POLICY_BEST, .matches = f.matches}, f.diags);
    assert_int_equal(f.matches->list.data[0]->state, OPF_MATCH_REFUSED);
    assert_ptr_not_equal(group_with(fusion, "c1"), group_with(fusion, "c2"));
    assert_ptr_equal(group_with(fusion, "c1"), group_with(fusion, "r1"));
    assert_string_equal(edge_of(fusion, "r1", "c2")->rule, "pattern:p");
    assert_non_null(strstr(edge_of(fusion, "r1", "c2")->reason, f.matches->list.data[0]->reason));
    assert_int_equal(opf_diags_count(f.diags), 1); /* a warning */
    assert_int_equal(opf_diags_errors(f.diags), 0);
    forget(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(matches_are_found_and_settled), cmocka_unit_test(misses_say_where_they_stopped), cmocka_unit_test(groups_follow_patterns),
                                       cmocka_unit_test(impossible_kernels_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
