/* Relays: a contraction hands its lines to the pool or depth-wise convolution behind it, a band of lines at a time (fuse/pools.h).
 *
 * For each of its bands a part calls a nest of its own, `front`, that computes the lines that the band's windows reach into scratch; a
 * fill (loop/band.h) then takes the windows from there and stores them where they belong. Which band is a number of the front's:
 * its one symbol. */
#ifndef OPF_LOOP_RELAY_H
#define OPF_LOOP_RELAY_H

#include "loop/nest.h"

typedef struct opf_relay {
    opf_nest *front;           /* inputs: those of the nest's group; result: [1, channel, line of the band, column] in float32 */
    opf_nest *fill;            /* inputs: those of the nest's group, then the lines; given: the band */
    opf_nest *inner;           /* the same for bands inner_begin … inner_end-1, whose windows reach beyond nothing; given: the band
                                  - inner_begin. NULL where all are such */
    int64_t bands, inner_begin, inner_end;
    int64_t lines_bytes;       /* scratch of a part: the lines, then the front's own, then the fill's */
    int64_t step;              /* elements of the result from one band to the next */
} opf_relay;

/* Schedules the group as a relay: fills nest->relay, packed, units, scratch_bytes and schedule. False where it is none. */
bool opf_relay_schedule(opf_nest *nest);

#endif
