/* A stage's expression → a program over lanes. */
#include "eval/lanes.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/map.h"

typedef struct opf_lowering {
    opf_arena *arena;
    opf_lanes *lanes;
    const int64_t *symbols;
    opf_map shared;        /* expressions without loads → register + 1 */
    opf_map *guarded;      /* the same of expressions with loads, by mask + 1 */
    int n_guarded;
    opf_map reaches;       /* expression with loads → &outside where one of them may lie outside its tensor, else &inside */
    const char *why;
} opf_lowering;

static int lower(opf_lowering *l, const opf_expr *e, int mask);
static int lower_under(opf_lowering *l, const opf_expr *e, int mask);

/* ---- registers ---- */

static int new_register(opf_lowering *l, opf_register made) {
    OPF_PUSH(l->arena, &l->lanes->registers, made);
    return (int)l->lanes->registers.count - 1;
}

static const opf_register *reg(const opf_lowering *l, int index) { return &l->lanes->registers.data[index]; }
static bool is_real(const opf_expr *e) { return opf_dtype_is_float((opf_dtype)e->dtype); }

/* Makes `made` depend on a register; -1 is ignored. */
static void depend(const opf_lowering *l, int index, opf_register *made) {
    if (index < 0) return;
    made->uniform = made->uniform && reg(l, index)->uniform;
    made->lanes_only = made->lanes_only && reg(l, index)->lanes_only;
    if (reg(l, index)->level > made->level) made->level = reg(l, index)->level;
}

static int emit(opf_lowering *l, opf_instruction instruction, bool real) {
    opf_register made = {.uniform = true, .real = real, .lanes_only = true};
    depend(l, instruction.a, &made);
    depend(l, instruction.b, &made);
    depend(l, instruction.c, &made);
    depend(l, instruction.mask, &made);
    for (int i = 0; i < instruction.linear.count; i++) depend(l, instruction.linear.terms[i].reg, &made);
    instruction.out = new_register(l, made);
    OPF_PUSH(l->arena, &l->lanes->code, instruction);
    return instruction.out;
}

static opf_instruction instruction_of(opf_lanes_code code) {
    return (opf_instruction){.code = (uint8_t)code, .a = -1, .b = -1, .c = -1, .mask = -1, .tensor = -1, .axis = -1};
}

static int constant(opf_lowering *l, bool real, int64_t integer, double value) {
    int index = new_register(l, (opf_register){.uniform = true, .real = real, .lanes_only = true});
    OPF_PUSH(l->arena, &l->lanes->constants, (opf_constant){index, integer, value});
    return index;
}

/* ---- index expressions as linear forms of registers ---- */

static int64_t plus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static int64_t times(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

static void add_term(opf_lowering *l, opf_linear *linear, int index, int64_t factor) {
    for (int i = 0; i < linear->count; i++)
        if (linear->terms[i].reg == index) {
            linear->terms[i].factor = plus(linear->terms[i].factor, factor);
            return;
        }
    struct opf_linear_term *terms = OPF_ARRAY(l->arena, struct opf_linear_term, linear->count + 1);
    if (linear->count) memcpy(terms, linear->terms, (size_t)linear->count * sizeof *terms);
    terms[linear->count] = (struct opf_linear_term){index, factor};
    linear->terms = terms;
    linear->count++;
}

static bool is_constant(const opf_lowering *l, const opf_expr *e, int64_t *value) {
    if (e->kind == OPF_EXPR_INT) return *value = e->integer, true;
    if (e->kind == OPF_EXPR_SYMBOL) return *value = l->symbols[e->symbol->index], true;
    bool product = e->kind == OPF_EXPR_BINARY && e->op == OPF_OP_MUL;
    int64_t a, b;
    return product && is_constant(l, e->args[0], &a) && is_constant(l, e->args[1], &b) && opf_checked_mul(a, b, value);
}

/* linear += factor * e */
static void add_linear(opf_lowering *l, opf_linear *linear, const opf_expr *e, int64_t factor, int mask) {
    int64_t value;
    bool operation = (e->kind == OPF_EXPR_BINARY || e->kind == OPF_EXPR_UNARY) && e->dtype == OPF_INT64;
    if (is_constant(l, e, &value)) {
        linear->constant = plus(linear->constant, times(factor, value));
    } else if (operation && (e->op == OPF_OP_ADD || e->op == OPF_OP_SUB)) {
        add_linear(l, linear, e->args[0], factor, mask);
        add_linear(l, linear, e->args[1], e->op == OPF_OP_ADD ? factor : times(factor, -1), mask);
    } else if (operation && e->op == OPF_OP_NEG) {
        add_linear(l, linear, e->args[0], times(factor, -1), mask);
    } else if (operation && e->op == OPF_OP_MUL && is_constant(l, e->args[1], &value)) {
        add_linear(l, linear, e->args[0], times(factor, value), mask);
    } else if (operation && e->op == OPF_OP_MUL && is_constant(l, e->args[0], &value)) {
        add_linear(l, linear, e->args[1], times(factor, value), mask);
    } else add_term(l, linear, lower(l, e, mask), factor);
}

/* Takes what differs between lanes out of the form: a register of offsets, shared with equal forms; -1: nothing. */
static int split_lanes(opf_lowering *l, opf_linear *linear) {
    opf_instruction made = instruction_of(OPF_LANES_LINEAR);
    opf_linear uniform = {linear->constant, 0, NULL};
    for (int i = 0; i < linear->count; i++) {
        if (linear->terms[i].factor == 0) continue;
        add_term(l, reg(l, linear->terms[i].reg)->uniform ? &uniform : &made.linear, linear->terms[i].reg, linear->terms[i].factor);
    }
    *linear = uniform;
    if (made.linear.count == 0) return -1;
    for (size_t i = 0; i < l->lanes->code.count; i++) {
        const opf_instruction *other = &l->lanes->code.data[i];
        if (other->code != OPF_LANES_LINEAR || other->linear.count != made.linear.count) continue;
        bool same = true;
        for (int k = 0; k < made.linear.count; k++)
            same = same && other->linear.terms[k].reg == made.linear.terms[k].reg && other->linear.terms[k].factor == made.linear.terms[k].factor;
        if (same) return other->out;
    }
    return emit(l, made, false);
}

/* Indices that data decide are checked axis by axis, so that a wrong one is named. */
static int lower_load(opf_lowering *l, const opf_expr *e, bool magnitude, int mask) {
    const opf_operand *tensor = &l->lanes->tensors[e->index];
    opf_instruction load = instruction_of(OPF_LANES_LOAD);
    load.magnitude = magnitude;
    int64_t stride = 1;
    for (int i = e->n_args - 1; i >= 0; i--) {
        add_linear(l, &load.linear, e->args[i], stride, mask);
        if (opf_expr_has_load(e->args[i])) {
            opf_instruction check = instruction_of(OPF_LANES_CHECK);
            add_linear(l, &check.linear, e->args[i], 1, mask);
            check.a = split_lanes(l, &check.linear);
            check.mask = mask;
            check.tensor = e->index;
            check.axis = i;
            check.limit = tensor->dims[i];
            emit(l, check, false);
        }
        stride = times(stride, tensor->dims[i]);
    }
    load.a = split_lanes(l, &load.linear);
    load.mask = mask;
    load.tensor = e->index;
    load.dtype = (uint8_t)tensor->dtype;
    load.limit = tensor->elements;
    return emit(l, load, is_real(e));
}

static bool is_load(const opf_expr *e) { return e->kind == OPF_EXPR_LOAD; }
static bool is_magnitude(const opf_expr *e) { return e->kind == OPF_EXPR_UNARY && e->op == OPF_OP_ABS && is_real(e) && is_load(e->args[0]); }

/* ---- masks ---- */

static int both(opf_lowering *l, int mask, int condition, bool holds) {
    if (mask < 0 && holds) return condition;
    opf_instruction instruction = instruction_of(holds ? OPF_LANES_BINARY : OPF_LANES_AND_NOT);
    instruction.op = OPF_OP_AND;
    instruction.dtype = OPF_BOOL;
    instruction.a = mask < 0 ? constant(l, false, 1, 0) : mask;
    instruction.b = condition;
    return emit(l, instruction, false);
}

static bool is_zero(const opf_expr *e) { return e->kind == OPF_EXPR_FLOAT ? e->real == 0 && !signbit(e->real) : opf_is_value(e, 0); }

/* Does the load lie in its tensor at every point of the stage? Seen where each index is a variable or a number. */
static bool lies_inside(const opf_lowering *l, const opf_expr *load) {
    const opf_operand *tensor = &l->lanes->tensors[load->index];
    for (int i = 0; i < load->n_args; i++) {
        const opf_expr *at = load->args[i];
        int64_t last = at->kind == OPF_EXPR_VAR ? l->lanes->extents[at->index] - 1 : at->kind == OPF_EXPR_INT && at->integer >= 0 ? at->integer : INT64_MAX;
        if (last >= tensor->dims[i]) return false;
    }
    return true;
}

/* May a load in it lie outside its tensor, so that it must not be computed where a condition keeps it away? All else is computed once,
 * for every lane: under each condition anew it would be computed as often as there are ways of conditions to it. */
static bool reaches_outside(opf_lowering *l, const opf_expr *e) {
    static char inside, outside;
    if (!opf_expr_has_load(e)) return false;
    const void *known = opf_map_get(&l->reaches, e);
    if (known) return known == &outside;
    bool reaches = is_load(e) && !lies_inside(l, e);
    for (int k = 0; k < e->n_args && !reaches; k++) reaches = reaches_outside(l, e->args[k]);
    opf_map_set(&l->reaches, e, reaches ? &outside : &inside);
    return reaches;
}

static int lower_select(opf_lowering *l, const opf_expr *e, int mask) {
    opf_instruction instruction = instruction_of(OPF_LANES_SELECT);
    int condition = lower(l, e->args[0], mask);
    if (is_zero(e->args[2]) && (is_load(e->args[1]) || is_magnitude(e->args[1]))) return lower_under(l, e->args[1], both(l, mask, condition, true)); /* a masked load gives 0 */
    instruction.a = condition;
    instruction.b = lower(l, e->args[1], reaches_outside(l, e->args[1]) ? both(l, mask, condition, true) : mask);
    instruction.c = lower(l, e->args[2], reaches_outside(l, e->args[2]) ? both(l, mask, condition, false) : mask);
    return emit(l, instruction, is_real(e));
}

/* ---- expressions ---- */

/* Where a hair's breadth decides a whole step: rounding to an integer or to an 8-bit type. There the operand counts as it is
 * in its own type, since a tie in float32 may be none in double. */
static bool steps(const opf_expr *e) {
    opf_dtype to = (opf_dtype)e->dtype, from = (opf_dtype)e->args[0]->dtype;
    if (!opf_dtype_is_float(from) || from == OPF_FLOAT64) return false;
    if (e->kind == OPF_EXPR_CAST) return opf_dtype_is_integer(to) || (opf_dtype_is_float(to) && opf_dtype_bits(to) <= 8);
    return e->kind == OPF_EXPR_UNARY && (e->op == OPF_OP_ROUND || e->op == OPF_OP_FLOOR || e->op == OPF_OP_CEIL || e->op == OPF_OP_TRUNC);
}

static int lower_rounded(opf_lowering *l, const opf_expr *e, int mask) {
    int value = lower(l, e, mask);
    if (e->kind == OPF_EXPR_FLOAT || e->kind == OPF_EXPR_CAST) return value;
    opf_instruction instruction = instruction_of(OPF_LANES_CAST);
    instruction.dtype = instruction.from = e->dtype;
    instruction.a = value;
    return emit(l, instruction, true);
}

static int lower_new(opf_lowering *l, const opf_expr *e, int mask) {
    opf_instruction instruction = instruction_of(e->kind == OPF_EXPR_UNARY ? OPF_LANES_UNARY : OPF_LANES_BINARY);
    switch (e->kind) {
    case OPF_EXPR_INT: return constant(l, false, e->integer, 0);
    case OPF_EXPR_FLOAT: return constant(l, true, 0, e->real);
    case OPF_EXPR_VAR: return e->index;
    case OPF_EXPR_SYMBOL: return constant(l, false, l->symbols[e->symbol->index], 0);
    case OPF_EXPR_LOAD: return lower_load(l, e, false, mask);
    case OPF_EXPR_SELECT: return lower_select(l, e, mask);
    case OPF_EXPR_CAST:
        instruction.code = OPF_LANES_CAST;
        instruction.dtype = e->dtype;
        instruction.from = e->args[0]->dtype;
        break;
    default:
        if (is_magnitude(e)) return lower_load(l, e->args[0], true, mask);
        instruction.op = e->op;
        instruction.dtype = e->args[0]->dtype;
        if (e->n_args > 1) instruction.b = lower(l, e->args[1], mask);
    }
    instruction.a = steps(e) ? lower_rounded(l, e->args[0], mask) : lower(l, e->args[0], mask);
    return emit(l, instruction, is_real(e));
}

static opf_map *memory_of(opf_lowering *l, const opf_expr *e, int mask) {
    if (!opf_expr_has_load(e)) return &l->shared;
    if (mask + 1 >= l->n_guarded) {
        int count = (mask + 2) * 2;
        opf_map *maps = OPF_ARRAY(l->arena, opf_map, count);
        if (l->n_guarded) memcpy(maps, l->guarded, (size_t)l->n_guarded * sizeof *maps);
        for (int i = l->n_guarded; i < count; i++) maps[i] = opf_map_new(l->arena);
        l->guarded = maps;
        l->n_guarded = count;
    }
    return &l->guarded[mask + 1];
}

static int lower(opf_lowering *l, const opf_expr *e, int mask) { return lower_under(l, e, reaches_outside(l, e) ? mask : -1); }

static int lower_under(opf_lowering *l, const opf_expr *e, int mask) {
    uintptr_t known = (uintptr_t)opf_map_get(memory_of(l, e, mask), e);
    if (known) return (int)known - 1;
    int index = lower_new(l, e, mask);
    opf_map_set(memory_of(l, e, mask), e, (void *)(uintptr_t)(index + 1));
    return index;
}

/* ---- loops ---- */

/* Cuts the plain axes: whole trailing axes until there are enough lanes, then, where they are too few, a part of the next. */
static void cut_axes(opf_lanes *lanes) {
    enum { ENOUGH = 64 };
    int axis = lanes->n_axes;
    lanes->inner = 1;
    while (axis > 0 && lanes->inner < ENOUGH && lanes->inner * lanes->extents[axis - 1] <= OPF_LANES) lanes->inner *= lanes->extents[--axis];
    if (axis > 0 && lanes->inner < ENOUGH) {
        lanes->outer = axis - 1;
        lanes->chunk = OPF_LANES / lanes->inner;
    } else {
        lanes->outer = axis;
        lanes->chunk = axis < lanes->n_axes ? lanes->extents[axis] : 1;
        lanes->inner /= lanes->chunk;
    }
    int64_t extent = lanes->outer < lanes->n_axes ? lanes->extents[lanes->outer] : 1;
    lanes->blocks = (extent + lanes->chunk - 1) / lanes->chunk;
}

typedef struct opf_weight { int variable, count; } opf_weight;

static bool weigh(const opf_expr *e, void *data) {
    opf_weight *weight = data;
    bool operation = e->kind == OPF_EXPR_BINARY || e->kind == OPF_EXPR_UNARY || e->kind == OPF_EXPR_SELECT;
    weight->count += operation && opf_expr_has_var(e, weight->variable);
    return true;
}

static int64_t reduce_weight(const opf_lanes *lanes, int axis) {
    if (lanes->extents[axis] <= 1) return INT64_MAX; /* no loop at all: outermost */
    opf_weight weight = {axis, 0};
    opf_expr_visit(NULL, lanes->stage->body, weigh, &weight);
    int64_t extent = lanes->extents[axis] < 1000 ? lanes->extents[axis] : 1000;
    return weight.count * INT64_C(1000) - extent; /* heavy axes outside; of equals the long one inside */
}

static void order_reduction(opf_lanes *lanes) {
    bool fixed = lanes->exact || lanes->stage->combiner >= OPF_COMBINE_ARGMIN;
    for (int i = 0; i < lanes->n_reduce; i++) {
        int axis = lanes->n_axes + i, j = i;
        for (; !fixed && j > 0 && reduce_weight(lanes, lanes->order[j - 1]) < reduce_weight(lanes, axis); j--) lanes->order[j] = lanes->order[j - 1];
        lanes->order[j] = axis;
    }
}

static void add_variables(opf_lowering *l) {
    opf_lanes *lanes = l->lanes;
    for (int i = 0; i < lanes->n_axes; i++) lanes->level_of[i] = i < lanes->outer ? i + 1 : lanes->outer + 1;
    for (int i = 0; i < lanes->n_reduce; i++) lanes->level_of[lanes->order[i]] = lanes->outer + 2 + i;
    lanes->n_levels = lanes->outer + 2 + lanes->n_reduce;
    for (int i = 0; i < lanes->n_axes + lanes->n_reduce; i++) {
        bool lane = i >= lanes->outer && i < lanes->n_axes;
        new_register(l, (opf_register){.uniform = !lane, .lanes_only = lane, .level = lanes->level_of[i]});
    }
}

static void fill_levels(opf_lowering *l) {
    opf_lanes *lanes = l->lanes;
    int block = lanes->outer + 1;
    lanes->layout.list = OPF_ARRAY(l->arena, int, lanes->code.count);
    for (int level = 0; level < lanes->n_levels; level++) lanes->levels[level].list = OPF_ARRAY(l->arena, int, lanes->code.count);
    for (size_t i = 0; i < lanes->code.count; i++) {
        const opf_register *out = &lanes->registers.data[lanes->code.data[i].out];
        struct opf_lanes_level *level = out->level == block && out->lanes_only ? &lanes->layout : &lanes->levels[out->level];
        level->list[level->count++] = (int)i;
    }
}

static void lower_body(opf_lowering *l) {
    opf_lanes *lanes = l->lanes;
    const opf_expr *body = lanes->stage->body;
    bool product = body->kind == OPF_EXPR_BINARY && body->op == OPF_OP_MUL && is_real(body);
    lanes->second = -1;
    if (lanes->n_reduce && lanes->stage->combiner == OPF_COMBINE_SUM && product && body->dtype != OPF_FLOAT64) {
        lanes->value = -1;
        lanes->factors[0] = lower(l, body->args[0], -1);
        lanes->factors[1] = lower(l, body->args[1], -1);
        return;
    }
    lanes->value = lower(l, body, -1);
    if (lanes->stage->second) lanes->second = lower(l, lanes->stage->second, -1);
}

opf_lanes *opf_lanes_compile(opf_arena *arena, const opf_stage *stage, const opf_operand *tensors, const int64_t *extents,
                             const int64_t *symbols, bool exact, const char **why) {
    if (stage->n_axes + stage->n_reduce > OPF_LANES_AXES) return *why = "it has too many axes", NULL;
    opf_lanes *lanes = OPF_NEW(arena, opf_lanes);
    lanes->stage = stage;
    lanes->tensors = tensors;
    lanes->exact = exact;
    lanes->n_axes = stage->n_axes;
    lanes->n_reduce = stage->n_reduce;
    lanes->elements = 1;
    for (int i = 0; i < stage->n_axes + stage->n_reduce; i++) lanes->extents[i] = extents[i];
    for (int i = 0; i < stage->n_axes; i++)
        if (!opf_checked_mul(lanes->elements, extents[i], &lanes->elements)) return *why = "its size overflows 64 bits", NULL;
    opf_lowering l = {.arena = arena, .lanes = lanes, .symbols = symbols, .shared = opf_map_new(arena), .reaches = opf_map_new(arena)};
    if (lanes->elements == 0) return lanes;
    cut_axes(lanes);
    order_reduction(lanes);
    add_variables(&l);
    lower_body(&l);
    fill_levels(&l);
    opf_lanes_find_dot(lanes);
    return lanes;
}
