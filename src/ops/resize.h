/* Resize and Upsample: what resize.c reads from the node, and resample.c turns into stages.
 *
 * Coordinates are exact. A scale is a fraction of integers: sizes give out / in, and a floating scale is read as the simplest
 * fraction that rounds to it (0.6f is 3/5, as its writer meant). So which elements a position reads is integer arithmetic,
 * the same in the evaluator and in generated code of any precision; only weights are floating. */
#ifndef OPF_OPS_RESIZE_H
#define OPF_OPS_RESIZE_H

#include "ops/index.h"

typedef enum opf_resize_mode { OPF_RESIZE_NEAREST, OPF_RESIZE_LINEAR, OPF_RESIZE_CUBIC } opf_resize_mode;

typedef enum opf_resize_nearest {
    OPF_NEAREST_ROUND_PREFER_FLOOR, OPF_NEAREST_ROUND_PREFER_CEIL, OPF_NEAREST_FLOOR, OPF_NEAREST_CEIL,
    OPF_NEAREST_SIMPLE /* before opset 11: ceil where the axis shrinks, else floor */
} opf_resize_nearest;

typedef struct opf_fraction { const opf_expr *numerator, *denominator; } opf_fraction; /* denominator > 0 */

typedef struct opf_resize_axis {
    opf_dim input, output;
    bool kept;                /* the axis stays as it is */
    opf_fraction scale;
    opf_fraction coordinate;  /* of position v(axis), in the input's own coordinates; not set where `kept` */
} opf_resize_axis;

typedef struct opf_resize {
    int rank;
    opf_resize_mode mode;
    opf_resize_nearest nearest;
    double cubic_coefficient;
    bool antialias, exclude_outside;
    bool extrapolates;        /* tf_crop_and_resize: positions outside the input take the value below */
    double extrapolation_value;
    opf_resize_axis axes[OPF_MAX_RANK];
} opf_resize;

/* Appends the stages and makes the last one output 0. */
opf_status opf_call_resample(opf_call *call, const opf_resize *resize);

/* Keys' cubic at distance x in [0, 1] and in [1, 2] of the tap, coefficient a. */
const opf_expr *opf_cubic_near(opf_call *call, const opf_expr *x, double a);
const opf_expr *opf_cubic_far(opf_call *call, const opf_expr *x, double a);

#endif
