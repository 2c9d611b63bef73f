/* What values of sub-graphs were, each time that their graph ran: for whoever looks at a program step by step. */
#include "eval/evaluator.h"

#include <stdlib.h>

static opf_eval_runs *runs_of(opf_eval *eval, const opf_graph *graph) {
    opf_eval_runs *runs = opf_map_get(&eval->runs, graph);
    if (runs) return runs;
    runs = OPF_NEW(eval->arena, opf_eval_runs);
    opf_map_set(&eval->runs, graph, runs);
    return runs;
}

static int64_t runs_so_far(const opf_eval *eval, const opf_graph *graph) {
    const opf_eval_runs *runs = opf_map_get(&eval->runs, graph);
    return runs ? (int64_t)runs->around.count : 0;
}

static size_t bytes_of(const opf_eval *eval, const opf_graph *graph) {
    size_t bytes = graph->values.count * sizeof(opf_eval_slot);
    for (size_t i = 0; i < graph->values.count; i++) {
        const opf_eval_slot *slot = &eval->slots[graph->values.data[i]->id];
        if (slot->owned) bytes += slot->tensor->bytes;
    }
    return bytes;
}

/* The slots as they are; their memory is the history's from now on. */
static opf_eval_slot *put_away(opf_eval *eval, const opf_graph *graph) {
    opf_eval_slot *kept = OPF_ARRAY(eval->arena, opf_eval_slot, graph->values.count + 1);
    for (size_t i = 0; i < graph->values.count; i++) {
        opf_eval_slot *slot = &eval->slots[graph->values.data[i]->id];
        kept[i] = *slot;
        if (slot->owned) OPF_PUSH(eval->arena, &eval->put_away, slot->owned);
        *slot = (opf_eval_slot){0};
    }
    return kept;
}

void opf_eval_end_run(opf_eval *eval, const opf_graph *graph) {
    opf_eval_runs *runs = runs_of(eval, graph);
    size_t bytes = eval->keep_all ? bytes_of(eval, graph) : 0;
    bool kept = eval->keep_all && eval->history_bytes + bytes <= OPF_EVAL_HISTORY_BYTES;
    OPF_PUSH(eval->arena, &runs->around, runs_so_far(eval, graph->parent->graph));
    OPF_PUSH(eval->arena, &runs->values, kept ? put_away(eval, graph) : NULL);
    if (kept) eval->history_bytes += bytes;
    if (!kept) opf_eval_release_graph(eval, graph);
}

void opf_eval_free_history(opf_eval *eval) {
    for (size_t i = 0; i < eval->put_away.count; i++) free(eval->put_away.data[i]);
}

int64_t opf_eval_run_around(const opf_eval *eval, const opf_graph *graph, int64_t run) {
    const opf_eval_runs *runs = opf_map_get(&eval->runs, graph);
    return runs && run >= 0 && run < (int64_t)runs->around.count ? runs->around.data[run] : -1;
}

const opf_tensor *opf_eval_value_in(const opf_eval *eval, const opf_value *value, int64_t run) {
    if (!value->graph->parent || value->constant) return run == 0 || value->constant ? opf_eval_tensor(eval, value) : NULL;
    const opf_eval_runs *runs = opf_map_get(&eval->runs, value->graph);
    if (!runs || run < 0 || run >= (int64_t)runs->values.count || !runs->values.data[run]) return NULL;
    for (size_t i = 0; i < value->graph->values.count; i++)
        if (value->graph->values.data[i] == value) return runs->values.data[run][i].tensor;
    return NULL;
}
