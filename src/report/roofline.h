/* The roofline plot of a profile as numbers: what the machine table allows, and where each step stands below it. */
#ifndef OPF_REPORT_ROOFLINE_H
#define OPF_REPORT_ROOFLINE_H

#include <jansson.h>

#include "report/profile.h"

/* {"threads", "runs", "run_ms", "machine", "x": [low, high] in FLOP/byte, "y": [low, high] in GFLOP/s,
 *  "roofs": [{"name": "arithmetic"|"L1"|"L2"|"L3"|"memory", "rate": GFLOP/s or GB/s, "threads", "from": [x, y], "to": [x, y]}],
 *  "steps": [{"step", "name", "kind", "ms", "share", "gflops", "gbytes": a second, "reached": of the limit, "limit", "at": [x, y],
 *  "edge", "diagnosis": text or null}]}, steps dearest first. All ends and places lie inside x and y. A step without arithmetic
 * has no place on a logarithmic axis: it stands on the left edge ("edge": true), as if it did one operation for every 1/low
 * bytes, so that its distance from a slope is its share of that bandwidth. Steps that take no time or do nothing that is counted
 * have "at": null. The caller owns the reference. */
json_t *opf_roofline_object(const opf_profile *profile);

#endif
