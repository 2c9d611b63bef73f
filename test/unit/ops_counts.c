/* Sizes that a run finds: their symbols, and bounds of sizes that depend on them. */
#include "ops_support.h"

#include "ops/counts.h"

typedef struct fixture {
    opf_module *module;
    opf_pool *pool;
    opf_dim n, found, later; /* a size of an input, one that is found (at most n), one of at most 2*found */
} fixture;

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    f->module = new_module();
    f->pool = f->module->pool;
    opf_node *first = opf_node_new(f->module->graph, "first", "NonZero", "", 17, 0, 0), *second = opf_node_new(f->module->graph, "second", "NonZero", "", 17, 0, 0);
    f->n = opf_sym(f->pool, opf_symbol_new(f->pool, "n", 0, INT64_MAX, 8));
    f->found = opf_sym(f->pool, opf_count_symbol(first, 0, "found", false, f->n));
    f->later = opf_sym(f->pool, opf_count_symbol(second, 0, "later", false, opf_mul(f->pool, f->found, opf_int(f->pool, 2))));
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    free_module(f->module);
    free(f);
    return 0;
}

static void a_node_keeps_its_symbol(void **state) {
    fixture *f = *state;
    const opf_node *first = f->module->counts.data[0].node;
    assert_ptr_equal(opf_sym(f->pool, opf_count_symbol((opf_node *)(uintptr_t)first, 0, "other", false, f->n)), f->found);
    assert_ptr_not_equal(opf_sym(f->pool, opf_count_symbol((opf_node *)(uintptr_t)first, 1, "other", false, f->n)), f->found);
    assert_true(opf_dim_is_counted(f->module, opf_add(f->pool, f->n, f->later)));
    assert_false(opf_dim_is_counted(f->module, f->n));
    assert_null(opf_count_of(f->module, f->n->symbol));
}

static void check_most(fixture *f, opf_dim size, opf_dim most) { assert_ptr_equal(opf_dim_most(f->module, size), most); }

static void bounds_are_free_of_counts(void **state) {
    fixture *f = *state;
    opf_pool *p = f->pool;
    opf_dim two = opf_int(p, 2), seven = opf_int(p, 7), twice = opf_mul(p, f->n, two);
    check_most(f, f->n, f->n);
    check_most(f, f->found, f->n);
    check_most(f, f->later, twice); /* through another count */
    check_most(f, opf_mul(p, f->found, f->later), opf_mul(p, f->n, twice));
    check_most(f, opf_add(p, f->found, seven), opf_add(p, f->n, seven));
    check_most(f, opf_max(p, f->found, f->later), opf_max(p, f->n, twice));
    check_most(f, opf_floordiv(p, f->found, two), opf_floordiv(p, f->n, two));
}

static void what_shrinks_as_a_count_grows_is_largest_at_none(void **state) {
    fixture *f = *state;
    opf_pool *p = f->pool;
    opf_dim ten = opf_int(p, 10);
    check_most(f, opf_sub(p, ten, f->found), ten);
    check_most(f, opf_sub(p, opf_mul(p, f->n, ten), opf_mul(p, f->found, opf_int(p, 3))), opf_mul(p, f->n, ten));
    check_most(f, opf_floordiv(p, ten, f->found), ten); /* a divisor is at least 1 */
    check_most(f, opf_floormod(p, f->found, ten), ten);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_node_keeps_its_symbol, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bounds_are_free_of_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_shrinks_as_a_count_grows_is_largest_at_none, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
