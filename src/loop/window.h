/* Between the files of small windows whose operands are copied. Private to src/loop/window*.c.
 *
 * A window reads its operand at positions u = stride * output + dilation * tap, under one condition that says whether there is such a
 * position. The condition and the operand become a stage of their own, the window's taps plain loads of it. */
#ifndef OPF_LOOP_WINDOW_H
#define OPF_LOOP_WINDOW_H

#include "loop/scheduler.h"

enum { OPF_WINDOW_STAGE = 1 << 28 /* tensor numbers of new stages before all stages are numbered anew */ };

/* One axis of positions: u = stride * plain + dilation * tap. */
typedef struct opf_position { int plain, tap; int64_t stride, dilation; } opf_position;

typedef struct opf_window {
    opf_scheduler *s;
    const opf_stage *stage;
    const opf_expr *guarded;      /* the select around the operand; the operand itself where it has no borders */
    const opf_expr *outside;      /* what stands beyond the borders */
    int n_positions;
    opf_position positions[OPF_MAX_RANK];
    const opf_expr *body;         /* `guarded` over plain variables and, behind all others, the positions */
} opf_window;

/* A stage in the making, and how a reader's variables find its elements: `bind` gives the old variables in those of the new
 * stage, `indices` its elements in those of the reader. */
typedef struct opf_window_axes { opf_stage *stage; const opf_expr *bind[OPF_MOST_AXES], *indices[OPF_MAX_RANK]; } opf_window_axes;

static inline int opf_window_variables(const opf_stage *stage) { return stage->n_axes + stage->n_reduce; }
static inline const char *opf_window_name(const opf_window *w, int variable) { return w->stage->axis_names ? w->stage->axis_names[variable] : NULL; }
/* How many positions an axis has. */
opf_dim opf_window_extent(const opf_window *w, const opf_position *p);
/* Appends an axis, which readers read at `index`; its variable. */
const opf_expr *opf_window_axis(const opf_window *w, opf_window_axes *a, const char *name, opf_dim extent, const opf_expr *index);
/* An empty stage of the window's own, called "STAGE, WHAT". */
opf_stage *opf_window_stage(const opf_window *w, const char *what, opf_dtype dtype);

/* A stage of the group as a part of a stage over whole planes: `body` reads the plane, which is OPF_WINDOW_STAGE + number. */
typedef struct opf_window_part {
    opf_stage *plane;
    const opf_expr *body;
    int lead;                     /* axes in front of lines and columns */
    bool apart;                   /* calls functions: better a loop of its own behind the planes that it reads */
} opf_window_part;

/* ---- window_plane.c ---- */
/* A window that is computed a plane at a time, in whole vectors: `padded` is the operand, `out` the window over its elements.
 * False where lines are as good. The new stages are OPF_WINDOW_STAGE + number and the one after it. */
bool opf_window_take_plane(const opf_window *w, int number, opf_stage **padded, opf_window_part *out);

/* ---- window_behind.c ---- */
/* `stage` as a part of a new plane, OPF_WINDOW_STAGE + number; false where it reads no planes, or something else along lines and
 * columns. `parts`: by stage of the group, NULL where it is no part. */
bool opf_window_take_behind(opf_scheduler *s, const opf_stage *stage, opf_window_part *const *parts, int number, opf_window_part *out);

#endif
