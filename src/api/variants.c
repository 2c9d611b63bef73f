/* Variants of a program, found by the values that they were made for. */
#include "api/variants.h"

#include <stdlib.h>

#include "api/session.h"

enum { MOST_VARIANTS = 32 };

typedef struct variant {
    opf_model *model;      /* bound */
    opf_session *session;
    int64_t used;          /* when, by the table's count of calls */
} variant;

struct opf_variants {
    opf_model *model;
    opf_policy policy;
    bool tap_all, silent, empty;
    int64_t calls;
    int count;
    variant list[MOST_VARIANTS];
};

opf_variants *opf_variants_new(opf_model *model, opf_policy policy, bool tap_all, bool silent) {
    opf_variants *variants = calloc(1, sizeof *variants);
    if (!variants) opf_out_of_memory();
    variants->model = model;
    variants->policy = policy;
    variants->tap_all = tap_all;
    variants->silent = silent;
    return variants;
}

opf_variants *opf_variants_new_empty(opf_model *model, opf_policy policy, bool tap_all) {
    opf_variants *variants = opf_variants_new(model, policy, tap_all, true);
    variants->empty = true;
    return variants;
}

static void release(variant *v) {
    opf_session_free(v->session);
    opf_model_free(v->model);
    *v = (variant){0};
}

void opf_variants_free(opf_variants *variants) {
    if (!variants) return;
    for (int i = 0; i < variants->count; i++) release(&variants->list[i]);
    free(variants);
}

static int longest_unused(const opf_variants *variants) {
    int oldest = 0;
    for (int i = 1; i < variants->count; i++)
        if (variants->list[i].used < variants->list[oldest].used) oldest = i;
    return oldest;
}

static opf_status add(opf_session **out, opf_variants *variants, const opf_array *inputs) {
    variant v = {.used = variants->calls};
    opf_status status = variants->empty ? opf_model_bind_empty(&v.model, variants->model, inputs) : opf_model_bind(&v.model, variants->model, inputs);
    bool plain = !variants->tap_all && !variants->silent && variants->policy == variants->model->context->options.policy; /* v.model: NULL where binding failed */
    if (status == OPF_OK)
        status = plain ? opf_session_new(&v.session, v.model) : opf_session_make(&v.session, v.model, variants->policy, variants->tap_all, variants->silent);
    if (status != OPF_OK || !v.session) {
        release(&v);
        return status;
    }
    int place = variants->count < MOST_VARIANTS ? variants->count++ : longest_unused(variants);
    release(&variants->list[place]);
    variants->list[place] = v;
    *out = v.session;
    return OPF_OK;
}

opf_status opf_variants_find(opf_session **out, opf_variants *variants, const opf_array *inputs) {
    *out = NULL;
    variants->calls++;
    for (int i = 0; i < variants->count; i++) {
        if (!opf_model_holds_all(variants->list[i].model, inputs)) continue;
        variants->list[i].used = variants->calls;
        *out = variants->list[i].session;
        return OPF_OK;
    }
    return add(out, variants, inputs);
}
