/* A window (a depth-wise convolution, a pool) in front of a product at single points: both can be one nest that computes the
 * window's result a few lines at a time, for all channels, where the product reads it (loop/band.h). */
#ifndef OPF_FUSE_BANDS_H
#define OPF_FUSE_BANDS_H

#include "fuse/fuse.h"

/* The stage in front of the anchor (stage `anchor`) of a product at single points that is computed in bands: the one value
 * that the anchor multiplies with, made by one window of known taps and element-wise work, rank 4, read by the anchor alone.
 * -1: there is none. chain[s], one a stage, false before: is stage s the window, or what follows it up to that value? */
int opf_band_stage(const opf_stages *stages, int anchor, opf_pool *pool, bool *chain);

#endif
