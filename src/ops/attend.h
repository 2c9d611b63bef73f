/* Scaled dot-product attention over heads: what Attention of ONNX and the attentions of ONNX Runtime share. */
#ifndef OPF_OPS_ATTEND_H
#define OPF_OPS_ATTEND_H

#include "ops/index.h"

/* How a tensor holds elements that are named by batch, head, position and channel. */
typedef enum opf_heads_form {
    OPF_HEADS_MAJOR, /* [batch, head, position, channel] */
    OPF_HEADS_MINOR, /* [batch, position, (first +) head * size + channel] */
    OPF_HEADS_PACKED /* [batch, position, head, part, channel] */
} opf_heads_form;

typedef struct opf_heads {
    int tensor;
    opf_heads_form form;
    opf_dim batch, heads, length, size; /* length: of the tensor itself */
    opf_dim first;                      /* MINOR: the channel at which head 0 starts */
    int part;                           /* PACKED */
    int bias;                           /* a vector added by channel, -1: none */
    opf_dim bias_first;                 /* where head 0 starts in it */
    int past;                           /* [batch, head, past_length, channel] that goes before, -1: none */
    opf_dim past_length;                /* 0 without */
} opf_heads;

/* A tensor of rank 4 (MAJOR), or of rank 3 (MINOR) with `heads` heads, which must divide its channels. */
opf_heads opf_heads_of(opf_call *call, int tensor, int64_t heads);
/* Names the tensor that goes before along the positions; its extents are checked. */
void opf_heads_after(opf_call *call, opf_heads *heads, int past);
/* Positions, past ones included. */
opf_dim opf_heads_total(opf_call *call, const opf_heads *heads);
/* The element, in the tensor's own type; `position` counts past ones. */
const opf_expr *opf_heads_load(opf_call *call, const opf_heads *heads, const opf_expr *batch, const opf_expr *head, const opf_expr *position, const opf_expr *channel);
/* A stage that holds all of it, [batch, head, position, channel]; `heads` becomes that stage. */
void opf_heads_whole(opf_call *call, opf_heads *heads, const char *role);

typedef struct opf_attention {
    opf_heads q, k, v;
    opf_dtype dtype;       /* of the result */
    opf_dtype softmax;     /* type in which weights are computed */
    const opf_expr *scale; /* of the products, in the computing type of dtype */
    double softcap;        /* 0: none */
    /* What follows, at the point v0 (batch), v1 (head), v2 (query), v3 (key): */
    const opf_expr *added;   /* to the score, in the computing type; NULL: nothing */
    const opf_expr *allowed; /* NULL: always; else scores where it is false are `masked` */
    double masked;           /* -infinity, or ONNX Runtime's large negative number */
    bool adds_masked;        /* the number is added to the score instead of replacing it */
    const opf_expr *sink;    /* one more score of each row, which no value follows; NULL: none */
} opf_attention;

/* Stages of one attention, by tensor number; all [batch, head, query, key] but the result. */
typedef struct opf_attention_stages {
    int scores;  /* scaled products */
    int capped;  /* after the soft cap */
    int biased;  /* after added and allowed */
    int weights; /* probabilities; a row in which nothing is allowed is 0 */
    int result;  /* [batch, head, query, channel], of type dtype */
} opf_attention_stages;

opf_attention_stages opf_attend(opf_call *call, const opf_attention *attention);
/* The result as [batch, query, head * size]. */
int opf_attend_merge(opf_call *call, int result);

/* 1 / sqrt(size) unless attribute `name` gives another number, in type `compute`. */
const opf_expr *opf_attend_scale(opf_call *call, const char *name, opf_dim size, opf_dtype compute);
/* The element of a mask that broadcasts, aligned at its last axis, to v0 … v3 with these extents. Where its last axis may be
 * shorter than the keys, *inside becomes the condition under which there is an element, else it is left. */
const opf_expr *opf_attend_mask(opf_call *call, int input, const opf_dim *extents, const opf_expr **inside);

/* FlexAttention: the type that scores and probabilities have; OPF_NO_DTYPE where the attribute names none that will do. */
opf_dtype opf_flex_precision(const opf_node *node);
/* Writes out those that sub-graphs modify (attention_unfold.c); true where there were any: all is to be typed anew. */
bool opf_flex_attention_unfold(opf_graph *graph);

#endif
