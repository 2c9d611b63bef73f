/* The table of passes and the walk over graphs. */
#include "pass/edit.h"

static const opf_pass passes[] = {
    {"branches", "puts branches that always run in the place of their If", OPF_PASS_ALL, opf_pass_branches},
    {"dead", "takes out nodes whose results nobody uses", OPF_PASS_ALL, opf_pass_dead},
    {"identity", "takes out nodes that hand on their input unchanged", OPF_PASS_BEST, opf_pass_identity},
    {"quantised-moves", "lets nodes that only move numbers move the integers that these were", OPF_PASS_BEST, opf_pass_quantised_moves},
    {"fold-constants", "computes nodes whose inputs are constants", OPF_PASS_BEST, opf_pass_fold_constants},
    {"byte-tables", "looks up in tables what one byte decides", OPF_PASS_BEST, opf_pass_byte_tables},
    {"transposes", "does element-wise work between transposes, or where axes of one element come and go, in the layout in front of them", OPF_PASS_BEST, opf_pass_transposes},
    {"fold-batch-norm", "moves batch normalisation, and sums and products with constants, into the weights in front of them", OPF_PASS_BEST, opf_pass_fold_batch_norm},
    {"scale-shift", "makes one product and one sum of any other batch normalisation with constant statistics", OPF_PASS_BEST, opf_pass_scale_shift},
    {"gates", "cuts a product whose pieces meet again element by element into one a piece", OPF_PASS_BEST, opf_pass_gates},
};

size_t opf_pass_count(void) { return OPF_COUNT(passes); }
const opf_pass *opf_pass_at(size_t index) { return &passes[index]; }

/* Sub-graphs first: what a graph captures is then in its final form when its own turn comes. */
static opf_status run_inside(const opf_pass *pass, opf_graph *graph) {
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const opf_node *node = graph->nodes.data[i];
        for (int a = 0; a < node->n_attrs; a++) {
            const opf_attr *attr = &node->attrs[a];
            if (attr->kind != OPF_ATTR_GRAPH && attr->kind != OPF_ATTR_GRAPHS)
                continue;
            for (size_t k = 0; k < attr->count; k++) {
                opf_status status = run_inside(pass, attr->graphs[k]);
                if (status != OPF_OK)
                    return status;
            }
        }
    }
    return pass->run(graph);
}

opf_status opf_pass_run(const opf_pass *pass, opf_module *module) {
    opf_status status = run_inside(pass, module->graph);
    return status == OPF_OK ? opf_graph_check(module->graph, pass->name) : status;
}

opf_status opf_passes_run(opf_module *module, unsigned policy) {
    for (size_t i = 0; i < OPF_COUNT(passes); i++) {
        if (!(passes[i].policies & 1u << policy))
            continue;
        opf_status status = opf_pass_run(&passes[i], module);
        if (status != OPF_OK)
            return status;
    }
    return OPF_OK;
}
