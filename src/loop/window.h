/* Between the files of small windows over padded operands. Private to src/loop/window*.c.
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
    const opf_expr *guarded;      /* the select around the operand */
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

/* ---- window_plane.c ---- */
/* A window that is computed a plane at a time, in whole vectors: `padded` is the operand, `sums` the window over its elements, of
 * which the window's own stage then is a part, read at `part`. */
typedef struct opf_window_plane { opf_stage *padded, *sums; const opf_expr *part; } opf_window_plane;
/* False where lines are as good. The new stages are OPF_WINDOW_STAGE + number and the one after it. */
bool opf_window_take_plane(const opf_window *w, int number, opf_window_plane *out);

#endif
