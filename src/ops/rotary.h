/* Rotary position embeddings, for the operator and for attentions that rotate their own operands. */
#ifndef OPF_OPS_ROTARY_H
#define OPF_OPS_ROTARY_H

#include "ops/attend.h"

typedef struct opf_rotation {
    int cosine, sine;    /* [rows, size / 2], or [batch, position, size / 2] where row is NULL */
    const opf_expr *row; /* of the caches at the point that is asked for; inside their range */
    opf_dim size;        /* channels that are rotated; the rest stays */
    bool interleaved;    /* neighbours form a pair; else channels half the size apart */
} opf_rotation;

/* The rotated element, in the type in which the tensor's type is computed. */
const opf_expr *opf_rotated(opf_call *call, const opf_heads *heads, const opf_rotation *rotation, const opf_expr *batch, const opf_expr *head,
                            const opf_expr *position, const opf_expr *channel);

#endif
