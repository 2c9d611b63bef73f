/* The reader on small files. test/data/onnx/NAME.txt is the expected text form of NAME.onnx; bad/NAME.txt holds the
 * expected messages. With OPF_TEST_WRITE set in the environment the expected files are written instead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "onnx/onnx.h"

static opf_diags *diags;

static int setup(void **state) {
    (void)state;
    diags = opf_diags_new();
    return chdir(OPF_TEST_DATA "/onnx");
}

static int teardown(void **state) {
    (void)state;
    opf_diags_free(diags);
    return 0;
}

static opf_module *read_model(const char *path) {
    opf_module *module = NULL;
    if (opf_onnx_read(&module, path, diags) != OPF_OK) {
        opf_text text = {0};
        for (size_t i = 0; i < opf_diags_count(diags); i++) opf_diag_print(opf_diags_at(diags, i), &text);
        fail_msg("%s", opf_text_string(&text));
    }
    assert_int_equal(opf_graph_check(module->graph, "read"), OPF_OK);
    return module;
}

/* The text beside `model`, or writes it. */
static void expect_text(const char *model, const opf_text *text) {
    opf_text path = {0};
    opf_text_printf(&path, "%.*s.txt", (int)(strlen(model) - strlen(".onnx")), model);
    if (getenv("OPF_TEST_WRITE")) {
        assert_int_equal(opf_file_write(path.data, text->data, text->length, diags), OPF_OK);
    } else {
        opf_mapping expected;
        if (opf_file_map(&expected, path.data, diags) != OPF_OK) fail_msg("%s is missing", path.data);
        char *copy = strndup((const char *)expected.data, expected.size);
        if (strcmp(copy, text->data) != 0) fail_msg("%s:\n%s--- expected:\n%s", model, text->data, copy);
        free(copy);
        opf_file_unmap(&expected);
    }
    opf_text_free(&path);
}

static size_t each_model(const char *pattern, void (*look)(const char *path)) {
    glob_t found;
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    size_t count = found.gl_pathc;
    for (size_t i = 0; i < count; i++) {
        opf_diags_clear(diags);
        look(found.gl_pathv[i]);
    }
    globfree(&found);
    return count;
}

static void look_at_good(const char *path) {
    opf_module *module = read_model(path);
    opf_text text = {0};
    opf_graph_print(module->graph, &text);
    expect_text(path, &text);
    opf_text_free(&text);
    opf_module_free(module);
}

static void good_models_print_as_expected(void **state) {
    (void)state;
    assert_true(each_model("*.onnx", look_at_good) >= 13);
}

static void look_at_bad(const char *path) {
    static const char *const names[] = {[OPF_ERROR_INPUT] = "input", [OPF_ERROR_UNSUPPORTED] = "unsupported", [OPF_ERROR_SYSTEM] = "system"};
    opf_module *module = NULL;
    opf_status status = opf_onnx_read(&module, path, diags);
    if (status == OPF_OK) fail_msg("%s was read", path);
    assert_null(module);
    opf_text text = {0};
    opf_text_printf(&text, "status: %s\n", names[status]);
    for (size_t i = 0; i < opf_diags_count(diags); i++) opf_diag_print(opf_diags_at(diags, i), &text);
    expect_text(path, &text);
    opf_text_free(&text);
}

static void bad_models_are_refused_as_expected(void **state) {
    (void)state;
    assert_true(each_model("bad/*.onnx", look_at_bad) >= 45);
}

/* Element types: what stands in raw_data equals what stands in the typed field, byte by byte. */
static void storage_makes_no_difference(void **state) {
    (void)state;
    opf_module *module = read_model("storage.onnx");
    int pairs = 0;
    for (size_t i = 0; i < module->graph->values.count; i++) {
        const opf_value *raw = module->graph->values.data[i];
        if (strncmp(raw->name, "raw_", 4) != 0) continue;
        char typed_name[64];
        snprintf(typed_name, sizeof typed_name, "typed_%s", raw->name + 4);
        const opf_value *typed = opf_value_find(module->graph, typed_name);
        assert_non_null(typed);
        assert_int_equal(raw->constant->dtype, typed->constant->dtype);
        assert_int_equal(raw->constant->bytes, typed->constant->bytes);
        assert_memory_equal(raw->constant->data, typed->constant->data, raw->constant->bytes);
        pairs++;
    }
    assert_int_equal(pairs, 25); /* every type but strings */
    opf_module_free(module);
}

static bool inside(const opf_mapping *file, const void *data) {
    return (const unsigned char *)data >= file->data && (const unsigned char *)data < file->data + file->size;
}

static const opf_tensor *constant(const opf_module *module, const char *name) { return opf_value_find(module->graph, name)->constant; }

/* Bytes stay where they are in the file, at whatever address that is. */
static void weights_are_views(void **state) {
    (void)state;
    opf_module *module = read_model("storage.onnx");
    const opf_tensor *bytes = constant(module, "raw_uint8");
    assert_true(inside(&module->files.data[0], bytes->data));
    assert_int_equal(bytes->file, 0);
    assert_ptr_equal(module->files.data[0].data + bytes->offset, bytes->data);
    assert_false(inside(&module->files.data[0], constant(module, "typed_uint8")->data));
    assert_int_equal(constant(module, "typed_uint8")->file, -1);
    for (size_t i = 0; i < module->graph->values.count; i++) {
        const opf_tensor *tensor = module->graph->values.data[i]->constant;
        bool raw = strncmp(module->graph->values.data[i]->name, "raw_", 4) == 0;
        if (!tensor || !tensor->bytes || !raw) continue;
        assert_true(inside(&module->files.data[0], tensor->data));
        assert_ptr_equal(module->files.data[0].data + tensor->offset, tensor->data);
    }
    opf_module_free(module);

    module = read_model("external.onnx");
    assert_int_equal(module->files.count, 3);
    const opf_tensor *aligned = constant(module, "aligned"), *odd = constant(module, "odd");
    assert_int_equal(aligned->file, 1);
    assert_int_equal(aligned->offset, 8);
    assert_ptr_equal(aligned->data, module->files.data[1].data + 8);
    assert_int_equal(odd->file, 1);
    assert_ptr_equal(odd->data, module->files.data[1].data + 33);
    assert_true(opf_tensor_get(odd, 2) == 12);
    assert_true(opf_tensor_get(constant(module, "whole"), 3) == 103);
    opf_module_free(module);
}

static void declared_types_are_kept(void **state) {
    (void)state;
    opf_module *module = read_model("types.onnx");
    const opf_value *x = opf_value_find(module->graph, "x");
    const int64_t dims[] = {-1, 3, -1, -1, 0};
    assert_int_equal(x->declared_rank, 5);
    assert_memory_equal(x->declared_dims, dims, sizeof dims);
    assert_string_equal(x->declared_names[0], "N");
    assert_null(x->declared_names[2]);
    assert_int_equal(x->declared_dtype, OPF_FLOAT32);
    assert_int_equal(opf_value_find(module->graph, "seq")->kind, OPF_VALUE_SEQUENCE);
    assert_int_equal(opf_value_find(module->graph, "seq")->declared_dtype, OPF_INT64);
    assert_int_equal(opf_value_find(module->graph, "opt")->kind, OPF_VALUE_OPTIONAL);
    assert_int_equal(opf_value_find(module->graph, "map")->kind, OPF_VALUE_MAP);
    assert_int_equal(opf_value_find(module->graph, "any")->declared_rank, -1);
    opf_module_free(module);
}

static void opsets_follow_functions(void **state) {
    (void)state;
    opf_module *module = read_model("functions.onnx");
    int inner = 0;
    for (size_t i = 0; i < module->graph->nodes.count; i++) {
        const opf_node *node = module->graph->nodes.data[i];
        bool inlined = strchr(node->name, '/') != NULL;
        assert_int_equal(node->opset, inlined ? 13 : 17);
        assert_int_equal(node->n_origins, 1);
        assert_ptr_equal(node->origins[0], node->name);
        inner += inlined;
    }
    assert_int_equal(inner, 12);
    assert_int_equal(module->ir_version, 10);
    assert_string_equal(module->producer, "make.py");
    assert_int_equal(module->opsets.count, 2);
    opf_module_free(module);
}

static void initializers_are_no_inputs(void **state) {
    (void)state;
    opf_module *module = read_model("ir3.onnx");
    assert_int_equal(module->graph->inputs.count, 1);
    assert_string_equal(module->graph->inputs.data[0]->name, "x");
    assert_int_equal(opf_value_find(module->graph, "w")->input_index, -1);
    assert_non_null(constant(module, "w"));
    opf_module_free(module);
}

static void memory_reads_like_a_file(void **state) {
    (void)state;
    opf_mapping file;
    assert_int_equal(opf_file_map(&file, "storage.onnx", diags), OPF_OK);
    opf_module *from_file = read_model("storage.onnx"), *module = NULL;
    assert_int_equal(opf_onnx_read_memory(&module, file.data, file.size, "memory", diags), OPF_OK);
    opf_text a = {0}, b = {0};
    opf_graph_print(from_file->graph, &a);
    opf_graph_print(module->graph, &b);
    assert_string_equal(a.data, b.data);
    assert_int_equal(constant(module, "raw_uint8")->file, -1);
    assert_true(inside(&file, constant(module, "raw_uint8")->data));
    opf_text_free(&a);
    opf_text_free(&b);
    opf_module_free(module);
    opf_module_free(from_file);
    opf_file_unmap(&file);
    assert_int_equal(opf_file_map(&file, "external.onnx", diags), OPF_OK);
    assert_int_equal(opf_onnx_read_memory(&module, file.data, file.size, "memory", diags), OPF_ERROR_UNSUPPORTED);
    assert_string_equal(opf_diags_at(diags, 0)->message, "initializer 'aligned' has external data, which only a model in a file can have");
    opf_file_unmap(&file);
}

/* What a model in a folder of links may reach: files beside it and beside what it links to, nothing else. */
static void links_may_not_lead_outside(void **state) {
    (void)state;
    opf_arena *arena = opf_arena_new();
    char *folder;
    assert_int_equal(opf_folder_temporary(&folder, arena, diags), OPF_OK);
    const char *store = opf_arena_printf(arena, "%s/store", folder), *view = opf_arena_printf(arena, "%s/view", folder), *trap = opf_arena_printf(arena, "%s/trap", folder);
    assert_int_equal(opf_folder_make(opf_arena_printf(arena, "%s/sub", store), diags), OPF_OK);
    assert_int_equal(opf_folder_make(view, diags), OPF_OK);
    assert_int_equal(opf_folder_make(trap, diags), OPF_OK);
    static const char *const files[] = {"external.onnx", "external.bin", "sub/more.bin"};
    for (size_t i = 0; i < 3; i++) {
        opf_mapping file;
        assert_int_equal(opf_file_map(&file, files[i], diags), OPF_OK);
        assert_int_equal(opf_file_write(opf_arena_printf(arena, "%s/%s", store, files[i]), file.data, file.size, diags), OPF_OK);
        if (i == 0) assert_int_equal(opf_file_write(opf_arena_printf(arena, "%s/external.onnx", trap), file.data, file.size, diags), OPF_OK);
        opf_file_unmap(&file);
    }
    /* view: links to the store, as download caches make them. */
    assert_int_equal(symlink("../store/external.onnx", opf_arena_printf(arena, "%s/external.onnx", view)), 0);
    assert_int_equal(symlink("../store/external.bin", opf_arena_printf(arena, "%s/external.bin", view)), 0);
    assert_int_equal(symlink("../store/sub", opf_arena_printf(arena, "%s/sub", view)), 0);
    opf_module_free(read_model(opf_arena_printf(arena, "%s/external.onnx", view)));
    /* trap: a model of its own whose data links out of its folder. */
    assert_int_equal(symlink("../store/external.bin", opf_arena_printf(arena, "%s/external.bin", trap)), 0);
    assert_int_equal(symlink("../store/sub", opf_arena_printf(arena, "%s/sub", trap)), 0);
    opf_module *module;
    assert_int_equal(opf_onnx_read(&module, opf_arena_printf(arena, "%s/external.onnx", trap), diags), OPF_ERROR_INPUT);
    assert_string_equal(opf_diags_at(diags, 0)->message, "initializer 'aligned': its external data 'external.bin' is a link that leads outside the model's folder");
    opf_folder_remove(folder);
    opf_arena_free(arena);
}

static void tensors_survive_a_round_trip(void **state) {
    (void)state;
    opf_arena *arena = opf_arena_new();
    char *folder;
    assert_int_equal(opf_folder_temporary(&folder, arena, diags), OPF_OK);
    opf_module *module = read_model("storage.onnx");
    for (size_t i = 0; i < module->graph->values.count; i++) {
        const opf_value *value = module->graph->values.data[i];
        const opf_tensor *before = value->constant;
        if (!before) continue;
        opf_text bytes = {0};
        opf_onnx_write_tensor(before, value->name, &bytes);
        const char *path = opf_arena_printf(arena, "%s/%s.pb", folder, value->name), *name = NULL;
        assert_int_equal(opf_file_write(path, bytes.data, bytes.length, diags), OPF_OK);
        opf_text_free(&bytes);
        opf_tensor *after = NULL;
        assert_int_equal(opf_onnx_read_tensor(&after, &name, path, arena, diags), OPF_OK);
        assert_string_equal(name, value->name);
        assert_int_equal(after->dtype, before->dtype);
        assert_int_equal(after->rank, before->rank);
        assert_int_equal(after->bytes, before->bytes);
        for (int k = 0; k < after->rank; k++) assert_int_equal(after->dims[k], before->dims[k]);
        for (int64_t k = 0; before->dtype == OPF_STRING && k < before->elements; k++)
            assert_string_equal(((const char *const *)after->data)[k], ((const char *const *)before->data)[k]);
        if (before->dtype != OPF_STRING && before->bytes) assert_memory_equal(after->data, before->data, before->bytes);
    }
    opf_module_free(module);
    opf_folder_remove(folder);
    opf_arena_free(arena);
}

static void other_protobufs_are_no_tensors(void **state) {
    (void)state;
    opf_arena *arena = opf_arena_new();
    opf_tensor *tensor;
    assert_int_equal(opf_onnx_read_tensor(&tensor, NULL, "sequence.pb", arena, diags), OPF_ERROR_UNSUPPORTED);
    assert_int_equal(opf_onnx_read_tensor(&tensor, NULL, "optional.pb", arena, diags), OPF_ERROR_UNSUPPORTED);
    assert_int_equal(opf_onnx_read_tensor(&tensor, NULL, "packed.pb", arena, diags), OPF_OK);
    assert_int_equal(tensor->elements, 6400);
    assert_int_equal(opf_onnx_read_tensor(&tensor, NULL, "bad/text.onnx", arena, diags), OPF_ERROR_INPUT);
    assert_int_equal(opf_onnx_read_tensor(&tensor, NULL, "missing.pb", arena, diags), OPF_ERROR_SYSTEM);
    assert_int_equal(opf_diags_count(diags), 4);
    assert_string_equal(opf_diags_at(diags, 0)->message, "the file holds a sequence, an optional or a map; opfuse reads single tensors");
    assert_string_equal(opf_diags_at(diags, 0)->place.file, "sequence.pb");
    opf_arena_free(arena);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(good_models_print_as_expected), TEST(bad_models_are_refused_as_expected), TEST(storage_makes_no_difference), TEST(weights_are_views),
        TEST(declared_types_are_kept), TEST(opsets_follow_functions), TEST(initializers_are_no_inputs), TEST(memory_reads_like_a_file),
        TEST(links_may_not_lead_outside), TEST(tensors_survive_a_round_trip), TEST(other_protobufs_are_no_tensors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
