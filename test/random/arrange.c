/* Operators that only move: transpose, reshape, slice, concat, split, expand, gather, pad and their like. */
#include <string.h>

#include "maker.h"

typedef opf_value *(*family)(maker *, opf_value *);

static opf_value *transpose(maker *m, opf_value *x) {
    int64_t order[OPF_MAX_RANK];
    for (int k = 0; k < x->rank; k++) order[k] = k;
    for (int k = x->rank - 1; k > 0; k--) {
        int j = pick(m, k + 1);
        int64_t swap = order[k];
        order[k] = order[j];
        order[j] = swap;
    }
    opf_node *node = begin(m, "Transpose", 1, &x, 1);
    set_ints(node, "perm", order, x->rank);
    return finish(m, node);
}

/* Two neighbouring axes become one, or one of known size two. */
static opf_value *reshape(maker *m, opf_value *x) {
    int64_t shape[OPF_MAX_RANK + 1], size;
    int rank = 0, axis = x->rank ? pick(m, x->rank) : -1, opens = -1;
    bool merges = axis >= 0 && axis + 1 < x->rank && chance(m, 60), splits = !merges && axis >= 0 && opf_is_int(x->dims[axis], &size) && size % 2 == 0;
    for (int k = 0; k < x->rank; k++) {
        bool known = opf_is_int(x->dims[k], &size);
        if (merges && k == axis + 1) continue;
        if (splits && k == axis) shape[rank++] = 2, size /= 2;
        if (merges && k == axis) opens = rank;
        shape[rank] = merges && k == axis ? OPEN : known ? size : k == rank ? 0 : OPEN;
        rank++;
        if (!known && shape[rank - 1] == OPEN && opens >= 0 && opens != rank - 1) return NULL;
        if (shape[rank - 1] == OPEN) opens = rank - 1;
    }
    if (opens < 0 && rank && chance(m, 40)) shape[pick(m, rank)] = OPEN;
    opf_value *inputs[] = {x, constant_ints(m, shape, rank)};
    return finish(m, begin(m, "Reshape", 2, inputs, 1));
}

static opf_value *flatten(maker *m, opf_value *x) {
    opf_node *node = begin(m, "Flatten", 1, &x, 1);
    set_int(node, "axis", pick(m, x->rank + 1));
    return finish(m, node);
}

static opf_value *unsqueeze(maker *m, opf_value *x) {
    int64_t axis = pick(m, x->rank + 1);
    opf_value *inputs[] = {x, constant_ints(m, &axis, 1)};
    return finish(m, begin(m, "Unsqueeze", 2, inputs, 1));
}

static opf_value *squeeze(maker *m, opf_value *x) {
    for (int k = 0; k < x->rank; k++) {
        int64_t size, axis = k;
        if (!opf_is_int(x->dims[k], &size) || size != 1) continue;
        opf_value *inputs[] = {x, constant_ints(m, &axis, 1)};
        return finish(m, begin(m, "Squeeze", 2, inputs, 1));
    }
    return NULL;
}

static opf_value *slice(maker *m, opf_value *x) {
    static const int64_t steps[] = {1, 1, 1, 2, 3, -1, -2};
    if (!x->rank) return NULL;
    int64_t axis = pick(m, x->rank), size = size_of(m, x->dims[axis]), step = steps[pick(m, OPF_COUNT(steps))];
    if (size < 1) return NULL;
    int64_t from = pick(m, (int)size), length = 1 + pick(m, (int)(size - from)), to = from + length;
    if (step < 0) {
        int64_t first = from;
        from = to - 1;
        to = first - 1 < 0 ? INT64_MIN / 2 : first - 1;
    } else if (chance(m, 30)) {
        to = INT64_MAX;
    }
    opf_value *inputs[] = {x, constant_ints(m, &from, 1), constant_ints(m, &to, 1), constant_ints(m, &axis, 1), constant_ints(m, &step, 1)};
    return finish(m, begin(m, "Slice", 5, inputs, 1));
}

static opf_value *concat(maker *m, opf_value *x) {
    if (!x->rank) return NULL;
    opf_value *parts[3];
    int count = 2 + pick(m, 2), axis = pick(m, x->rank);
    for (int k = 0; k < count; k++) parts[k] = NULL;
    parts[pick(m, count)] = x;
    for (int k = 0; k < count; k++) {
        if (!parts[k]) parts[k] = find_like(m, x, x->dtype);
        if (!parts[k] && chance(m, 50)) parts[k] = grow_scalar(m, x);
        if (!parts[k] || parts[k]->dtype != x->dtype || parts[k]->rank != x->rank) parts[k] = x;
    }
    opf_node *node = begin(m, "Concat", count, parts, 1);
    set_int(node, "axis", chance(m, 30) ? axis - x->rank : axis);
    return finish(m, node);
}

static opf_value *split(maker *m, opf_value *x) {
    if (!x->rank) return NULL;
    int64_t axis = pick(m, x->rank), size, parts[2];
    if (!opf_is_int(x->dims[axis], &size) || size < 2) return NULL;
    parts[0] = chance(m, 50) && size % 2 == 0 ? size / 2 : 1 + pick(m, (int)size - 1);
    parts[1] = size - parts[0];
    opf_value *inputs[] = {x, constant_ints(m, parts, 2)};
    opf_node *node = begin(m, "Split", 2, inputs, 2);
    set_int(node, "axis", axis);
    return finish(m, node);
}

static opf_value *expand(maker *m, opf_value *x) {
    int64_t shape[OPF_MAX_RANK + 1], size;
    int rank = 0;
    if (chance(m, 40) && x->rank < 5) shape[rank++] = 1 + pick(m, 3);
    for (int k = 0; k < x->rank; k++) shape[rank++] = opf_is_int(x->dims[k], &size) && size == 1 ? 1 + pick(m, 5) : 1;
    opf_value *inputs[] = {x, constant_ints(m, shape, rank)};
    return finish(m, begin(m, "Expand", 2, inputs, 1));
}

static opf_value *tile(maker *m, opf_value *x) {
    int64_t times[OPF_MAX_RANK];
    for (int k = 0; k < x->rank; k++) times[k] = chance(m, 70) ? 1 : 2;
    opf_value *inputs[] = {x, constant_ints(m, times, x->rank)};
    return finish(m, begin(m, "Tile", 2, inputs, 1));
}

static opf_value *gather(maker *m, opf_value *x) {
    if (!x->rank) return NULL;
    int64_t indices[6], axis = pick(m, x->rank), size = size_of(m, x->dims[axis]);
    int count = 1 + pick(m, 6);
    if (size < 1) return NULL;
    for (int k = 0; k < count; k++) indices[k] = chance(m, 20) ? -1 - pick(m, (int)size) : pick(m, (int)size);
    opf_value *inputs[] = {x, chance(m, 20) ? constant_number(m, OPF_INT64, (double)indices[0]) : constant_ints(m, indices, count)};
    opf_node *node = begin(m, "Gather", 2, inputs, 1);
    set_int(node, "axis", axis);
    return finish(m, node);
}

static opf_value *pad(maker *m, opf_value *x) {
    static const char *const modes[] = {"constant", "constant", "edge", "reflect"};
    int64_t pads[2 * OPF_MAX_RANK] = {0};
    const char *mode = modes[pick(m, OPF_COUNT(modes))];
    for (int k = 0; k < x->rank; k++)
        for (int side = 0; side < 2; side++)
            if (chance(m, 40) && size_of(m, x->dims[k]) > 2) pads[k + side * x->rank] = strcmp(mode, "constant") == 0 && chance(m, 20) ? -1 : pick(m, 3);
    opf_value *inputs[] = {x, constant_ints(m, pads, 2 * x->rank), constant_number(m, x->dtype, pick(m, 3))};
    opf_node *node = begin(m, "Pad", strcmp(mode, "constant") == 0 && chance(m, 50) ? 3 : 2, inputs, 1);
    set_string(node, "mode", mode);
    return finish(m, node);
}

static opf_value *space(maker *m, opf_value *x) {
    opf_node *node = begin(m, chance(m, 50) ? "DepthToSpace" : "SpaceToDepth", 1, &x, 1);
    set_int(node, "blocksize", 2);
    if (strcmp(node->op, "DepthToSpace") == 0 && chance(m, 50)) set_string(node, "mode", "CRD");
    return finish(m, node);
}

/* Channel shuffle, or heads of attention: an axis in two, the two exchanged, one again. */
static opf_value *shuffle(maker *m, opf_value *x) {
    int64_t size, order[OPF_MAX_RANK + 1], shape[OPF_MAX_RANK + 1];
    if (x->rank < 2 || x->rank > 4 || !opf_is_int(x->dims[1], &size) || size % 2) return NULL;
    for (int k = 0; k <= x->rank; k++) order[k] = k == 1 ? 2 : k == 2 ? 1 : k;
    for (int k = 0, at = 0; k < x->rank; k++) {
        int64_t known;
        if (!opf_is_int(x->dims[k], &known)) return NULL;
        if (k == 1) shape[at++] = 2, known /= 2;
        shape[at++] = known;
    }
    opf_value *first[] = {x, constant_ints(m, shape, x->rank + 1)}, *halves = finish(m, begin(m, "Reshape", 2, first, 1));
    if (!halves) return NULL;
    opf_node *node = begin(m, "Transpose", 1, &halves, 1);
    set_ints(node, "perm", order, x->rank + 1);
    opf_value *turned = finish(m, node);
    if (!turned) return NULL;
    for (int k = 0; k < x->rank; k++) opf_is_int(x->dims[k], &shape[k]);
    opf_value *last[] = {turned, constant_ints(m, shape, x->rank)};
    return finish(m, begin(m, "Reshape", 2, last, 1));
}

static opf_value *triangle(maker *m, opf_value *x) {
    opf_node *node = begin(m, "Trilu", 1, &x, 1);
    set_int(node, "upper", pick(m, 2));
    return finish(m, node);
}

opf_value *grow_arranged(maker *m, opf_value *x) {
    static const family families[] = {transpose, transpose, reshape, reshape, flatten, unsqueeze, squeeze, slice, slice, concat, concat, split, split, expand, tile, gather, pad, pad, space, shuffle, triangle};
    return families[pick(m, OPF_COUNT(families))](m, x);
}
