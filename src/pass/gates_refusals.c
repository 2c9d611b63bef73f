/* Why pieces of a product are no gates (gates_find.c), and what would make them such: one note for each product whose result is cut. */
#include "pass/gates.h"

#include <stdio.h>

typedef struct opf_gate_sentence { const char *id, *why, *remedy; } opf_gate_sentence;

/* %s: the node in the way. */
static const opf_gate_sentence sentences[] = {
    [OPF_GATES_CONSTANTS] = {"gates-constants", "'%s' has no weights that are constants of at most 4194304 numbers in float32", "such weights"},
    [OPF_GATES_WIDTHS] = {"gates-widths", "'%s' gives pieces of another width than those before", "pieces of equal width"},
    [OPF_GATES_NARROW] = {"gates-narrow", "'%s' gives pieces of fewer than 8 columns, which fill no vector", "wider pieces"},
    [OPF_GATES_MANY] = {"gates-many", "'%s' gives more than 4 pieces, the most that one register tile computes side by side", "products of four pieces each"},
    [OPF_GATES_OVERLAP] = {"gates-overlap", "a piece of '%s' does not begin at a multiple of its width, or is there twice", "pieces side by side, each once"},
    [OPF_GATES_COLUMNS] = {"gates-columns", "'%s' takes no columns that lie side by side, with all rows", "pieces along the last axis, in steps of one"},
    [OPF_GATES_REST] = {"gates-rest", "'%s' leaves columns out", "pieces that take all columns"},
    [OPF_GATES_WHOLE] = {"gates-whole", "'%s' reads all columns at once", "a reader of the pieces, or a product of its own for it"},
    [OPF_GATES_OUTPUT] = {"gates-output", "a piece of '%s' is a model output, which is stored in any case", "taking it off the model's outputs"},
    [OPF_GATES_READERS] = {"gates-readers", "'%s' reads a piece and is no element-wise work of the piece's own shape", "only such work behind the pieces"},
    [OPF_GATES_ADDED] = {"gates-added", "what is added in front of '%s' has neither all the columns nor one for all", "adding it to each piece"},
};

void opf_gates_note(const opf_node *product, const opf_gate_set *set) {
    const opf_gate_sentence *sentence = &sentences[set->refusal];
    char why[256];
    if (set->refusal == OPF_GATES_FIT)
        return;
    snprintf(why, sizeof why, sentence->why, set->blocker ? set->blocker->name : product->name);
    opf_pass_note(product, "its columns are cut, but not computed piece by piece [%s]: %s; would be allowed by: %s", sentence->id, why, sentence->remedy);
}
