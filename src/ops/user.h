/* A user's own operators: lines in the language of scalar.ops, given to a context. They are looked up before opfuse's own;
 * one that takes the place of a built-in operator says `replaces`. */
#ifndef OPF_OPS_USER_H
#define OPF_OPS_USER_H

#include "base/hash.h"
#include "ops/op.h"

typedef struct opf_user_ops opf_user_ops;

opf_user_ops *opf_user_ops_new(opf_arena *arena); /* lives and dies with the arena */

/* Adds the operators of a text. Every problem is reported ("operators", with line and column), and nothing is added then:
 * OPF_ERROR_INPUT. `source` names the text in messages (a file, or what the caller calls it). */
opf_status opf_user_ops_add(opf_user_ops *ops, const char *text, const char *source, opf_diags *diags);

/* ops may be NULL: none. As opf_op_find and opf_op_first (op.h) have it. */
const opf_op *opf_user_ops_find(const opf_user_ops *ops, const char *domain, const char *name, int opset);
const opf_op *opf_user_ops_first(const opf_user_ops *ops, const char *domain, const char *name);
/* Of all texts that were added, with their names: the same key, the same operators. */
opf_hash opf_user_ops_key(const opf_user_ops *ops);
size_t opf_user_ops_count(const opf_user_ops *ops);
const opf_op *opf_user_ops_at(const opf_user_ops *ops, size_t index); /* in the order in which they were added */
/* The name of the text that an operator comes from; NULL for a built-in one. */
const char *opf_op_source(const opf_op *op);

#endif
