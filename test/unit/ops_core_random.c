/* Every operator, given inputs and attributes at random: a build succeeds with sound stages or fails with a report, and
 * never crashes. Meant for the sanitizers too. OPF_RANDOM_SEED picks another sequence. */
#include "ops_support.h"

#include <stdio.h>

enum { TRIES = 100 };

/* xorshift: the same sequence everywhere */
static uint64_t state_word;
static unsigned next(unsigned below) {
    state_word ^= state_word << 13;
    state_word ^= state_word >> 7;
    state_word ^= state_word << 17;
    return (unsigned)(state_word >> 33) % below;
}

static const opf_dtype dtypes[] = {OPF_FLOAT32, OPF_FLOAT32, OPF_FLOAT32, OPF_FLOAT32, OPF_INT64, OPF_INT32, OPF_BOOL, OPF_UINT8, OPF_INT8, OPF_FLOAT16, OPF_STRING};

static opf_value *random_input(opf_module *module, int number) {
    static const char *const dims[] = {"1", "2", "3", "4", "8", "0", "N", "M", "?"};
    opf_text text = {0};
    for (unsigned k = 0, rank = next(7); k < rank; k++) opf_text_printf(&text, "%s%s", k ? "," : "", dims[next(OPF_COUNT(dims))]);
    opf_value *value = input(module, opf_arena_printf(module->arena, "x%d", number), dtypes[next(OPF_COUNT(dtypes))], opf_text_string(&text));
    opf_text_free(&text);
    return value;
}

static opf_value *random_constant(opf_module *module) {
    double elements[6];
    int64_t dims[2] = {(int64_t)next(5), 1};
    for (size_t k = 0; k < OPF_COUNT(elements); k++) elements[k] = (double)next(9) - 3;
    return constant(module, next(4) ? OPF_INT64 : OPF_FLOAT32, next(5) ? 1 : 0, dims, elements);
}

static void random_attrs(opf_node *node) {
    static const char *const integers[] = {"axis", "keepdims", "to", "group", "num_groups", "size", "p", "ceil_mode", "count_include_pad", "block_size",
                                           "blocksize", "batch_dims", "transA", "transB", "broadcast", "allowzero", "noop_with_empty_axes", "exclude",
                                           "reverse", "select_last_index", "num_outputs", "spatial", "training_mode", "dtype", "k", "upper", "storage_order",
                                           "num_heads", "kv_num_heads", "q_num_heads", "is_causal", "do_rotary", "interleaved", "onesided", "inverse", "output_height",
                                           "output_width", "sampling_ratio", "offset_group", "targets", "align_corners", "bits", "N", "K"};
    static const char *const lists[] = {"axes", "perm", "kernel_shape", "strides", "pads", "dilations", "split", "starts", "ends", "shape", "output_padding", "output_shape"};
    static const char *const strings[] = {"mode", "auto_pad", "direction", "approximate", "equation", "nearest_mode", "coordinate_transformation_mode"};
    static const char *const words[] = {"constant", "linear", "nearest", "cubic", "edge", "SAME_UPPER", "VALID", "LEFT", "tanh", "ij,jk->ik", "DCR", "", "...ij->...ji"};
    for (unsigned k = next(3); k > 0; k--) set_int(node, integers[next(OPF_COUNT(integers))], (int64_t)next(9) - 2);
    for (unsigned k = next(3); k > 0; k--) {
        int64_t numbers[4];
        for (size_t i = 0; i < OPF_COUNT(numbers); i++) numbers[i] = (int64_t)next(6) - 1;
        opf_node_attr_add(node, lists[next(OPF_COUNT(lists))], OPF_ATTR_INTS, next(5), numbers);
    }
    if (next(2)) set_string(node, strings[next(OPF_COUNT(strings))], words[next(OPF_COUNT(words))]);
    if (!next(4)) set_float(node, "alpha", (float)next(5));
}

static void one_try(const opf_op *op) {
    opf_module *module = new_module();
    opf_value *values[8];
    int most = op->max_inputs < 0 || op->max_inputs > 6 ? 6 : op->max_inputs;
    int count = (int)next((unsigned)most + 2);
    for (int k = 0; k < count; k++) values[k] = !next(12) ? NULL : next(3) ? random_input(module, k) : random_constant(module);
    const char *name = op->domain[0] ? opf_arena_printf(module->arena, "%s::%s", op->domain, op->name) : op->name;
    opf_node *node = node_of(module, name, op->since, 1 + (int)next((unsigned)op->max_outputs > 3 ? 3 : (unsigned)op->max_outputs), count, values);
    random_attrs(node);
    opf_status status = opf_graph_type(module, NULL, 0);
    opf_call *call;
    if (status == OPF_ERROR_INTERNAL) fail_msg("%s", diagnostics(module));
    if (status == OPF_OK) {
        assert_int_equal(opf_diags_errors(module->diags), 0);
        if (module->by_value.count == 0) { /* else the node waits for values */
            assert_int_equal(opf_op_stages(&call, node), OPF_OK);
            opf_stages_kind(&call->stages);
        }
    } else {
        assert_true(opf_diags_errors(module->diags) > 0);
    }
    free_module(module);
}

static void test_random_nodes(void **state) {
    (void)state;
    const char *seed = getenv("OPF_RANDOM_SEED");
    state_word = 0x9e3779b97f4a7c15u + (seed ? strtoull(seed, NULL, 10) : 0);
    for (size_t k = 0; k < opf_op_count(); k++)
        for (int try = 0; try < TRIES; try++) one_try(opf_op_at(k));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_nodes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
