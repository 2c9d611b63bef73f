/* Windows over planes whose lines do not fill vectors: computed for a whole plane in full vectors, from which lines are then taken.
 *
 * The operand's lines lie end to end in the scratch, `pitch` elements apart, so that the tap (i, j) of every output is the element
 * i * pitch + j further on. Two forms:
 *   lines   sums [output line][column]: columns are rounded up to whole vectors
 *   flat    sums [element]: vectors run on over the ends of lines
 * What falls beyond a line's last column is computed from elements that exist, and dropped. With a stride along the columns all
 * of them are computed and every stride-th one is taken: taking outputs apart is less work than taking operands apart.
 *
 * Where sizes are not known, large windows without strides go by lines of whole vectors: lines might be of any length, and scalar ends
 * of many taps are dear. */
#include "loop/window.h"

enum { MOST_COLUMNS = 32, MOST_ELEMENTS = 2048 /* of a plane of sums */, LONGEST_BLOCK = 16, FEWEST_PLANES = 8, LARGE = 12 /* taps */ };

typedef struct side { const opf_position *position; bool known; int64_t outputs, taps, positions; } side;

typedef struct plane {
    const opf_window *w;
    side line, column;
    bool open;                /* sizes are not known */
    opf_dim columns;          /* of the sums; NULL: flat */
    opf_dim pitch, lines;     /* of the operand */
    opf_dim elements;         /* of the sums */
} plane;

static bool read_side(const opf_window *w, const opf_position *p, side *out) {
    out->position = p;
    out->known = opf_is_int(w->stage->extents[p->plain], &out->outputs) && opf_is_int(opf_window_extent(w, p), &out->positions);
    return opf_is_int(w->stage->extents[p->tap], &out->taps);
}

static int64_t reach(const side *x) { return (x->taps - 1) * x->position->dilation; }

/* The window's two axes are the last ones, lines before columns. */
static bool read_sides(plane *p) {
    const opf_window *w = p->w;
    if (w->n_positions != 2) return false;
    int last = w->positions[0].plain == w->stage->n_axes - 1 ? 0 : 1;
    const opf_position *column = &w->positions[last], *line = &w->positions[1 - last];
    if (column->plain != w->stage->n_axes - 1 || line->plain != w->stage->n_axes - 2) return false;
    return read_side(w, line, &p->line) && read_side(w, column, &p->column);
}

static int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Vectors of the loops that compute the window line by line, in overlapping blocks (body.c). */
static int64_t vectors_by_lines(const plane *p, int64_t lanes) {
    int64_t block = LONGEST_BLOCK;
    while (block > p->column.outputs) block /= 2;
    return p->line.outputs * up(p->column.outputs, block) * up(block, lanes);
}

/* The form with fewer vectors, of equal ones the lines: neighbouring ones share what they read. */
static bool choose_form(plane *p) {
    int64_t lanes = p->w->s->nest->machine->lanes, pitch = p->column.positions, needed = (p->column.outputs - 1) * p->column.position->stride + 1;
    int64_t columns = up(needed, lanes) * lanes, flat = up(p->line.outputs * pitch, lanes), by_lines = p->line.outputs * columns / lanes;
    if (p->column.outputs < 2 || p->line.outputs < 2 || p->column.outputs > MOST_COLUMNS) return false;
    p->columns = by_lines <= flat || p->line.position->stride > 1 ? opf_int(p->w->s->pool, columns) : NULL;
    int64_t elements = p->line.outputs * (p->columns ? columns : pitch), most = vectors_by_lines(p, lanes);
    p->elements = opf_int(p->w->s->pool, elements);
    return elements <= MOST_ELEMENTS && (p->column.position->stride > 1 ? up(elements, lanes) <= most : up(elements, lanes) < most);
}

/* Lines that hold every element that some vector reads. */
static void count_lines(plane *p) {
    int64_t pitch = p->column.positions, last = p->line.outputs * pitch - 1;
    int64_t columns;
    if (p->columns && opf_is_int(p->columns, &columns)) last = (p->line.outputs - 1) * p->line.position->stride * pitch + columns - 1;
    last += reach(&p->line) * pitch + reach(&p->column);
    p->lines = opf_int(p->w->s->pool, up(last + 1, pitch));
}

/* The same where sizes are not known. A line has more positions than a window reaches over: that bounds the lines that the last
 * vector, and its last tap, run on over. */
static bool choose_open(plane *p) {
    opf_pool *pool = p->w->s->pool;
    const opf_stage *stage = p->w->stage;
    int64_t over = LONGEST_BLOCK - 1 + reach(&p->column), shortest = reach(&p->column) > 0 ? reach(&p->column) : 1;
    opf_dim block = opf_int(pool, LONGEST_BLOCK), outputs = stage->extents[p->line.position->plain];
    if (p->line.position->stride > 1 || p->column.position->stride > 1 || p->line.taps * p->column.taps < LARGE) return false;
    p->open = true;
    p->columns = opf_mul(pool, opf_ceildiv(pool, stage->extents[p->column.position->plain], block), block);
    p->lines = opf_add(pool, outputs, opf_int(pool, reach(&p->line) + up(over, shortest)));
    return true;
}

/* ---- the operand ---- */

static int64_t planes_of(const opf_stage *stage) {
    int64_t count = 1;
    for (int v = 0; v < stage->n_axes - 2; v++) count *= opf_dim_nominal(stage->extents[v]);
    return count;
}

static opf_stage *padded_plane(const plane *p) {
    const opf_window *w = p->w;
    opf_pool *pool = w->s->pool;
    const opf_stage *stage = w->stage;
    opf_window_axes axes = {.stage = opf_window_stage(w, "padded", (opf_dtype)w->guarded->dtype)};
    for (int v = 0; v < stage->n_axes - 2; v++)
        if (opf_expr_has_var(w->body, v)) axes.bind[v] = opf_window_axis(w, &axes, opf_window_name(w, v), stage->extents[v], NULL);
    const opf_expr *line, *column;
    if (p->open) {
        line = opf_window_axis(w, &axes, opf_window_name(w, p->line.position->plain), p->lines, NULL);
        column = opf_window_axis(w, &axes, opf_window_name(w, p->column.position->plain), p->pitch, NULL);
    } else {
        const opf_expr *element = opf_window_axis(w, &axes, "e", opf_mul(pool, p->lines, p->pitch), NULL);
        line = opf_floordiv(pool, element, p->pitch);
        column = opf_floormod(pool, element, p->pitch);
    }
    int positions = opf_window_variables(stage);
    axes.bind[positions + (int)(p->line.position - w->positions)] = line;
    axes.bind[positions + (int)(p->column.position - w->positions)] = column;
    const opf_expr *body = opf_expr_bind(pool, w->body, positions + 2, axes.bind);
    const opf_expr *there = opf_binary(pool, OPF_OP_LT, line, opf_window_extent(w, p->line.position));
    axes.stage->body = opf_select(pool, there, body, w->outside);
    return axes.stage;
}

/* ---- the sums ---- */

/* Where the sum's tap lies in the operand; `first` is the element of tap (0, 0). */
static const opf_expr *load_of(const plane *p, const opf_stage *sums, const opf_stage *padded, int number) {
    opf_pool *pool = p->w->s->pool;
    const opf_window *w = p->w;
    const opf_expr *indices[OPF_MAX_RANK];
    int n = 0, lead = w->stage->n_axes - 2, tap = sums->n_axes + p->line.position->tap - w->stage->n_axes;
    const opf_expr *down = opf_mul(pool, opf_var(pool, tap), opf_int(pool, p->line.position->dilation)), *stride = opf_int(pool, p->line.position->stride);
    const opf_expr *across = opf_mul(pool, opf_var(pool, sums->n_axes + p->column.position->tap - w->stage->n_axes), opf_int(pool, p->column.position->dilation));
    const opf_expr *first = opf_var(pool, lead);
    if (p->open) first = opf_var(pool, lead + 1);
    else if (p->columns) first = opf_add(pool, opf_mul(pool, opf_mul(pool, first, stride), p->pitch), opf_var(pool, lead + 1));
    for (int v = 0; v < lead; v++)
        if (opf_expr_has_var(w->body, v)) indices[n++] = opf_var(pool, v);
    if (p->open) indices[n++] = opf_add(pool, opf_var(pool, lead), down); /* a column beyond the line's last one lies in the next line */
    indices[n++] = opf_add(pool, first, opf_add(pool, p->open ? opf_int(pool, 0) : opf_mul(pool, down, p->pitch), across));
    return opf_load(pool, padded->dtype, OPF_WINDOW_STAGE + number, n, indices);
}

/* The window over whole vectors. `rest`: its body with a load of tensor `stand_in` in the operand's place. */
static opf_stage *sums_plane(const plane *p, const opf_stage *padded, int number) {
    const opf_window *w = p->w;
    opf_pool *pool = w->s->pool;
    const opf_stage *stage = w->stage;
    opf_stage *sums = opf_window_stage(w, "plane", stage->dtype);
    opf_window_axes axes = {.stage = sums};
    sums->combiner = stage->combiner;
    sums->accumulator = stage->accumulator;
    int lead = stage->n_axes - 2;
    for (int v = 0; v < lead; v++) axes.bind[v] = opf_window_axis(w, &axes, opf_window_name(w, v), stage->extents[v], NULL);
    opf_window_axis(w, &axes, p->columns ? opf_window_name(w, lead) : "e", p->columns ? stage->extents[lead] : p->elements, NULL);
    if (p->columns) opf_window_axis(w, &axes, opf_window_name(w, lead + 1), p->columns, NULL);
    for (int r = 0; r < stage->n_reduce; r++) {
        int at = sums->n_axes + r;
        sums->extents[at] = stage->extents[stage->n_axes + r];
        sums->axis_names[at] = opf_window_name(w, stage->n_axes + r);
        axes.bind[stage->n_axes + r] = opf_var(pool, at);
    }
    sums->n_reduce = stage->n_reduce;
    const opf_expr *load = load_of(p, sums, padded, number); /* over the new variables already: put in behind the binding */
    const opf_expr *stand_in = opf_load(pool, padded->dtype, OPF_WINDOW_STAGE + number, 0, NULL);
    const opf_expr *rest = opf_expr_bind(pool, opf_replace(w->s, stage->body, w->guarded, stand_in), opf_window_variables(stage), axes.bind);
    sums->body = opf_replace(w->s, rest, stand_in, load);
    return sums;
}

static const opf_expr *part_of(const plane *p, const opf_stage *sums, int number) {
    opf_pool *pool = p->w->s->pool;
    const opf_expr *indices[OPF_MAX_RANK];
    int lead = p->w->stage->n_axes - 2;
    for (int v = 0; v < lead; v++) indices[v] = opf_var(pool, v);
    const opf_expr *line = opf_var(pool, lead), *column = opf_mul(pool, opf_var(pool, lead + 1), opf_int(pool, p->column.position->stride));
    indices[lead] = p->columns ? line : opf_add(pool, opf_mul(pool, line, p->pitch), column);
    if (p->columns) indices[lead + 1] = column;
    return opf_load(pool, sums->dtype, OPF_WINDOW_STAGE + number + 1, sums->n_axes, indices);
}

/* ---- whether ---- */

/* Nothing but the operand may change along lines and columns. */
static bool rest_is_even(const opf_window *w) {
    const opf_expr *rest = opf_replace(w->s, w->stage->body, w->guarded, opf_number(w->s->pool, (opf_dtype)w->guarded->dtype, 1));
    return !opf_expr_has_var(rest, w->stage->n_axes - 1) && !opf_expr_has_var(rest, w->stage->n_axes - 2);
}

bool opf_window_take_plane(const opf_window *w, int number, opf_stage **padded, opf_window_part *out) {
    plane p = {.w = w};
    const opf_stage *stage = w->stage;
    if (w->s->fill || stage->second || stage->n_axes < 3 || stage->n_axes + 1 > OPF_MAX_RANK || !read_sides(&p) || !rest_is_even(w)) return false;
    if (planes_of(stage) < FEWEST_PLANES) return false;
    bool known = p.line.known && p.column.known;
    p.pitch = opf_window_extent(w, p.column.position);
    if (known ? !choose_form(&p) : !choose_open(&p)) return false;
    if (known) count_lines(&p);
    *padded = padded_plane(&p);
    opf_stage *sums = sums_plane(&p, *padded, number);
    *out = (opf_window_part){.plane = sums, .body = part_of(&p, sums, number), .lead = stage->n_axes - 2};
    return true;
}
