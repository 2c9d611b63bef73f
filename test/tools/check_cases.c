/* Runs ONNX test cases through the reader, the typing and the evaluator, and compares with the expected outputs.
 *
 *   tool_check_cases [-v] FOLDER…      each with model.onnx and test_data_set_0/{input,output}_K.pb
 *
 * One line a case: "pass", "unsupported" (with the first reason) or "fail" (with the reason). Exit status 1 where one failed.
 * Inputs that an operator must know before a run (shapes, axes…) are made constants, as a user would. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/compare.h"
#include "eval/eval.h"
#include "onnx/onnx.h"

typedef enum outcome { PASS, UNSUPPORTED, FAIL } outcome;

typedef struct one_case {
    const char *folder;
    opf_arena *arena;
    opf_diags *diags;
    opf_module *module;
    const opf_tensor **inputs;
    const char *reason;
} one_case;

static const char *first_error(one_case *one) {
    for (size_t k = 0; k < opf_diags_count(one->diags); k++) {
        const opf_diag *diag = opf_diags_at(one->diags, k);
        if (diag->severity == OPF_ERROR) return opf_arena_printf(one->arena, "%s: %s", diag->code, diag->message);
    }
    return "no reason was given";
}

static outcome failed(one_case *one, opf_status status) {
    one->reason = first_error(one);
    return status == OPF_ERROR_UNSUPPORTED ? UNSUPPORTED : FAIL;
}

static opf_tensor *read_tensor(one_case *one, const char *kind, size_t index) {
    opf_tensor *tensor = NULL;
    const char *name;
    const char *path = opf_arena_printf(one->arena, "%s/test_data_set_0/%s_%zu.pb", one->folder, kind, index);
    return opf_onnx_read_tensor(&tensor, &name, path, one->arena, one->diags) == OPF_OK ? tensor : NULL;
}

static opf_status read_model(one_case *one) {
    opf_diags_clear(one->diags);
    return opf_onnx_read(&one->module, opf_arena_printf(one->arena, "%s/model.onnx", one->folder), one->diags);
}

static bool read_inputs(one_case *one) {
    const opf_graph *graph = one->module->graph;
    one->inputs = OPF_ARRAY(one->arena, const opf_tensor *, graph->inputs.count + 1);
    for (size_t k = 0; k < graph->inputs.count; k++)
        if (!(one->inputs[k] = read_tensor(one, "input", k))) return false;
    return true;
}

/* The data's own shapes, so that nothing stays symbolic. */
static opf_status type_model(one_case *one) {
    OPF_VEC(opf_pin) pins = {0};
    const opf_graph *graph = one->module->graph;
    for (size_t k = 0; k < graph->inputs.count; k++) {
        const opf_value *value = graph->inputs.data[k];
        for (int axis = 0; axis < one->inputs[k]->rank; axis++)
            if (value->declared_rank < 0 || !value->declared_dims || value->declared_dims[axis] < 0)
                OPF_PUSH(one->arena, &pins, (opf_pin){.input = value->name, .axis = axis, .size = one->inputs[k]->dims[axis]});
    }
    return opf_graph_type(one->module, pins.data, pins.count);
}

/* Small inputs become constants; the others move up. */
static void bind_small_inputs(one_case *one) {
    opf_graph *graph = one->module->graph;
    size_t left = 0;
    for (size_t k = 0; k < graph->inputs.count; k++) {
        opf_value *value = graph->inputs.data[k];
        bool small = one->inputs[k]->rank <= 1 && one->inputs[k]->elements <= 64 && one->inputs[k]->dtype != OPF_STRING;
        if (small) {
            opf_value_set_constant(value, one->inputs[k]);
            value->input_index = -1;
            continue;
        }
        value->input_index = (int)left;
        one->inputs[left] = one->inputs[k];
        graph->inputs.data[left++] = value;
    }
    graph->inputs.count = left;
}

static outcome compare_outputs(one_case *one, const opf_eval *eval) {
    opf_tolerance tolerance = {OPF_TOL_ELEMENT, 1e-3, 1e-5};
    for (size_t k = 0; k < one->module->graph->outputs.count; k++) {
        const opf_value *value = one->module->graph->outputs.data[k];
        const opf_tensor *got = opf_eval_value(eval, value), *expected = read_tensor(one, "output", k);
        if (!got || !expected) {
            one->reason = opf_arena_printf(one->arena, "output %zu '%s' is missing", k, value->name);
            return FAIL;
        }
        opf_comparison comparison = opf_compare(got, expected, tolerance, one->arena);
        if (comparison.holds) continue;
        one->reason = comparison.why ? comparison.why
                                     : opf_arena_printf(one->arena, "output %zu: %lld elements differ, at %lld %g instead of %g", k, (long long)comparison.differing,
                                                        (long long)comparison.worst, comparison.got, comparison.expected);
        return FAIL;
    }
    return PASS;
}

static outcome run_case(one_case *one) {
    opf_status status = read_model(one);
    if (status != OPF_OK) return failed(one, status);
    if (!read_inputs(one)) return failed(one, OPF_ERROR_UNSUPPORTED);
    status = type_model(one);
    if (status != OPF_OK) { /* once more, with small inputs known */
        const opf_tensor **inputs = one->inputs;
        opf_module_free(one->module);
        one->module = NULL;
        status = read_model(one);
        if (status != OPF_OK) return failed(one, status);
        one->inputs = inputs;
        bind_small_inputs(one);
        status = type_model(one);
    }
    if (status != OPF_OK) return failed(one, status);
    opf_eval *eval = NULL;
    status = opf_eval_new(&eval, one->module->graph, one->inputs, false);
    if (status == OPF_OK) status = opf_eval_run(eval);
    outcome outcome = status == OPF_OK ? compare_outputs(one, eval) : failed(one, status);
    opf_eval_free(eval);
    return outcome;
}

int main(int argc, char **argv) {
    static const char *const names[] = {"pass", "unsupported", "fail"};
    int counts[3] = {0, 0, 0};
    bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
    for (int k = verbose ? 2 : 1; k < argc; k++) {
        one_case one = {.folder = argv[k], .arena = opf_arena_new(), .diags = opf_diags_new()};
        outcome outcome = run_case(&one);
        counts[outcome]++;
        const char *base = strrchr(argv[k], '/');
        if (verbose || outcome != PASS) printf("%-11s %s%s%s\n", names[outcome], base ? base + 1 : argv[k], one.reason ? "  " : "", one.reason ? one.reason : "");
        fflush(stdout);
        opf_module_free(one.module);
        opf_diags_free(one.diags);
        opf_arena_free(one.arena);
    }
    printf("%d pass, %d unsupported, %d fail\n", counts[PASS], counts[UNSUPPORTED], counts[FAIL]);
    return counts[FAIL] != 0;
}
