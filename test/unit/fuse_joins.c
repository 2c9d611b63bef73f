/* Concatenations in place: the models of test/data/joins have the kernels that are expected of them, and uses the rules. */
#include "fusion.h"

/* "FROM TO" → the rule of this use; NULL: there is no such use. */
static const char *rule_of(const opf_fusion *fusion, const char *use) {
    for (size_t e = 0; e < fusion->edges.count; e++) {
        const opf_edge *edge = &fusion->edges.data[e];
        size_t length = strlen(edge->from->name);
        if (strncmp(edge->from->name, use, length) == 0 && use[length] == ' ' && strcmp(edge->to->name, use + length + 1) == 0)
            return edge->rule;
    }
    return NULL;
}

static void check_model(const char *name, const json_t *expected) {
    char file[128];
    snprintf(file, sizeof file, "%s.onnx", name);
    opf_diags *diags = opf_diags_new();
    opf_module *module = load("joins", file, OPF_POLICY_BEST, diags);
    const opf_fusion *fusion = fuse(module, &(opf_fuse_options){.policy = OPF_POLICY_BEST}, diags);
    if (count_kernels(fusion) != json_integer_value(json_object_get(expected, "kernels")))
        fail_msg("%s: %d kernels", name, count_kernels(fusion));
    const char *use;
    json_t *rule;
    json_object_foreach(json_object_get(expected, "rules"), use, rule) {
        const char *found = rule_of(fusion, use);
        if (!found || strcmp(found, json_string_value(rule)) != 0)
            fail_msg("%s: %s: %s, not %s", name, use, found ? found : "no such use", json_string_value(rule));
    }
    opf_module_free(module);
    opf_diags_free(diags);
}

static void parts_go_where_they_belong(void **unused) {
    (void)unused;
    each_expected("joins", 12, check_model);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts_go_where_they_belong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
