/* Operators written out in smaller ones: what `explain --try-decompose` tries. No pass of a build does this. */
#ifndef OPF_PASS_DECOMPOSE_H
#define OPF_PASS_DECOMPOSE_H

#include "ops/op.h"

/* Has the operator a written-out form here? (docs/explaining.md lists them; each is what its ONNX specification gives.) */
bool opf_has_decomposition(const opf_node *node);
/* Replaces a node of a typed graph by the nodes of its written-out form, which stand for it (origins). The new nodes stand at the end of the graph: it is to be
 * sorted and typed anew. False, with nothing changed, where this very node has no such form (another type, a second result). */
bool opf_decompose(opf_node *node);

#endif
