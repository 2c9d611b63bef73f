/* Bounds of integer operations from the bounds of their operands. */
#include "expr/node.h"

static int64_t negated(int64_t a) { return a == INT64_MIN ? INT64_MAX : a == INT64_MAX ? INT64_MIN : -a; }
static bool infinite(int64_t a) { return a == INT64_MIN || a == INT64_MAX; }

static int64_t add(int64_t a, int64_t b) {
    if (infinite(a)) return a;
    if (infinite(b)) return b;
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) return a < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

static int64_t multiply(int64_t a, int64_t b) {
    if (a == 0 || b == 0) return 0;
    int64_t product;
    if (infinite(a) || infinite(b) || __builtin_mul_overflow(a, b, &product)) return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
    return product;
}

static int64_t floor_divide(int64_t a, int64_t b) { /* b > 0 */
    if (infinite(a)) return a;
    if (infinite(b)) return a < 0 ? -1 : 0;
    return a / b - (a % b < 0);
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static const opf_interval everything = {INT64_MIN, INT64_MAX};

static opf_interval product(opf_interval a, opf_interval b) {
    int64_t p[4] = {multiply(a.low, b.low), multiply(a.low, b.high), multiply(a.high, b.low), multiply(a.high, b.high)};
    return (opf_interval){least(least(p[0], p[1]), least(p[2], p[3])), most(most(p[0], p[1]), most(p[2], p[3]))};
}

static opf_interval floor_quotient(opf_interval a, opf_interval b) {
    if (b.low < 0) return everything;
    int64_t small = most(b.low, 1), large = most(b.high, 1); /* x // 0 is 0, which lies between these for either sign */
    opf_interval q = {least(floor_divide(a.low, small), floor_divide(a.low, large)),
                      most(floor_divide(a.high, small), floor_divide(a.high, large))};
    if (b.low == 0) q = (opf_interval){least(q.low, 0), most(q.high, 0)};
    return q;
}

static opf_interval floor_remainder(opf_interval a, opf_interval b) {
    if (b.low < 0) return everything;
    int64_t top = b.high == INT64_MAX ? INT64_MAX : most(b.high - 1, 0);
    if (a.low >= 0) top = least(top, a.high);
    return (opf_interval){0, top};
}

opf_interval opf_interval_op(opf_scalar_op op, opf_interval a, opf_interval b) {
    switch (op) {
    case OPF_OP_ADD: return (opf_interval){add(a.low, b.low), add(a.high, b.high)};
    case OPF_OP_SUB: return (opf_interval){add(a.low, negated(b.high)), add(a.high, negated(b.low))};
    case OPF_OP_NEG: return (opf_interval){negated(a.high), negated(a.low)};
    case OPF_OP_MUL: return product(a, b);
    case OPF_OP_MIN: return (opf_interval){least(a.low, b.low), least(a.high, b.high)};
    case OPF_OP_MAX: return (opf_interval){most(a.low, b.low), most(a.high, b.high)};
    case OPF_OP_FLOORDIV: return floor_quotient(a, b);
    case OPF_OP_FLOORMOD: return floor_remainder(a, b);
    case OPF_OP_DIV: return a.low >= 0 && b.low >= 0 ? floor_quotient(a, b) : everything;
    case OPF_OP_FMOD: return a.low >= 0 && b.low >= 0 ? floor_remainder(a, b) : everything;
    case OPF_OP_ABS:
        if (a.low >= 0) return a;
        return (opf_interval){0, a.low == INT64_MIN ? INT64_MAX : most(negated(a.low), a.high)};
    case OPF_OP_SIGN: return (opf_interval){a.low > 0 ? 1 : a.low == 0 ? 0 : -1, a.high < 0 ? -1 : a.high == 0 ? 0 : 1};
    default: return everything;
    }
}
