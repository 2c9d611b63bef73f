/* For qsort. */
#ifndef OPF_BASE_ORDER_H
#define OPF_BASE_ORDER_H

/* Two doubles, the smaller one first. */
static inline int opf_ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#endif
