/* Boxes that do not overlap better ones: NonMaxSuppression.
 * in: boxes [batches, n, 4], scores [batches, classes, n], [most], [overlap], [least score]. out: [count, 3] of batch, class,
 * box. ints: center_point_box. counts: count. scratch: 24 bytes a box. Absent operands: most 0, overlap 0, no least score. */
#ifndef OPF_LIB_NMS_H
#define OPF_LIB_NMS_H
#ifndef OPF_LIB_H
#include "opf_lib.h"
#endif
#ifndef OPF_LIB_TOPK_H
#include "opf_lib_topk.h"
#endif

typedef struct opf_lib_box { float low[2], high[2]; } opf_lib_box;

static inline opf_lib_box opf_lib_read_box(const float *b, int center) {
    opf_lib_box box;
    for (int k = 0; k < 2; k++) {
        float first = center ? b[k] - b[2 + k] / 2 : b[k], second = center ? b[k] + b[2 + k] / 2 : b[2 + k];
        box.low[k] = first < second ? first : second;
        box.high[k] = first < second ? second : first;
    }
    return box;
}

static inline float opf_lib_overlap(opf_lib_box a, opf_lib_box b) {
    float shared = 1, area_a = 1, area_b = 1;
    for (int k = 0; k < 2; k++) {
        float low = a.low[k] > b.low[k] ? a.low[k] : b.low[k], high = a.high[k] < b.high[k] ? a.high[k] : b.high[k];
        shared *= high > low ? high - low : 0;
        area_a *= a.high[k] - a.low[k];
        area_b *= b.high[k] - b.low[k];
    }
    float united = area_a + area_b - shared;
    return united > 0 ? shared / united : 0;
}

/* One class of one batch: candidates from the best score down, kept where they overlap none that was kept. */
static inline int64_t opf_lib_nms_class(const opf_lib_args *a, int64_t batch, int64_t class, int64_t most, float overlap, int64_t *out) {
    int64_t n = a->in[0].dims[1], classes = a->in[1].dims[1], candidates = 0, kept = 0;
    const float *boxes = (const float *)a->in[0].data + batch * n * 4, *scores = (const float *)a->in[1].data + (batch * classes + class) * n;
    opf_lib_candidate *heap = (opf_lib_candidate *)a->scratch;
    int64_t *chosen = (int64_t *)(heap + n);
    for (int64_t i = 0; i < n; i++) {
        opf_lib_tensor score = {(void *)(scores + i), OPF_LIB_F32, 0, 0};
        if (opf_lib_has(&a->in[4]) && !(scores[i] > (float)opf_lib_real(&a->in[4], 0))) continue;
        heap[candidates++] = (opf_lib_candidate){opf_lib_key(&score, 0), i};
    }
    for (int64_t i = candidates / 2 - 1; i >= 0; i--) opf_lib_sift(heap, i, candidates);
    while (candidates > 0 && kept < most) {
        int64_t i = heap[0].index;
        heap[0] = heap[--candidates];
        opf_lib_sift(heap, 0, candidates);
        opf_lib_box box = opf_lib_read_box(boxes + i * 4, a->ints[0] != 0);
        int good = 1;
        for (int64_t k = 0; k < kept && good; k++)
            good = opf_lib_overlap(box, opf_lib_read_box(boxes + chosen[k] * 4, a->ints[0] != 0)) <= overlap;
        if (!good) continue;
        out[3 * kept] = batch;
        out[3 * kept + 1] = class;
        out[3 * kept + 2] = i;
        chosen[kept++] = i;
    }
    return kept;
}

static inline void opf_lib_nms(const opf_lib_args *a) {
    int64_t most = opf_lib_has(&a->in[2]) ? opf_lib_int(&a->in[2], 0) : 0, found = 0;
    float overlap = opf_lib_has(&a->in[3]) ? (float)opf_lib_real(&a->in[3], 0) : 0;
    for (int64_t b = 0; b < a->in[1].dims[0]; b++)
        for (int64_t c = 0; c < a->in[1].dims[1]; c++)
            found += opf_lib_nms_class(a, b, c, most, overlap, (int64_t *)a->out[0].data + 3 * found);
    a->counts[0] = found;
}

#endif
