/* Axes, roofs and places of the roofline plot. */
#include "report/roofline.h"

#include <math.h>

#include "fuse/explain_json.h"

static const double ROOM = 1.8;        /* between what is drawn and the edges of the plot, as a factor */
static const double LEFT_OF_RIDGE = 8; /* the slopes are seen at least over this factor */
static const double MOST_HEIGHT = 1e7; /* highest over lowest; slower steps stand on the lower edge */

typedef struct axes { double left, right, low, high; } axes;
typedef struct slopes { int count; opf_level levels[OPF_LEVELS]; } slopes; /* rates in GB/s */

static double flops_a_byte(const opf_step_profile *s) { return s->bytes > 0 ? s->flops / s->bytes : 0; }
static double gigas(double amount, double ms) { return ms > 0 ? amount / ms / 1e6 : 0; }
static double between(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

static bool has_place(const opf_step_profile *s) { return s->median > 0 && s->bytes > 0; }
static bool on_edge(const opf_step_profile *s) { return has_place(s) && s->flops <= 0; }

static double height_of(const opf_step_profile *s, const axes *a) { return on_edge(s) ? gigas(s->bytes, s->median) * a->left : gigas(s->flops, s->median); }

/* ---- axes ---- */

/* The levels that the machine has. */
static slopes slopes_of(const opf_machine *machine, int threads) {
    opf_level levels[OPF_LEVELS];
    slopes out = {0};
    opf_levels(levels, machine, threads);
    for (int i = 0; i < OPF_LEVELS; i++)
        if (levels[i].size > 0 && levels[i].rate > 0) out.levels[out.count++] = (opf_level){levels[i].limit, levels[i].size, levels[i].rate / 1e9};
    return out;
}

/* Wide enough for the ridges of all roofs and for every step. */
static axes axes_of(const opf_profile *p, const slopes *slopes, double peak) {
    axes a = {INFINITY, 0, INFINITY, peak};
    for (int i = 0; i < slopes->count; i++) {
        double ridge = peak / slopes->levels[i].rate;
        a.left = fmin(a.left, ridge / LEFT_OF_RIDGE);
        a.right = fmax(a.right, ridge);
    }
    for (size_t i = 0; i < p->count; i++) {
        const opf_step_profile *s = &p->steps[i];
        if (!has_place(s) || on_edge(s)) continue;
        a.left = fmin(a.left, flops_a_byte(s));
        a.right = fmax(a.right, flops_a_byte(s));
    }
    a.left /= ROOM;
    a.right *= ROOM;
    for (size_t i = 0; i < p->count; i++) {
        if (!has_place(&p->steps[i])) continue;
        a.low = fmin(a.low, height_of(&p->steps[i], &a));
        a.high = fmax(a.high, height_of(&p->steps[i], &a));
    }
    for (int i = 0; i < slopes->count; i++) a.low = fmin(a.low, slopes->levels[i].rate * a.left);
    a.high *= ROOM;
    a.low = fmax(a.low / ROOM, a.high / MOST_HEIGHT);
    return a;
}

/* ---- roofs ---- */

static void add_roof(json_t *list, const char *name, double rate, int threads, double x0, double y0, double x1, double y1) {
    json_array_append_new(list, json_pack("{s:s, s:f, s:i, s:[f, f], s:[f, f]}", "name", name, "rate", rate, "threads", threads, "from", x0, y0, "to", x1, y1));
}

/* Where the fastest slope meets `peak`: further left no level could feed it. */
static double first_ridge(const slopes *slopes, double peak, const axes *a) {
    double fastest = 0;
    for (int i = 0; i < slopes->count; i++) fastest = fmax(fastest, slopes->levels[i].rate);
    return between(peak / fastest, a->left, a->right);
}

static json_t *roofs_object(const slopes *slopes, double peak_of_one, int threads, const axes *a) {
    json_t *list = json_array();
    double peak = peak_of_one * threads;
    add_roof(list, opf_limit_name(OPF_LIMIT_ARITHMETIC), peak, threads, first_ridge(slopes, peak, a), peak, a->right, peak);
    if (threads > 1 && peak_of_one > a->low) add_roof(list, opf_limit_name(OPF_LIMIT_ARITHMETIC), peak_of_one, 1, first_ridge(slopes, peak_of_one, a), peak_of_one, a->right, peak_of_one);
    for (int i = 0; i < slopes->count; i++) {
        const opf_level *level = &slopes->levels[i];
        double left = fmax(a->left, a->low / level->rate);
        add_roof(list, opf_limit_name(level->limit), level->rate, threads, left, level->rate * left, peak / level->rate, peak);
    }
    return list;
}

/* ---- steps ---- */

static json_t *step_object(const opf_step_profile *s, const axes *a) {
    double x = between(on_edge(s) ? a->left : flops_a_byte(s), a->left, a->right), y = between(height_of(s, a), a->low, a->high);
    return json_pack("{s:i, s:o, s:s, s:f, s:f, s:f, s:f, s:f, s:s, s:o, s:b, s:o}", "step", s->step, "name", opf_json_text(s->name), "kind", s->kind, "ms", s->median, "share", s->share,
                     "gflops", gigas(s->flops, s->median), "gbytes", gigas(s->bytes, s->median), "reached", s->median > 0 ? s->least_possible / s->median : 0, "limit",
                     opf_limit_name(s->limit), "at", has_place(s) ? json_pack("[f, f]", x, y) : json_null(), "edge", on_edge(s), "diagnosis",
                     s->diagnosis ? opf_json_text(s->diagnosis) : json_null());
}

json_t *opf_roofline_object(const opf_profile *profile) {
    const opf_machine *machine = profile->program->machine;
    int threads = profile->measure->threads;
    slopes slopes = slopes_of(machine, threads);
    double peak_of_one = machine->flops_per_second / 1e9;
    axes a = axes_of(profile, &slopes, peak_of_one * threads);
    json_t *steps = json_array();
    for (size_t i = 0; i < profile->count; i++) json_array_append_new(steps, step_object(&profile->steps[i], &a));
    json_t *object = json_pack("{s:i, s:i, s:f, s:s, s:[f, f], s:[f, f], s:o, s:o}", "threads", threads, "runs", profile->measure->runs, "run_ms", profile->plain, "machine", machine->name,
                               "x", a.left, a.right, "y", a.low, a.high, "roofs", roofs_object(&slopes, peak_of_one, threads, &a), "steps", steps);
    if (!object) opf_out_of_memory();
    return object;
}
