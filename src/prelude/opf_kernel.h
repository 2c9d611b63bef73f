/* How a kernel finds its share of the work. */
#ifndef OPF_KERNEL_H
#define OPF_KERNEL_H

#include <stdint.h>

typedef struct opf_span { int64_t begin, end; } opf_span;

/* Part `part` of `parts` of the units 0 … count-1: the first count % parts parts get one more. */
static inline opf_span opf_share(int64_t count, int part, int parts) {
    int64_t each = count / parts, more = count % parts;
    int64_t begin = part * each + (part < more ? part : more);
    return (opf_span){begin, begin + each + (part < more)};
}

#endif
