/* Plans over graphs made by hand: where values live, which steps there are, how the workspace is shared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "plan/program.h"

typedef struct fixture {
    opf_diags *diags;
    opf_module *module;
    opf_graph *graph;
    opf_fusion *fusion;
    OPF_VEC(const opf_nest *) nests;
    opf_machine machine;
    opf_dim length;            /* of every value made by `value` */
} fixture;

static int set_up(void **state) {
    static fixture f;
    memset(&f, 0, sizeof f);
    f.diags = opf_diags_new();
    f.module = opf_module_new(f.diags, "model.onnx");
    f.graph = f.module->graph = opf_graph_new(f.module, "main", NULL);
    f.fusion = OPF_NEW(f.module->arena, opf_fusion);
    f.fusion->module = f.module;
    f.fusion->graph = f.graph;
    f.machine = (opf_machine){.name = "generic", .flags = "", .lanes = 4, .vectors = 16};
    f.length = opf_int(f.module->pool, 100); /* 400 bytes, 448 padded */
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    opf_module_free(f->module);
    opf_diags_free(f->diags);
    return 0;
}

static opf_value *value(fixture *f, const char *name) {
    opf_value *v = opf_value_new(f->graph, opf_intern(f->module->names, name));
    v->dtype = OPF_FLOAT32;
    v->rank = 1;
    v->dims = OPF_ARRAY(f->module->arena, opf_dim, 1);
    v->dims[0] = f->length;
    return v;
}

static opf_value *input(fixture *f, const char *name) {
    opf_value *v = value(f, name);
    opf_graph_add_input(f->graph, v);
    return v;
}

/* A group with one node: `to` from `from`. The rule doubles as the text of its kernel. */
static opf_group *group(fixture *f, opf_step_kind step, const char *text, opf_value *to, int n, opf_value *const *from) {
    opf_arena *arena = f->module->arena;
    opf_group *g = OPF_NEW(arena, opf_group);
    opf_node *node = opf_node_new(f->graph, NULL, "Op", "", 13, n, 1);
    for (int i = 0; i < n; i++) {
        opf_node_set_input(node, i, from[i]);
        OPF_PUSH(arena, &g->stages.inputs, from[i]);
    }
    if (to->graph->module == f->module && !to->producer) opf_node_set_output(node, 0, to);
    g->id = (int)f->fusion->groups.count;
    g->step = step;
    g->rule = text;
    OPF_PUSH(arena, &g->nodes, node);
    opf_stage *stage = OPF_NEW(arena, opf_stage);
    *stage = (opf_stage){.name = "stage", .n_axes = 1, .extents = (const opf_expr **)to->dims, .dtype = to->dtype, .accumulator = to->dtype};
    OPF_PUSH(arena, &g->stages.list, stage);
    OPF_PUSH(arena, &g->results, (opf_result){to, 0});
    return g;
}

static opf_nest *nest_of(fixture *f, const opf_group *g) {
    opf_nest *nest = OPF_NEW(f->module->arena, opf_nest);
    *nest = (opf_nest){.group = g, .pool = f->module->pool, .machine = &f->machine, .units = f->length, .scratch_bytes = opf_int(f->module->pool, 0), .flops = 100, .bytes = 800};
    return nest;
}

static opf_nest *kernel(fixture *f, const char *text, opf_value *to, int n, opf_value *const *from) {
    opf_group *g = group(f, OPF_STEP_KERNEL, text, to, n, from);
    opf_nest *nest = nest_of(f, g);
    OPF_PUSH(f->module->arena, &f->fusion->groups, g);
    OPF_PUSH(f->module->arena, &f->nests, nest);
    return nest;
}

static void no_kernel(fixture *f, opf_step_kind step, opf_value *to, opf_value *from) {
    OPF_PUSH(f->module->arena, &f->fusion->groups, group(f, step, "", to, 1, &from));
    OPF_PUSH(f->module->arena, &f->nests, NULL);
}

static opf_status body(const opf_nest *nest, opf_text *out) {
    opf_text_add(out, nest->group->rule);
    return OPF_OK;
}


static opf_program *planned(fixture *f, bool tap_all) {
    opf_program *program = NULL;
    opf_plan_options options = {.machine = &f->machine, .kernel_body = body, .tap_all = tap_all};
    assert_int_equal(opf_plan(&program, f->fusion, f->nests.data, &options), OPF_OK);
    return program;
}

static const opf_buffer *argument(const opf_program *program, int step, int position) {
    return opf_program_storage(program, program->steps.data[step].buffers[position]);
}

static void is_at(const opf_program *program, int step, int position, opf_buffer_kind kind, int index) {
    const opf_buffer *b = argument(program, step, position);
    assert_int_equal(b->kind, kind);
    assert_int_equal(b->index, index);
}

static int64_t slot_bytes(const opf_program *program) {
    int64_t bytes = 0;
    if (program->slots.data[0].sizes.count) assert_true(opf_is_int(program->slots.data[0].sizes.data[0], &bytes));
    return bytes;
}

/* ---- where values live ---- */

static void an_output_is_written_in_place(void **state) {
    fixture *f = *state;
    opf_value *x = input(f, "x"), *y = value(f, "y"), *z = value(f, "z");
    kernel(f, "a", y, 1, &x);
    kernel(f, "b", z, 1, &y);
    opf_graph_add_output(f->graph, z, NULL);
    opf_program *program = planned(f, false);
    assert_int_equal(program->steps.count, 2);
    is_at(program, 0, 0, OPF_BUFFER_INPUT, 0);
    is_at(program, 0, 1, OPF_BUFFER_WORKSPACE, 0);
    is_at(program, 1, 1, OPF_BUFFER_OUTPUT, 0);
    assert_int_equal(slot_bytes(program), 448);
}

static void an_output_in_mid_chain_is_read_from_its_place(void **state) {
    fixture *f = *state;
    opf_value *x = input(f, "x"), *y = value(f, "y"), *z = value(f, "z");
    kernel(f, "a", y, 1, &x);
    kernel(f, "b", z, 1, &y);
    opf_graph_add_output(f->graph, y, NULL);
    opf_graph_add_output(f->graph, z, NULL);
    opf_program *program = planned(f, false);
    is_at(program, 1, 0, OPF_BUFFER_OUTPUT, 0);
    is_at(program, 1, 1, OPF_BUFFER_OUTPUT, 1);
    assert_int_equal(slot_bytes(program), 0);
}

static void what_is_output_twice_is_copied(void **state) {
    fixture *f = *state;
    opf_value *x = input(f, "x"), *y = value(f, "y");
    kernel(f, "a", y, 1, &x);
    opf_graph_add_output(f->graph, y, "first");
    opf_graph_add_output(f->graph, y, "second");
    opf_program *program = planned(f, false);
    assert_int_equal(program->steps.count, 2);
    is_at(program, 0, 1, OPF_BUFFER_OUTPUT, 0);
    assert_int_equal(program->steps.data[1].kind, OPF_RUN_COPY);
    is_at(program, 1, 0, OPF_BUFFER_OUTPUT, 1);
    is_at(program, 1, 1, OPF_BUFFER_OUTPUT, 0);
}

static void inputs_and_constants_as_outputs_are_copied(void **state) {
    fixture *f = *state;
    const char *why;
    opf_value *x = input(f, "x");
    opf_value *c = opf_value_constant(f->graph, opf_intern(f->module->names, "c"), opf_tensor_zeros(f->module->arena, OPF_FLOAT32, 1, (int64_t[]){3}, &why));
    opf_graph_add_output(f->graph, x, NULL);
    opf_graph_add_output(f->graph, c, NULL);
    opf_program *program = planned(f, false);
    assert_int_equal(program->steps.count, 2);
    is_at(program, 0, 0, OPF_BUFFER_OUTPUT, 0);
    is_at(program, 0, 1, OPF_BUFFER_INPUT, 0);
    is_at(program, 1, 1, OPF_BUFFER_WEIGHT, 0);
    assert_true(program->weights.data[0].read_by_steps);
}

static void a_view_of_a_result_as_output_needs_no_copy(void **state) {
    fixture *f = *state;
    opf_value *x = input(f, "x"), *y = value(f, "y"), *z = value(f, "z"), *w = value(f, "w");
    kernel(f, "a", y, 1, &x);
    no_kernel(f, OPF_STEP_VIEW, z, y);
    no_kernel(f, OPF_STEP_VIEW, w, z);
    opf_graph_add_output(f->graph, w, NULL);
    opf_program *program = planned(f, false);
    assert_int_equal(program->steps.count, 1);
    is_at(program, 0, 1, OPF_BUFFER_OUTPUT, 0);
}

static void a_view_of_an_input_as_output_is_copied(void **state) {
    fixture *f = *state;
    opf_value *x = input(f, "x"), *y = value(f, "y");
    no_kernel(f, OPF_STEP_VIEW, y, x);
    opf_graph_add_output(f->graph, y, NULL);
    opf_program *program = planned(f, false);
    assert_int_equal(program->steps.count, 1);
    assert_int_equal(program->steps.data[0].kind, OPF_RUN_COPY);
    is_at(program, 0, 1, OPF_BUFFER_INPUT, 0);
}

static void known_values_are_filled_or_constants(void **state) {
    fixture *f = *state;
    opf_pool *pool = f->module->pool;
    const opf_symbol *n = opf_symbol_new(pool, "n", 0, INT64_MAX, 64);
    opf_value *x = input(f, "x"), *size = value(f, "size"), *fixed = value(f, "fixed"), *y = value(f, "y");
    size->dtype = fixed->dtype = OPF_INT64;
    size->dims[0] = fixed->dims[0] = opf_int(pool, 1);
    size->content_count = fixed->content_count = 1;
    size->content = OPF_ARRAY(f->module->arena, const opf_expr *, 1);
    fixed->content = OPF_ARRAY(f->module->arena, const opf_expr *, 1);
    size->content[0] = opf_sym(pool, n);
    fixed->content[0] = opf_int(pool, 5);
    no_kernel(f, OPF_STEP_FOLDED, size, x);
    no_kernel(f, OPF_STEP_FOLDED, fixed, x);
    kernel(f, "a", y, 3, (opf_value *[]){x, size, fixed});
    opf_graph_add_output(f->graph, y, NULL);
    opf_graph_add_output(f->graph, size, NULL);
    opf_program *program = planned(f, false);
    assert_int_equal(program->steps.count, 2);
    assert_int_equal(program->steps.data[0].kind, OPF_RUN_FILL);
    is_at(program, 0, 0, OPF_BUFFER_OUTPUT, 1);
    is_at(program, 1, 1, OPF_BUFFER_OUTPUT, 1);
    is_at(program, 1, 2, OPF_BUFFER_WEIGHT, 0);
    assert_int_equal(opf_tensor_get_int(program->weights.data[0].tensor, 0), 5);
}

/* ---- kernels ---- */

static void equal_texts_are_one_kernel(void **state) {
    fixture *f = *state;
    opf_value *x = input(f, "x"), *y = value(f, "y"), *z = value(f, "z"), *w = value(f, "w");
    kernel(f, "same", y, 1, &x);
    kernel(f, "other", z, 1, &y);
    kernel(f, "same", w, 1, &z);
    opf_graph_add_output(f->graph, w, NULL);
    opf_program *program = planned(f, false);
    assert_int_equal(program->kernels.count, 2);
    assert_int_equal(program->steps.data[0].kernel, program->steps.data[2].kernel);
    assert_int_equal(strncmp(program->kernels.data[0].name, "op_", 3), 0);
    assert_string_not_equal(program->kernels.data[0].name, program->kernels.data[1].name);
}

static void taps_change_no_kernel(void **state) {
    fixture *f = *state;
    opf_value *x = input(f, "x"), *y = value(f, "y"), *z = value(f, "z");
    kernel(f, "a", y, 1, &x);
    kernel(f, "b", z, 1, &y);
    opf_graph_add_output(f->graph, z, NULL);
    opf_program *plain = planned(f, false), *tapped = planned(f, true);
    assert_int_equal(tapped->outputs.count, 2);
    assert_ptr_equal(tapped->outputs.data[1], y);
    is_at(tapped, 0, 1, OPF_BUFFER_OUTPUT, 1);
    assert_int_equal(plain->kernels.count, tapped->kernels.count);
    for (size_t i = 0; i < plain->kernels.count; i++) assert_string_equal(plain->kernels.data[i].name, tapped->kernels.data[i].name);
}

/* ---- workspace ---- */

/* No two values that live at once overlap. */
static void is_sound(const opf_program *program) {
    for (size_t i = 0; i < program->buffers.count; i++)
        for (size_t k = i + 1; k < program->buffers.count; k++) {
            const opf_buffer *a = &program->buffers.data[i], *b = &program->buffers.data[k];
            if (a->kind != OPF_BUFFER_WORKSPACE || b->kind != OPF_BUFFER_WORKSPACE || a->index != b->index) continue;
            if (a->first_step > b->last_step || b->first_step > a->last_step) continue;
            int64_t x = 0, y = 0;
            assert_true(a->index == 0 && opf_is_int(a->bytes, &x) && opf_is_int(b->bytes, &y));
            assert_true(a->offset + x <= b->offset || b->offset + y <= a->offset);
        }
}

static opf_program *chain(fixture *f, int n) {
    opf_value *last = input(f, "x");
    for (int i = 0; i < n; i++) {
        opf_value *next = value(f, opf_arena_printf(f->module->arena, "v%d", i));
        kernel(f, "step", next, 1, &last);
        last = next;
    }
    opf_graph_add_output(f->graph, last, NULL);
    return planned(f, false);
}

static void a_chain_needs_two_places(void **state) {
    opf_program *program = chain(*state, 9);
    is_sound(program);
    assert_int_equal(slot_bytes(program), 2 * 448);
}

static void a_chain_of_unknown_sizes_needs_two_slots(void **state) {
    fixture *f = *state;
    f->length = opf_sym(f->module->pool, opf_symbol_new(f->module->pool, "n", 0, INT64_MAX, 64));
    opf_program *program = chain(f, 9);
    is_sound(program);
    assert_int_equal(program->slots.count, 3); /* the first is for constant sizes */
    assert_int_equal(program->slots.data[0].sizes.count, 0);
    assert_int_equal(program->slots.data[1].sizes.count, 1);
}

static void values_that_are_needed_later_keep_their_place(void **state) {
    fixture *f = *state;
    opf_value *x = input(f, "x"), *kept = value(f, "kept"), *a = value(f, "a"), *b = value(f, "b"), *y = value(f, "y");
    kernel(f, "k", kept, 1, &x);
    kernel(f, "l", a, 1, &kept);
    kernel(f, "m", b, 1, &a);
    kernel(f, "n", y, 2, (opf_value *[]){b, kept});
    opf_graph_add_output(f->graph, y, NULL);
    opf_program *program = planned(f, false);
    is_sound(program);
    assert_int_equal(slot_bytes(program), 3 * 448);
}

static void a_program_prints(void **state) {
    opf_program *program = chain(*state, 2);
    opf_text text = {0};
    opf_program_print(program, &text);
    assert_non_null(strstr(text.data, "program: 1 kernels, 2 steps"));
    assert_non_null(strstr(text.data, "'v1' (output 0)"));
    opf_text_free(&text);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(an_output_is_written_in_place), CASE(an_output_in_mid_chain_is_read_from_its_place), CASE(what_is_output_twice_is_copied),
        CASE(inputs_and_constants_as_outputs_are_copied), CASE(a_view_of_a_result_as_output_needs_no_copy),
        CASE(a_view_of_an_input_as_output_is_copied), CASE(known_values_are_filled_or_constants), CASE(equal_texts_are_one_kernel),
        CASE(taps_change_no_kernel), CASE(a_chain_needs_two_places), CASE(a_chain_of_unknown_sizes_needs_two_slots),
        CASE(values_that_are_needed_later_keep_their_place), CASE(a_program_prints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
