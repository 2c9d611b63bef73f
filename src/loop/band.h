/* Bands: a window (a depth-wise convolution, a pool) in front of a product at single points, computed a few lines at a time.
 *
 * The product reads its second operand from the part's scratch, as it reads a window's copy; what copies there is a *fill*:
 * a nest of its own that computes the lines that the unit's columns need, for all channels. Nothing between the two is
 * stored whole. */
#ifndef OPF_LOOP_BAND_H
#define OPF_LOOP_BAND_H

#include "fuse/bands.h"
#include "loop/nest.h"

/* How a nest fills a buffer for what stands around it: its first axes have values there, and element (i…) of the result lies
 * at the sum of i * strides[i] over the others. */
typedef struct opf_fill {
    int n_given;
    const opf_dim *strides;    /* one an axis of the result */
} opf_fill;

/* The nest of the group's single result; not shared by parts. Its `given` are the variables of the first axes. */
opf_nest *opf_nest_fill(const opf_group *group, const opf_machine *machine, const opf_fill *fill);

#endif
