/* Inside of the scheduler: from a group's stages to a tree of statements. Private to src/loop.
 *
 * window.c   padding of small windows as stages of its own; window_plane.c: windows over planes of narrow lines,
 *            window_behind.c: what follows them
 * bytes.c    results several elements of which share a byte
 * divide.c   divisions by what is computed once for many elements; power.c: e^x where x cannot be above 0
 * expand.c   which stages are kept; every other one is inlined
 * attach.c   where kept stages are computed, and over which variables; batch.c: planes for several values of the axis around
 * linear.c   loads at multi-dimensional indices → offsets; conditions that guard loads
 * axes.c     axes split by the factors that divisions ask for, and merged where everything walks alike
 * ranges.c   where a condition on a variable changes
 * code.c     statements
 * body.c     the innermost statements: common sub-expressions, invariants hoisted
 * interleave.c phases of elements side by side
 * step.c     lines of windows that are computed together
 * leaf.c     map nests
 * transpose.c blocks of what is read crosswise
 * phases.c   one transcendental function a loop, and a few operands
 * past.c     stores past the caches
 * jam.c      short rows side by side
 * reduce.c   reductions
 * root.c     roots: results, their kept stages, their loops
 * blocks.c   the same in blocks of rows, with register tiles (product.c); in blocks of columns too (stream.c)
 * scheduler.c variables, buffers, axes
 * schedule.c the whole */
#ifndef OPF_LOOP_SCHEDULER_H
#define OPF_LOOP_SCHEDULER_H

#include "loop/band.h"
#include "loop/nest.h"

enum {
    OPF_MOST_AXES = 3 * OPF_MAX_RANK,
    OPF_CHUNK = 512,           /* elements of a chunk: 2 KiB of float32, which the first cache holds several of */
    OPF_SHARE_BLOCK = 4096,    /* elements of a single loop that a part takes at once */
    OPF_STACK_ELEMENTS = 4096, /* a larger buffer is scratch */
    OPF_MOST_BOXES = 512       /* pieces that a domain is cut into */
};

/* Variables in loop order, outermost first. */
typedef struct opf_axes { int count, at[OPF_MOST_AXES]; } opf_axes;

/* A loop with bounds. */
typedef struct opf_range {
    int variable;
    const opf_expr *from, *to;
    int64_t step;              /* 0: 1 */
    int start;                 /* with a step: the variable that holds `at`, the start of the iteration's own elements; may be `variable` */
    const opf_expr *at;
    bool independent;
    bool open;                 /* of unknown length: in blocks where it is long enough (body.c) */
} opf_range;
typedef struct opf_ranges { int count; opf_range at[OPF_MOST_AXES]; } opf_ranges;

/* buffer[offset] = value */
typedef struct opf_target { int buffer; const opf_expr *offset, *value; } opf_target;
typedef struct opf_targets { OPF_VEC(opf_target) list; } opf_targets;

/* Places that hold expressions, for what is done to all of them alike. */
typedef struct opf_slots { OPF_VEC(const opf_expr **) list; } opf_slots;

/* A kept stage under one root. */
typedef struct opf_item {
    int stage;
    int axis[OPF_MAX_RANK];    /* per axis of the stage: the variable that stands for it; -1: extent 1 */
    opf_axes bound;            /* those of them that are the root's */
    opf_axes free;             /* the others, in the stage's order */
    opf_axes reduce;
    bool streams;              /* a block of `streamed`, one of its own axes, exists at a time (stream.c) */
    int streamed;
    const opf_expr *term, *second;
    int depth;                 /* root loops outside */
    const opf_expr *base;      /* not NULL: computed for a block of the root's axis around it (batch.c), which begins here … */
    int place;                 /* … by this free variable */
    const opf_expr *border;    /* not NULL: the array holds this everywhere before the loops, and only what differs is stored in them */
    bool lane;                 /* computed for a chunk of the root's chunked variable */
    int buffer;
    const opf_expr *offset;    /* where the element of the free variables (and the lane) lies; NULL: a register */
    opf_targets results;       /* results that it is: stored as soon as it is computed */
} opf_item;

/* A root: results of one domain and what they need. */
typedef struct opf_root {
    opf_axes order;            /* its loops, outermost first */
    opf_targets outputs;
    opf_item **items;          /* by stage; NULL where not needed */
} opf_root;

/* What is known of a load, from the ranges of its own variables. */
typedef enum opf_safety {
    OPF_UNSAFE,
    OPF_SAFE,                  /* in range wherever there are elements, also where a condition around it fails */
    OPF_SAFE_ANYWHERE          /* and its tensor has elements: it may be read before loops that do not run */
} opf_safety;

typedef struct opf_scheduler {
    opf_pool *pool;
    opf_arena *arena;
    const opf_group *group;
    opf_nest *nest;
    int n_inputs, n_stages;
    const opf_stage **stages;  /* the group's, with what the schedule adds; loads name them by n_inputs + position */
    int *padding;              /* by stage: the one that pads its operand; -1: none */
    int *plane;                /* by stage: of a window over a whole plane (window_plane.c) the axes around the plane; else 0 */
    int *result_stage;         /* by result */
    bool *reduced;             /* by stage: a reduction that is not written out */
    bool *kept, *never_kept;
    bool *stored;              /* by result: some root computes it */
    const opf_expr **bodies, **seconds; /* by stage: with inlined stages substituted, over the stage's variables */
    opf_map safe;              /* loads (offset form) → opf_safety */
    int n_temporaries;
    int boxes;
    opf_axes root;             /* of the root that is being emitted: its extents are taken to be at least 1 … */
    const opf_fill *fill;      /* NULL: a nest that the parts share */
    opf_axes given;            /* of a fill: variables that are set outside */
    bool relies_on_root;       /* … and something depends on that */
    const opf_expr *border;    /* of the item that is being emitted */
    opf_dim scratch_bytes;
    opf_dim units;
    opf_text schedule;
} opf_scheduler;

/* ---- variables and buffers ---- */
int opf_variable_new(opf_scheduler *s, const char *name, opf_dim extent);
static inline const opf_expr *opf_variable(opf_scheduler *s, int variable) { return opf_var(s->pool, variable); }
static inline opf_dim opf_extent(const opf_scheduler *s, int variable) { return s->nest->variables.data[variable].extent; }
const opf_expr *opf_simple(opf_scheduler *s, const opf_expr *e); /* simplified over its variables */
bool opf_proves_le(opf_scheduler *s, const opf_expr *a, const opf_expr *b);
bool opf_proves_lt(opf_scheduler *s, const opf_expr *a, const opf_expr *b);
const opf_expr *opf_substitute(opf_scheduler *s, const opf_expr *e, int variable, const opf_expr *by);
/* The same for values: what is known of their loads stays known. */
const opf_expr *opf_substitute_safely(opf_scheduler *s, const opf_expr *e, int variable, const opf_expr *by);
bool opf_is_safe(const opf_scheduler *s, const opf_expr *load, opf_safety at_least);
void opf_note_safe(opf_scheduler *s, const opf_expr *load, opf_safety safety);
void opf_substitute_all(opf_scheduler *s, opf_slots *slots, int variable, const opf_expr *by);
int opf_buffer_new(opf_scheduler *s, opf_memory memory, opf_dtype dtype, const char *name, opf_dim elements);
int opf_buffer_temporary(opf_scheduler *s, opf_dtype dtype);      /* a register that is assigned once */
const opf_expr *opf_buffer_load(opf_scheduler *s, int buffer, const opf_expr *offset);
static inline opf_nest_buffer *opf_buffer_at(const opf_scheduler *s, int buffer) { return &s->nest->buffers.data[buffer]; }
bool opf_axes_has(const opf_axes *axes, int variable);
int opf_axes_find(const opf_axes *axes, int variable);            /* -1 where absent */
void opf_axes_add(opf_axes *axes, int variable);
void opf_axes_remove(opf_axes *axes, int position);
bool opf_depends(const opf_expr *e, const opf_axes *axes);        /* does any of the variables occur? */
int64_t opf_nominal_product(const opf_scheduler *s, const opf_axes *axes);
opf_dim opf_extent_product(opf_scheduler *s, const opf_axes *axes, int from, int to);
bool opf_is_factor(const opf_expr *e, const opf_expr *product);   /* is e one of the factors that are multiplied? */
/* Extent at least 1 whenever the root's domain is not empty? The second notes that this was relied on. */
bool opf_is_positive(opf_scheduler *s, opf_dim extent);
bool opf_surely_positive(opf_scheduler *s, opf_dim extent);

/* ---- window.c ---- */
/* The group's stages into s->stages, with padded operands of windows put in front of them. */
void opf_take_stages(opf_scheduler *s);

/* ---- bytes.c ---- */
/* Adds the stage of the bytes that hold the elements of stage `number`, whose type is packed; its number. */
int opf_add_bytes(opf_scheduler *s, int number);

/* ---- expand.c ---- */
void opf_expand(opf_scheduler *s);
bool opf_is_padding(const opf_scheduler *s, int stage); /* made for the window behind it */
const opf_expr *opf_rebuild(opf_pool *pool, const opf_expr *e, const opf_expr *const *args);
double opf_expr_price(const opf_scheduler *s, const opf_expr *e);  /* operations, distinct ones once */

/* ---- linear.c ---- */
/* `items`: where loads of kept stages find their buffers, by stage; NULL where there are none. */
const opf_expr *opf_linear(opf_scheduler *s, opf_item *const *items, const opf_expr *e);
const opf_expr *opf_row_major(opf_scheduler *s, int rank, const opf_dim *extents, const opf_expr *const *indices);

/* ---- axes.c ---- */
void opf_axes_simplify(opf_scheduler *s, opf_axes *axes, opf_slots *slots);  /* drops unit axes, splits, merges */
void opf_axes_drop_units(opf_scheduler *s, opf_axes *axes, opf_slots *slots);
/* Splits one axis by a factor that a division asks for; false where there is none. */
bool opf_axes_split(opf_scheduler *s, opf_axes *axes, opf_slots *slots);
void opf_axes_merge(opf_scheduler *s, opf_axes *axes, opf_slots *slots);

/* ---- ranges.c ---- */
/* A comparison of integers in one variable: holds exactly where variable < at (below) or variable >= at. */
typedef struct opf_break { const opf_expr *condition; int variable; const opf_expr *at; bool below; } opf_break;
/* Solves `condition` for `variable`; false where it is no such comparison. */
bool opf_break_solve(opf_scheduler *s, const opf_expr *condition, int variable, opf_break *out);
/* The first condition in `slots` that changes along `variable`, at a place that depends on no variable of `inner` (NULL: on
 * no variable at all). */
bool opf_break_find(opf_scheduler *s, const opf_slots *slots, int variable, const opf_axes *inner, opf_break *out);
/* e with one of its parts replaced. */
const opf_expr *opf_replace(opf_scheduler *s, const opf_expr *e, const opf_expr *part, const opf_expr *by);
const opf_expr *opf_decide(opf_scheduler *s, const opf_expr *e, const opf_expr *condition, bool holds);
/* Conditions without which a reduction's term is neutral: 0 times a factor, as long as that is finite for sure (a constant, or
 * made of constants): 0 times NaN or infinity is NaN. `any_factor`: whatever the factor is. */
typedef struct opf_conditions { OPF_VEC(const opf_expr *) list; int visits; bool any_factor; } opf_conditions;
void opf_find_conditions(opf_scheduler *s, const opf_expr *term, opf_combiner combiner, opf_conditions *out);
const opf_expr *opf_neutral(opf_pool *pool, opf_combiner combiner, opf_dtype dtype);
const opf_expr *opf_combine(opf_pool *pool, opf_combiner combiner, const opf_expr *a, const opf_expr *b);
/* A running value and the next term: sums of products may round once a step (fused multiply-add). */
const opf_expr *opf_accumulate(opf_pool *pool, opf_combiner combiner, const opf_expr *sum, const opf_expr *term);

/* ---- schedule.c: choices that may be asked for (loop/schedule.h); each tells what became of it ---- */
int64_t opf_chunk_size(opf_scheduler *s);  /* elements of a chunk */
int64_t opf_share_size(opf_scheduler *s);  /* elements of a single loop that a part takes at once */
void opf_order_loops(opf_scheduler *s, opf_axes *axes); /* of a map that the parts share */
bool opf_transposes(opf_scheduler *s);     /* what is read crosswise, in blocks? To be asked where there is such */

/* ---- code.c ---- */
opf_code *opf_code_add(opf_scheduler *s, opf_block *block, opf_code_kind kind);
void opf_code_note(opf_scheduler *s, opf_block *block, const char *text);
opf_block *opf_code_loop(opf_scheduler *s, opf_block *block, int variable, const opf_expr *from, const opf_expr *to, int64_t step);
void opf_code_index(opf_scheduler *s, opf_block *block, int variable, const opf_expr *value);
void opf_code_store(opf_scheduler *s, opf_block *block, int buffer, const opf_expr *offset, const opf_expr *value);
void opf_code_define(opf_scheduler *s, opf_block *block, int buffer, const opf_expr *value); /* a register's first store */
void opf_code_array(opf_scheduler *s, opf_block *block, int buffer);
/* Gives an array its place: stack where it is small and of known size, else scratch. */
void opf_place_array(opf_scheduler *s, opf_block *block, int buffer);
opf_block *opf_code_if(opf_scheduler *s, opf_block *block, const opf_expr *condition);
void opf_block_append(opf_scheduler *s, opf_block *block, const opf_block *more);
/* Loops over `axes` shared by the parts, each of their variables defined inside. Notes the units. */
opf_block *opf_code_share(opf_scheduler *s, opf_block *block, const opf_axes *axes, int count);
/* `variable` over the part's share, cut at multiples of `step`. */
opf_block *opf_code_share_blocks(opf_scheduler *s, opf_block *block, int variable, int64_t step);
opf_ranges opf_whole_ranges(opf_scheduler *s, const opf_axes *axes);

/* A variable taken in chunks: variable = base + lane, lane over 0 … count-1. */
typedef struct opf_chunk { int base, lane; const opf_expr *count, *value; int64_t size; } opf_chunk;
opf_chunk opf_chunk_new(opf_scheduler *s, int variable, int64_t size);
/* Tells `body`, in which the chunk's base stands, how many of `from` to `to` it has: all of them the same where its size divides them. */
void opf_chunk_count(opf_scheduler *s, opf_block *body, opf_chunk *chunk, const opf_expr *from, const opf_expr *to);
/* The loop over chunks (none where one chunk is all) from `from` to `to`, the variable's bounds. */
opf_block *opf_chunk_loop(opf_scheduler *s, opf_block *block, opf_chunk *chunk, const opf_expr *from, const opf_expr *to);

/* ---- body.c ---- */
/* Loops over `ranges` in `block`, then the targets' stores; what does not change in a loop stands before it. */
void opf_body(opf_scheduler *s, opf_block *block, const opf_ranges *ranges, const opf_targets *targets);
/* The same where the first `shared` loops stand already, `inside` within them; what stands before them goes to `before`.
 * Returns the condition under which `before` may be computed, NULL for none. */
const opf_expr *opf_body_in(opf_scheduler *s, opf_block *before, opf_block *inside, int shared, const opf_ranges *ranges,
                            const opf_targets *targets);
/* Names in `block` what does not change in the loop of `range`; returns the condition under which that may be computed. */
const opf_expr *opf_hoist(opf_scheduler *s, opf_block *block, const opf_range *range, opf_targets *targets);

/* ---- interleave.c ---- */
/* Where the last axis but one holds the phases of elements that lie interleaved along the last: takes it away, and makes a target of
 * each phase. */
void opf_interleave(opf_scheduler *s, opf_axes *axes, opf_targets *targets);
/* Where the last axis holds the phases of what is stored along the last but one: the same. */
void opf_put_together(opf_scheduler *s, opf_axes *axes, opf_targets *targets);
/* Where places along the last axis are quotients whose remainders come again after a few elements: takes so many elements together. */
void opf_take_periods(opf_scheduler *s, opf_axes *axes, opf_targets *targets);
/* Is what is read along `variable` contiguous, that of all targets together? */
bool opf_reads_whole(opf_scheduler *s, const opf_targets *targets, int variable);
/* Two targets that take a line of an input apart, by one function of the prelude: where vectors consist of halves, across which the
 * compiler's loop moves each lane by itself. False, and nothing is added: they are something else. */
bool opf_take_apart(opf_scheduler *s, opf_block *block, const opf_range *innermost, const opf_targets *targets);

/* ---- step.c ---- */
/* What is named first, in this order. */
typedef struct opf_naming { OPF_VEC(const opf_expr *) list; } opf_naming;
/* Takes several iterations of the loop outside the innermost one together where they read much the same; `enough`: where there are
 * as many, NULL where that is known. The targets' stores must be apart, and read by none of them. False: nothing has changed. */
bool opf_take_in_step(opf_scheduler *s, opf_ranges *ranges, opf_targets *targets, opf_naming *order, const opf_expr **enough);

/* ---- leaf.c, phases.c ---- */
/* A map nest over all of `axes`; `parallel`: shared by the parts. */
void opf_leaf(opf_scheduler *s, opf_block *block, opf_axes axes, opf_targets *targets, bool parallel);
/* The same, innermost over the lanes of `chunk` where not NULL (then not parallel). `targets` is changed. */
void opf_leaf_over(opf_scheduler *s, opf_block *block, opf_axes axes, const opf_chunk *chunk, opf_targets *targets, bool parallel);
/* Several transcendental functions change with the innermost loop, or it walks along many operands, and is cut. */
bool opf_phases_apply(opf_scheduler *s, const opf_targets *targets, int innermost);
/* Stores the targets for the lanes of a chunk by loops of one function and a few operands each. */
void opf_phases(opf_scheduler *s, opf_block *block, const opf_chunk *chunk, const opf_targets *targets);

/* ---- past.c ---- */
enum { OPF_PAST_PIECE = 128 }; /* elements that the registers hold on their way past the caches; eight vectors of float32 with AVX-512 */
/* Do results among the targets go past the caches, in chunks of `variable`? Tells the choice where there is one. */
bool opf_stores_past(opf_scheduler *s, const opf_targets *targets, int variable);
/* Such targets get an array for the lanes of the chunk, which `block` then holds; the results, each with its first element's offset and
 * the array as value, are stored by the second behind the loops. */
opf_targets opf_past_arrays(opf_scheduler *s, opf_block *block, const opf_chunk *chunk, opf_targets *targets);
void opf_past_store(opf_scheduler *s, opf_block *block, const opf_chunk *chunk, const opf_targets *results);
/* Asks memory for what the targets read of a later chunk. */
void opf_past_ask(opf_scheduler *s, opf_block *block, const opf_chunk *chunk, const opf_targets *targets);

/* ---- transpose.c ---- */
/* A nest in blocks of two axes: `number` counts the blocks of `size` of the inner one, `strip` (-1: there is one) strips of several blocks of
 * the outer one. */
typedef struct opf_transpose { int outer, inner, number, strip; int64_t size; } opf_transpose;
/* True where the targets read along an outer axis what the innermost loop strides through: `axes` then holds what is left
 * and the numbers of the block and the strip. */
bool opf_transpose_axes(opf_scheduler *s, opf_axes *axes, const opf_targets *targets, opf_transpose *out);
/* The blocks of these, inside the loops over those axes. */
void opf_transpose_blocks(opf_scheduler *s, opf_block *block, const opf_transpose *transpose, const opf_targets *targets);

/* ---- reduce.c ---- */
/* The variable that its innermost loop should run over, among the item's own and `bound` ones of the root; -1: it has none. */
int opf_reduce_vector(opf_scheduler *s, const opf_item *item, const opf_axes *bound);
/* Computes the item in `block`, for the lanes of `chunk` where not NULL. */
void opf_reduce(opf_scheduler *s, opf_block *block, opf_item *item, const opf_chunk *chunk);

/* ---- jam.c ---- */
/* Takes several units of the shared loop that ends the block together, where each computes a row of so many elements with a sum or an extreme. */
void opf_jam_rows(opf_scheduler *s, opf_block *around, int64_t elements);

/* ---- attach.c ---- */
/* Finds the root's items: bound and free axes, depths, the order of the loops. False where a kept map turned out not to be
 * worth it (noted in never_kept): everything is to be done again. */
bool opf_attach(opf_scheduler *s, opf_root *root);

/* ---- batch.c ---- */
/* Splits the root's axis around planes of windows, which are then computed for a block of it; before opf_root_linear. */
void opf_root_batch(opf_scheduler *s, opf_root *root);

/* ---- root.c ---- */
/* The nest of results of one domain (positions in the group's results). False as opf_attach. */
bool opf_root_emit(opf_scheduler *s, int n_results, const int *results);
/* Steps of it: all expressions of a root; loads as offsets into buffers, made for the items; loops split and merged; the
 * code into the nest, under the condition that the domain has elements where something relies on that. */
opf_slots opf_root_slots(opf_scheduler *s, opf_root *root);
void opf_root_linear(opf_scheduler *s, opf_root *root);
void opf_root_simplify(opf_scheduler *s, opf_root *root);
void opf_root_append(opf_scheduler *s, const opf_axes *domain, const opf_block *block);

/* ---- print.c ---- */
const char *opf_schedule_line(const opf_nest *nest);

#endif
