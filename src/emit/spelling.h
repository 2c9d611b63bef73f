/* How C spells what kernels are made of; shared by the emitters. */
#ifndef OPF_EMIT_SPELLING_H
#define OPF_EMIT_SPELLING_H

#include "emit/emit.h"

const char *opf_emit_value_ctype(opf_dtype dtype); /* of a local that holds a value (opf_dtype_held) */
const char *opf_emit_local_ctype(opf_dtype dtype, const opf_expr *e); /* of a local of this type that is e, and does not change */
const char *opf_emit_suffix(opf_dtype dtype);      /* of the prelude's helpers: "f32", "i64", … */
bool opf_emit_is_narrow(opf_dtype dtype);          /* floating, held as float32, stored as a code */
bool opf_emit_can_type(opf_dtype dtype);           /* false: kernels cannot hold this element type */
bool opf_emit_is_word(const char *name);           /* a keyword of C, or a name that every kernel has */

/* Like opf_emit_expr, in parentheses where it is no primary expression. */
void opf_emit_operand(const opf_expr *e, const opf_emit_scope *scope, opf_text *out);

/* The code of a value of a narrow floating type, or the bits of one of a packed type: what is stored. */
void opf_emit_code(const opf_expr *e, const opf_emit_scope *scope, opf_text *out);
/* A float rounded to a narrow floating type, as a float. */
void opf_emit_round(opf_dtype to, const char *number, opf_text *out);
bool opf_emit_is_number_of(const opf_expr *e, opf_dtype dtype); /* without being rounded to the type (two bytes) */
/* What the last rounding of a narrow floating value rounds, where that is a float; else the value. */
static inline const opf_expr *opf_emit_unrounded(const opf_expr *e) { return e->kind == OPF_EXPR_CAST && e->args[0]->dtype == OPF_FLOAT32 ? e->args[0] : e; }
/* The value of element `offset` of an argument: converted where it is stored otherwise than held. */
void opf_emit_element(opf_dtype stored, const char *place, const char *offset, opf_text *out);

/* "c + 2 * pitch + 3 * OPF_LANES" without what is nothing; pitch may be NULL. In the arena. */
const char *opf_emit_vector_at(const char *base, int rows, const char *pitch, int vectors, opf_arena *arena);

/* Like opf_emit_expr for the index of an element: written with C's own operators. */
void opf_emit_index(const opf_expr *e, const opf_emit_scope *scope, opf_text *out);

/* Constants that minima and maxima of float32 take are locals of the kernel, named after their value: those that the statements name. */
void opf_emit_limits(const char *statements, opf_text *out);

/* The comment above a kernel. */
void opf_emit_banner(const opf_nest *nest, opf_text *out);

#endif
