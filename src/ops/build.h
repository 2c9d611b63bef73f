/* Helpers for `build` functions. All take the call; on a user error they report at the node, set call->failed and
 * return a harmless value, so a build function checks call->failed once at its end. */
#ifndef OPF_OPS_BUILD_H
#define OPF_OPS_BUILD_H

#include "ops/op.h"

/* Reports at the node: opf_call_error(call, "shape", "cannot broadcast %s with %s", …). Returns OPF_ERROR_INPUT.
 * code "unsupported" returns OPF_ERROR_UNSUPPORTED. */
opf_status opf_call_error(opf_call *call, const char *code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Says what to do about the error that was reported last. */
void opf_call_hint(opf_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline opf_value *opf_call_input(const opf_call *call, int k) { return k < call->node->n_inputs ? call->node->inputs[k] : NULL; }
bool opf_call_wants(const opf_call *call, int output); /* is this output used at all? */

/* An input whose value is needed and not known. Where it follows from the values of small graph inputs, these are noted as
 * needed by value and the call is deferred; else it is reported ("unsupported"). Returns an error in any case. */
opf_status opf_call_unknown(opf_call *call, int input);

/* Integers that an input holds (axes, shape, starts…): constant or symbolic content, as int64 expressions.
 * Returns the count; -1 where the input is absent, or (reported, "unsupported") known only at run time. */
int opf_call_content(opf_call *call, int input, const opf_expr *const **out);
/* The same, all of them constants. */
int opf_call_ints(opf_call *call, int input, const int64_t **out);
/* Axes from attribute `name` (if non-NULL and present) or else from input `input` (if >= 0 and present), made
 * non-negative against `rank`, checked for range and repetition. -1 where neither is given. */
int opf_call_axes(opf_call *call, const char *name, int input, int rank, int *axes /* OPF_MAX_RANK */);
int opf_call_axis(opf_call *call, int64_t axis, int rank); /* one axis made non-negative and checked */

/* Two dims that must be equal: equal already, or recorded as a guard, or an error for two unequal constants. Returns the
 * one to use (a constant before a symbol). */
opf_dim opf_call_same(opf_call *call, opf_dim a, opf_dim b, const char *what);
/* Numpy broadcasting of n values (absent ones skipped). Returns the rank, extents in out[OPF_MAX_RANK]. An unknown dim
 * against a constant > 1 or another unknown dim is taken to be equal (guard); against 1 it is itself. */
int opf_call_broadcast(opf_call *call, int n, opf_value *const *values, opf_dim *out);
/* Load of tensor `tensor` (an input's position) at the point of an output domain of `rank` axes under numpy
 * broadcasting: axes of size 1 read index 0. vars: position of output axis k is variable k. */
const opf_expr *opf_call_load_broadcast(opf_call *call, int tensor, int rank, const opf_dim *out);
/* Load of tensor number t (input or stage) at the given indices; rank and dtype are the tensor's. */
const opf_expr *opf_call_load(opf_call *call, int tensor, const opf_expr *const *indices);
/* Load at v0 … v(rank-1). */
const opf_expr *opf_call_load_same(opf_call *call, int tensor);
opf_dim opf_call_dim(const opf_call *call, int tensor, int axis); /* extent of an input or stage */
int opf_call_rank(const opf_call *call, int tensor);
opf_dtype opf_call_dtype(const opf_call *call, int tensor);

/* Appends a stage; returns its tensor number. extents: n_axes + n_reduce. Names may be NULL. */
int opf_call_stage(opf_call *call, const char *role, int n_axes, int n_reduce, const opf_dim *extents, const char *const *axis_names,
                   opf_combiner combiner, opf_dtype dtype, opf_dtype accumulator, const opf_expr *body, const opf_expr *second);
/* A plain stage: no reduction, dtype that of the body. */
int opf_call_map(opf_call *call, const char *role, int n_axes, const opf_dim *extents, const opf_expr *body);
/* What an emitter may use: "mean", "variance", … never meaning (opf_stage.note). */
void opf_call_note(opf_call *call, int tensor, const char *note);
/* Makes tensor (a stage) the node's output k; ignored where the node has no such output. */
void opf_call_result(opf_call *call, int output, int tensor);
/* The whole of a view: output 0 is input 0 under new extents, same order of elements (Reshape and its kin). */
opf_status opf_call_reshape(opf_call *call, int rank, const opf_dim *extents);
/* Load of a tensor under other extents, same order of elements, at v0 … v(rank-1). The products of both shapes are equal. */
const opf_expr *opf_call_load_reshaped(opf_call *call, int tensor, int rank, const opf_dim *extents);
/* Type in which a value of this type is computed: narrow floating types → float32, the others themselves. A body is
 * cast back to the value's type, so rounding happens once. */
opf_dtype opf_call_compute(opf_dtype dtype);
/* Accumulator type of a sum over values of a type: half types → float32, small ints → int32 … */
opf_dtype opf_call_accumulator(opf_dtype dtype);

/* ---- for type.c, call.c and control.c ---- */

/* Types all nodes of a graph whose inputs are typed, and their sub-graphs, anew. */
opf_status opf_graph_retype(opf_graph *graph, bool quiet);

/* The nearest branch around the node that a run may not take, NULL for none: guards of the node hold only there. */
const opf_graph *opf_call_branch(const opf_call *call);
opf_call *opf_call_new(opf_node *node, bool quiet);
/* Builds the stages of a fresh call; what opf_op_stages does. Unsupported operators are reported here. */
opf_status opf_call_run(opf_call *call);

#endif
