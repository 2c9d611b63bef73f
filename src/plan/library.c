/* Steps that call library kernels, and the checks of what they count. */
#include "base/checked.h"
#include "ops/counts.h"
#include "ops/library.h"
#include "plan/planner.h"

/* ---- checks ---- */

typedef struct search { const opf_planner *planner; bool missing; } search;

static bool meet(const opf_expr *e, void *data) {
    search *search = data;
    bool counted = e->kind == OPF_EXPR_SYMBOL && opf_count_of(search->planner->program->module, e->symbol);
    if (counted && !opf_map_has(&search->planner->found, e->symbol)) search->missing = true;
    return true;
}

static bool is_known(const opf_planner *planner, const opf_guard *guard) {
    search search = {planner, false};
    opf_expr_visit(planner->pool, guard->left, meet, &search);
    opf_expr_visit(planner->pool, guard->right, meet, &search);
    return !search.missing;
}

/* Does the guard's branch run here? */
static bool is_entered(const opf_planner *planner, const opf_guard *guard) { return !guard->inside || opf_map_has(&planner->found, guard->inside); }

static void add_checks(opf_planner *planner) {
    opf_program *program = planner->program;
    for (size_t i = 0; i < program->checks.count; i++) {
        const opf_condition *check = &program->checks.data[i];
        if (!check->counted || opf_map_has(&planner->found, check->guard) || !is_entered(planner, check->guard) || !is_known(planner, check->guard)) continue;
        opf_map_set(&planner->found, check->guard, planner); /* once is enough */
        OPF_PUSH(planner->arena, &program->steps, (opf_step){.kind = OPF_RUN_CHECK, .kernel = -1, .check = i});
    }
}

void opf_planner_enter(opf_planner *planner, const opf_graph *branch) {
    opf_map_set(&planner->found, branch, planner);
    add_checks(planner);
}

void opf_planner_found(opf_planner *planner, const opf_symbol *symbol) {
    opf_map_set(&planner->found, symbol, planner);
    add_checks(planner);
}

/* ---- calls ---- */

/* The operand in the layout that the kernel asks for; -1: reported. */
static int packed_buffer(opf_planner *planner, const opf_value *constant, const opf_stage *stage) {
    int64_t bytes;
    opf_packed packed = {0, opf_packing_group(planner->arena, constant, (opf_stage *)stage), 0};
    if (!opf_is_int(opf_stage_elements(stage, planner->pool), &bytes) || !opf_checked_mul(bytes, opf_dtype_bits(stage->dtype) / 8, &packed.bytes)) opf_out_of_memory();
    return opf_planner_pack(planner, planner->options->machine, &packed);
}

/* The buffers of a call in the kernel's order; false: reported. */
static bool call_buffers(opf_planner *planner, const opf_node *node, const opf_library_call *library, int *buffers) {
    int at = 0;
    for (int k = 0; k < library->n_inputs; k++) {
        const opf_value *value = k < node->n_inputs ? node->inputs[k] : NULL;
        const opf_stage *packing = opf_library_packed(library, k);
        buffers[at] = !value ? -1 : packing ? packed_buffer(planner, value, packing) : opf_planner_operand(planner, value, true);
        if (value && buffers[at] < 0) return false;
        at++;
    }
    for (size_t k = 0; k < library->constants.count; k++) buffers[at++] = opf_planner_constant(planner, node->outputs[0], library->constants.data[k]);
    for (int k = 0; k < library->n_outputs; k++) /* results that nobody reads are made all the same, where the kernel fills them */
        buffers[at++] = library->outputs[k].dtype == OPF_NO_DTYPE ? -1 : opf_planner_result(planner, node->outputs[k]);
    if (!opf_is_value(library->scratch_bytes, 0)) buffers[at] = opf_planner_scratch(planner, library->scratch_bytes);
    return true;
}

opf_status opf_planner_library(opf_planner *planner, const opf_group *group) {
    const opf_library_call *library = group->library;
    const opf_node *node = group->caller ? group->caller : group->nodes.data[0];
    int n = library->n_inputs + (int)library->constants.count + library->n_outputs + !opf_is_value(library->scratch_bytes, 0);
    int *buffers = OPF_ARRAY(planner->arena, int, n + 1);
    if (!call_buffers(planner, node, library, buffers)) return OPF_ERROR_INTERNAL;
    OPF_PUSH(planner->arena, &planner->program->steps,
             (opf_step){.kind = OPF_RUN_LIBRARY, .kernel = -1, .library = library, .node = node, .n_buffers = n, .buffers = buffers});
    for (int k = 0; k < library->n_counts; k++) opf_planner_found(planner, library->counts[k]);
    return OPF_OK;
}
