/* Runs ONNX test cases through the reader, the typing and the evaluator, and compares with the expected outputs.
 *
 *   tool_check_cases [-v] [-fp32|-fp16|-int8] FOLDER…      each with model.onnx and test_data_set_N/{input,output}_K.pb
 *
 * The model is typed once, with symbols, for all of its data sets. -fp32… choose the tolerance of whole models.
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
    const opf_tolerance *tolerance; /* NULL: by element type */
    int set;
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
    const char *path = opf_arena_printf(one->arena, "%s/test_data_set_%d/%s_%zu.pb", one->folder, one->set, kind, index);
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

/* An input of unknown rank takes the data's own shape. */
static opf_status type_model(one_case *one) {
    OPF_VEC(opf_pin) pins = {0};
    const opf_graph *graph = one->module->graph;
    for (size_t k = 0; k < graph->inputs.count; k++) {
        const opf_value *value = graph->inputs.data[k];
        for (int axis = 0; axis < one->inputs[k]->rank && value->declared_rank < 0; axis++)
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

/* The expected outputs were computed in the type itself: narrow types carry their own rounding at every node. */
static opf_tolerance tolerance_of(opf_dtype dtype) {
    switch (dtype) {
    case OPF_FLOAT16: return (opf_tolerance){OPF_TOL_ELEMENT, 4e-3, 1e-4};
    case OPF_BFLOAT16: return (opf_tolerance){OPF_TOL_ELEMENT, 2e-2, 1e-3};
    default: return (opf_tolerance){OPF_TOL_ELEMENT, 1e-3, 1e-5};
    }
}

static outcome compare_outputs(one_case *one, const opf_eval *eval) {
    for (size_t k = 0; k < one->module->graph->outputs.count; k++) {
        const opf_value *value = one->module->graph->outputs.data[k];
        const opf_tensor *got = opf_eval_value(eval, value), *expected = read_tensor(one, "output", k);
        if (!got || !expected) {
            one->reason = opf_arena_printf(one->arena, "output %zu '%s' is missing", k, value->name);
            return FAIL;
        }
        opf_tolerance tolerance = one->tolerance ? *one->tolerance : tolerance_of(expected->dtype);
        opf_comparison comparison = opf_compare(got, expected, tolerance, one->arena);
        if (comparison.holds) continue;
        one->reason = comparison.why ? comparison.why
                                     : opf_arena_printf(one->arena, "set %d, output %zu: %lld elements differ, at %lld %g instead of %g", one->set, k, (long long)comparison.differing,
                                                        (long long)comparison.worst, comparison.got, comparison.expected);
        return FAIL;
    }
    return PASS;
}

static outcome run_set(one_case *one) {
    opf_eval *eval = NULL;
    opf_status status = opf_eval_new(&eval, one->module->graph, one->inputs, false);
    if (status == OPF_OK) status = opf_eval_run(eval);
    outcome outcome = status == OPF_OK ? compare_outputs(one, eval) : failed(one, status);
    opf_eval_free(eval);
    return outcome;
}

static bool set_exists(const one_case *one) {
    return opf_file_exists(opf_arena_printf(one->arena, "%s/test_data_set_%d/output_0.pb", one->folder, one->set));
}

static outcome run_case(one_case *one) {
    opf_status status = read_model(one);
    if (status != OPF_OK) return failed(one, status);
    if (!read_inputs(one)) return failed(one, OPF_ERROR_UNSUPPORTED);
    status = type_model(one);
    if (status != OPF_OK || one->module->by_value.count > 0) { /* once more, with small inputs known */
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
    outcome outcome = run_set(one);
    for (one->set = 1; outcome == PASS && set_exists(one); one->set++) {
        if (!read_inputs(one)) return failed(one, OPF_ERROR_INPUT);
        outcome = run_set(one);
    }
    return outcome;
}

static const struct { const char *option; opf_tolerance tolerance; } tolerances[] = {
    {"-fp32", {OPF_TOL_FP32, 0, 0}}, {"-fp16", {OPF_TOL_FP16, 0, 0}}, {"-int8", {OPF_TOL_INT8, 0, 0}},
};

static const opf_tolerance *find_tolerance(const char *option) {
    for (size_t k = 0; k < OPF_COUNT(tolerances); k++)
        if (strcmp(tolerances[k].option, option) == 0) return &tolerances[k].tolerance;
    return NULL;
}

static outcome run_folder(const char *folder, bool verbose, const opf_tolerance *tolerance) {
    static const char *const names[] = {"pass", "unsupported", "fail"};
    one_case one = {.folder = folder, .arena = opf_arena_new(), .diags = opf_diags_new(), .tolerance = tolerance};
    outcome outcome = run_case(&one);
    const char *base = strrchr(folder, '/');
    if (verbose || outcome != PASS) printf("%-11s %s%s%s\n", names[outcome], base ? base + 1 : folder, one.reason ? "  " : "", one.reason ? one.reason : "");
    fflush(stdout);
    opf_module_free(one.module);
    opf_diags_free(one.diags);
    opf_arena_free(one.arena);
    return outcome;
}

int main(int argc, char **argv) {
    int counts[3] = {0, 0, 0};
    bool verbose = false;
    const opf_tolerance *tolerance = NULL;
    for (int k = 1; k < argc; k++) {
        if (strcmp(argv[k], "-v") == 0) verbose = true;
        else if (find_tolerance(argv[k])) tolerance = find_tolerance(argv[k]);
        else counts[run_folder(argv[k], verbose, tolerance)]++;
    }
    printf("%d pass, %d unsupported, %d fail\n", counts[PASS], counts[UNSUPPORTED], counts[FAIL]);
    return counts[FAIL] != 0;
}
