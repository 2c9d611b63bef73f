/* Sizes that nodes find as the program runs: who speaks of one runs behind the node that finds it, whether or not it reads
 * the node's results; and as long as somebody does, the node is needed. */
#include "fuse/fuser.h"
#include "ops/counts.h"

typedef struct opf_speaking {
    opf_fuser *fuser;
    int node;          /* that speaks; -1: an output of the graph */
    opf_map seen;      /* expressions that it has been found to speak of */
} opf_speaking;

static void add_need(opf_fuser *fuser, int finder, int speaker) {
    for (size_t k = 0; k < fuser->needs.count; k++)
        if (fuser->needs.data[k].finder == finder && fuser->needs.data[k].speaker == speaker)
            return;
    OPF_PUSH(fuser->arena, &fuser->needs, (opf_need){finder, speaker});
}

static bool meet(const opf_expr *e, void *data) {
    opf_speaking *speaking = data;
    opf_fuser *fuser = speaking->fuser;
    const opf_count *count = e->kind == OPF_EXPR_SYMBOL ? opf_count_of(fuser->fusion->module, e->symbol) : NULL;
    const opf_node *finder = count ? opf_node_within((opf_node *)(uintptr_t)count->node, fuser->graph) : NULL;
    if (finder && finder->id != speaking->node)
        add_need(fuser, finder->id, speaking->node);
    return true;
}

static void speak_expression(opf_speaking *speaking, const opf_expr *e) {
    if (opf_map_has(&speaking->seen, e))
        return;
    opf_map_set(&speaking->seen, e, speaking);
    opf_expr_visit(speaking->fuser->pool, e, meet, speaking);
}

static void speak_value(opf_speaking *speaking, const opf_value *value) {
    for (int k = 0; value && value->dims && k < value->rank; k++)
        speak_expression(speaking, value->dims[k]);
    for (int64_t k = 0; value && value->content && k < value->content_count; k++)
        speak_expression(speaking, value->content[k]);
}

static void speak_node(opf_speaking *speaking, const opf_node *node);

static void speak_graphs(opf_speaking *speaking, const opf_node *node) {
    for (int a = 0; a < node->n_attrs; a++) {
        const opf_attr *attr = &node->attrs[a];
        for (size_t g = 0; g < attr->count && (attr->kind == OPF_ATTR_GRAPH || attr->kind == OPF_ATTR_GRAPHS); g++) {
            for (size_t i = 0; i < attr->graphs[g]->nodes.count; i++)
                speak_node(speaking, attr->graphs[g]->nodes.data[i]);
            for (size_t i = 0; i < attr->graphs[g]->outputs.count; i++)
                speak_value(speaking, attr->graphs[g]->outputs.data[i]);
        }
    }
}

static void speak_node(opf_speaking *speaking, const opf_node *node) {
    for (int k = 0; k < node->n_inputs; k++)
        speak_value(speaking, node->inputs[k]);
    for (int k = 0; k < node->n_outputs; k++)
        speak_value(speaking, node->outputs[k]);
    speak_graphs(speaking, node);
}

void opf_fusion_find_needs(opf_fuser *fuser) {
    if (!fuser->fusion->module->counts.count)
        return;
    for (int i = -1; i < fuser->n_nodes; i++) {
        opf_speaking speaking = {fuser, i, opf_map_new(fuser->arena)};
        if (i >= 0)
            speak_node(&speaking, fuser->graph->nodes.data[i]);
        for (size_t k = 0; i < 0 && k < fuser->graph->outputs.count; k++)
            speak_value(&speaking, fuser->graph->outputs.data[k]);
    }
}

bool opf_fusion_is_needed(const opf_fuser *fuser, int node) {
    for (size_t k = 0; k < fuser->needs.count; k++) {
        const opf_need *need = &fuser->needs.data[k];
        if (need->finder == node && (need->speaker < 0 || !fuser->folded[need->speaker]))
            return true;
    }
    return false;
}
