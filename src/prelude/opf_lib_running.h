/* Running sums and products along one axis. in: X (and the axis, which is known). out: Y of X's dims and type. ints: axis, exclusive,
 * reverse, product. Floating numbers accumulate in double and are rounded once an element; integers wrap. The lines beside
 * each other advance together: scratch holds eight bytes for each element behind the axis. */
#ifndef OPF_LIB_RUNNING_H
#define OPF_LIB_RUNNING_H
#ifndef OPF_LIB_H
#include "opf_lib.h"
#endif

/* One row of float32 elements: what has run up before it goes out where `exclusive` asks for that, else what has with it. */
static inline void opf_lib_running_f32(double *restrict sum, const float *restrict x, float *restrict y, int64_t n, int exclusive, int product) {
    if (product) {
        for (int64_t k = 0; k < n; k++) {
            double before = sum[k], after = before * (double)x[k];
            sum[k] = after;
            y[k] = (float)(exclusive ? before : after);
        }
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        double before = sum[k], after = before + (double)x[k];
        sum[k] = after;
        y[k] = (float)(exclusive ? before : after);
    }
}

static inline void opf_lib_running_real(double *sum, const opf_lib_tensor *x, const opf_lib_tensor *y, int64_t at, int64_t n, int exclusive, int product) {
    for (int64_t k = 0; k < n; k++) {
        double before = sum[k], after = product ? before * opf_lib_real(x, at + k) : before + opf_lib_real(x, at + k);
        sum[k] = after;
        opf_lib_set_real(y, at + k, exclusive ? before : after);
    }
}

static inline void opf_lib_running_int(uint64_t *sum, const opf_lib_tensor *x, const opf_lib_tensor *y, int64_t at, int64_t n, int exclusive, int product) {
    for (int64_t k = 0; k < n; k++) {
        uint64_t before = sum[k], element = (uint64_t)opf_lib_int(x, at + k), after = product ? before * element : before + element;
        sum[k] = after;
        opf_lib_set_int(y, at + k, (int64_t)(exclusive ? before : after));
    }
}

static inline void opf_lib_running(const opf_lib_args *a) {
    const opf_lib_tensor *x = &a->in[0], *y = &a->out[0];
    int axis = (int)a->ints[0], exclusive = (int)a->ints[1], reverse = (int)a->ints[2], product = (int)a->ints[3];
    int64_t lines = opf_lib_product(x->dims, 0, axis), length = x->dims[axis], inner = opf_lib_product(x->dims, axis + 1, x->rank);
    for (int64_t line = 0; line < lines; line++) {
        double *real = a->scratch;
        uint64_t *whole = a->scratch;
        for (int64_t k = 0; k < inner; k++) {
            if (opf_lib_is_float(x->dtype)) real[k] = product;
            else whole[k] = (uint64_t)product;
        }
        for (int64_t i = 0; i < length; i++) {
            int64_t at = (line * length + (reverse ? length - 1 - i : i)) * inner;
            if (x->dtype == OPF_LIB_F32) opf_lib_running_f32(real, (const float *)x->data + at, (float *)y->data + at, inner, exclusive, product);
            else if (opf_lib_is_float(x->dtype)) opf_lib_running_real(real, x, y, at, inner, exclusive, product);
            else opf_lib_running_int(whole, x, y, at, inner, exclusive, product);
        }
    }
}

#endif
