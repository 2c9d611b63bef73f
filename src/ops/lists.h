/* Types of sequences and optionals. */
#ifndef OPF_OPS_LISTS_H
#define OPF_OPS_LISTS_H

#include "ops/op.h"

/* What holds of the elements of both: a value of this type may be either. (arena of the module) */
const opf_list_type *opf_list_join(opf_module *module, const opf_list_type *a, const opf_list_type *b);
bool opf_list_same(opf_module *module, const opf_list_type *a, const opf_list_type *b);
/* A sequence of tensors like this value, or an optional that holds one. Sizes that steps find stay unknown: they may differ
 * from one element to the next. */
const opf_list_type *opf_list_of(const opf_value *tensor, bool optional);
/* As a file declares it. NULL for what is neither a sequence nor an optional of tensors: maps, sequences of sequences. */
const opf_list_type *opf_list_declared(opf_module *module, const opf_type *type);

/* Loops in place of SequenceMap, which applies a graph to the elements of sequences: before typing, in all graphs. */
void opf_sequence_maps_unfold(opf_graph *graph);

#endif
