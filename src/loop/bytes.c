/* Results several elements of which share a byte: a stage of bytes follows the stage of elements, and is what is stored. Each
 * byte is written once, whole, by one point of a domain like any other: parts never meet in a byte, and the bits behind the
 * last element are 0. (Reading needs no care: loads pick their bits.) */
#include "loop/scheduler.h"

typedef struct packing {
    opf_scheduler *s;
    const opf_stage *elements;
    int number;               /* of the stage of elements */
    int64_t bits, each;       /* per element; elements a byte */
    bool by_rows;             /* whole bytes along the last axis: the other axes stay */
} packing;

static opf_dim count_of(const packing *p) { return opf_stage_elements(p->elements, p->s->pool); }

/* The indices of element `k` of a byte, over the byte stage's axes; the condition under which it exists, NULL: always. */
static const opf_expr *indices_of(const packing *p, int64_t k, const opf_expr **indices) {
    opf_pool *pool = p->s->pool;
    const opf_stage *stage = p->elements;
    int last = stage->n_axes - 1;
    const opf_expr *byte = opf_var(pool, p->by_rows ? last : 0), *each = opf_int(pool, p->each);
    const opf_expr *element = opf_add(pool, opf_mul(pool, byte, each), opf_int(pool, k));
    if (p->by_rows) {
        for (int i = 0; i < last; i++) indices[i] = opf_var(pool, i);
        indices[last] = element;
        return NULL;
    }
    opf_dim inner = opf_int(pool, 1);
    for (int i = last; i >= 0; i--) {
        indices[i] = opf_floordiv(pool, element, inner);
        if (i > 0) indices[i] = opf_floormod(pool, indices[i], stage->extents[i]);
        inner = opf_mul(pool, inner, stage->extents[i]);
    }
    return opf_binary(pool, OPF_OP_LT, element, count_of(p));
}

static const opf_expr *byte_of(const packing *p) {
    opf_pool *pool = p->s->pool;
    const opf_expr *byte = NULL;
    for (int64_t k = 0; k < p->each; k++) {
        const opf_expr *indices[OPF_MAX_RANK], *exists = indices_of(p, k, indices);
        const opf_expr *value = opf_load(pool, p->elements->dtype, p->s->n_inputs + p->number, p->elements->n_axes, indices);
        const opf_expr *code = opf_unary(pool, OPF_OP_CODE, value);
        if (k > 0) code = opf_binary(pool, OPF_OP_SHL, code, opf_int_of(pool, OPF_UINT8, k * p->bits));
        if (k > 0 && exists) code = opf_select(pool, exists, code, opf_int_of(pool, OPF_UINT8, 0)); /* a byte has a first element */
        byte = byte ? opf_binary(pool, OPF_OP_BITOR, byte, code) : code;
    }
    return byte;
}

int opf_add_bytes(opf_scheduler *s, int number) {
    const opf_stage *elements = s->stages[number];
    opf_pool *pool = s->pool;
    int64_t bits = opf_dtype_bits(elements->dtype), extent;
    packing p = {.s = s, .elements = elements, .number = number, .bits = bits, .each = 8 / bits};
    int last = elements->n_axes - 1;
    p.by_rows = last >= 0 && opf_is_int(elements->extents[last], &extent) && extent % p.each == 0;
    opf_stage *bytes = OPF_NEW(s->arena, opf_stage);
    *bytes = (opf_stage){.name = opf_arena_printf(s->arena, "%s, as bytes", elements->name ? elements->name : "elements"),
                         .n_axes = p.by_rows ? elements->n_axes : 1, .dtype = OPF_UINT8, .accumulator = OPF_UINT8, .origin = elements->origin};
    bytes->extents = OPF_ARRAY(s->arena, opf_dim, bytes->n_axes);
    bytes->axis_names = OPF_ARRAY(s->arena, const char *, bytes->n_axes);
    for (int i = 0; i < bytes->n_axes - 1; i++) {
        bytes->extents[i] = elements->extents[i];
        bytes->axis_names[i] = elements->axis_names && elements->axis_names[i] ? elements->axis_names[i] : opf_arena_printf(s->arena, "%d", i);
    }
    opf_dim all = p.by_rows ? elements->extents[last] : count_of(&p);
    bytes->extents[bytes->n_axes - 1] = opf_ceildiv(pool, all, opf_int(pool, p.each));
    bytes->axis_names[bytes->n_axes - 1] = "byte";
    bytes->body = byte_of(&p);
    s->padding[s->n_stages] = -1;
    s->stages[s->n_stages] = bytes;
    return s->n_stages++;
}
