/* What passes share. */
#ifndef OPF_PASS_EDIT_H
#define OPF_PASS_EDIT_H

#include "pass/pass.h"

opf_status opf_pass_branches(opf_graph *graph);
opf_status opf_pass_byte_tables(opf_graph *graph);
opf_status opf_pass_dead(opf_graph *graph);
opf_status opf_pass_fold_constants(opf_graph *graph);
opf_status opf_pass_gates(opf_graph *graph);
opf_status opf_pass_identity(opf_graph *graph);
opf_status opf_pass_quantised_moves(opf_graph *graph);
opf_status opf_pass_fold_batch_norm(opf_graph *graph);
opf_status opf_pass_scale_shift(opf_graph *graph);
opf_status opf_pass_transposes(opf_graph *graph);

/* A note at a node: why a pass leaves it as it is. */
void opf_pass_note(const opf_node *node, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The version of ONNX's own operators that the model imports, for a node that a pass makes: a function of the model, in which the group may
 * be written, can import no other. 13 where that is older than `least`, from which on the operator means what the pass writes. */
int opf_pass_version(const opf_graph *graph, int least);
/* Records that the node went out, into `into` (NULL: nowhere), and takes it out. Its results must be unused. */
void opf_pass_remove(opf_node *node, const char *why, const opf_node *into);
/* Is the value used by one node's input only, inside its own graph, and no output? */
bool opf_value_has_single_use(const opf_value *value);
/* Have both values the same number of axes, and of each the same size? */
bool opf_value_same_shape(const opf_value *a, const opf_value *b);
/* The value as a tensor: a constant, or all of whose elements are known as numbers (arena). NULL where it is neither. */
const opf_tensor *opf_known_tensor(const opf_value *value);
/* The numbers of a constant, or of a value that is known so, of a floating type as doubles (arena); NULL where it is none or does not have `elements`. */
double *opf_constant_numbers(const opf_value *value, int64_t elements);
/* A typed constant of the given numbers, each rounded once, in the place and with the shape of `like`; a fresh name. */
opf_value *opf_constant_like(opf_graph *graph, opf_dtype dtype, int rank, const int64_t *dims, const double *numbers);
/* The same of whole numbers: int64[count]. */
opf_value *opf_constant_ints(opf_graph *graph, int64_t count, const int64_t *numbers);

#endif
