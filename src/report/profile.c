/* Times of steps beside what bytes and FLOPs allow, and a sentence for each step that is far from it. */
#include "report/profile.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fuse/fuse.h"
#include "loop/tile.h"

static const double SHARE_THAT_MATTERS = 0.02, NEAR_ENOUGH = 0.6, UNBALANCED = 1.25, SHORT_MS = 0.004, WORTH_THREADS_MS = 0.05;

const char *opf_limit_name(opf_limit limit) {
    static const char *const names[] = {"none", "arithmetic", "L1", "L2", "L3", "memory"};
    return names[limit];
}

/* ---- statistics ---- */

static double median_of(double *sorted, int n) { return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2; }

static double median_run(const double *ms, int n, opf_arena *arena) {
    double *sorted = OPF_ARRAY(arena, double, n + 1);
    memcpy(sorted, ms, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, opf_ascending);
    return n ? median_of(sorted, n) : 0;
}

static void fill_times(opf_step_profile *s, const opf_measure *m, opf_arena *arena) {
    double *sorted = OPF_ARRAY(arena, double, m->runs + 1);
    for (int i = 0; i < m->runs; i++) sorted[i] = m->step_ms[(size_t)i * m->n_steps + (size_t)s->step];
    qsort(sorted, (size_t)m->runs, sizeof *sorted, opf_ascending);
    if (!m->runs) return;
    s->least = sorted[0];
    s->median = median_of(sorted, m->runs);
    s->most = sorted[m->runs - 1];
}

/* ---- names and work ---- */

static const char *join_names(const opf_group *group, opf_arena *arena) {
    opf_text text = {0};
    for (size_t i = 0; i < group->nodes.count; i++) opf_text_printf(&text, "%s%s", i ? " + " : "", group->nodes.data[i]->name);
    const char *joined = opf_arena_string(arena, opf_text_string(&text));
    opf_text_free(&text);
    return joined;
}

static const char *kind_of(const opf_step *step) {
    static const char *const kinds[] = {"kernel", "copy", "fill", "library", "check", "if", "else", "loop", "goes-on", "end", "set", "slice", "stack"};
    return kinds[step->kind];
}

const char *opf_step_text(const opf_program *program, int index, opf_arena *arena) {
    const opf_step *step = &program->steps.data[index];
    if (step->kind != OPF_RUN_KERNEL) return step->node ? step->node->name : step->value ? step->value->name : kind_of(step);
    return step->nest->group->nodes.count ? join_names(step->nest->group, arena) : program->kernels.data[step->kernel].name;
}

static double bytes_of_buffers(const opf_program *program, const opf_step *step) {
    double bytes = 0;
    for (int k = 0; k < step->n_buffers; k++)
        if (step->buffers[k] >= 0) bytes += (double)opf_dim_nominal(program->buffers.data[step->buffers[k]].bytes);
    return bytes;
}

static void fill_work(opf_step_profile *s, const opf_program *program, const opf_step *step, opf_arena *arena) {
    s->kind = kind_of(step);
    s->name = opf_step_text(program, s->step, arena);
    if (step->kind == OPF_RUN_KERNEL) {
        const opf_group *group = step->nest->group;
        s->kernel = program->kernels.data[step->kernel].name;
        s->flops = group->flops * s->calls;
        s->bytes = (double)group->bytes_after * s->calls;
    } else if (step->kind == OPF_RUN_COPY) {
        s->bytes = 2 * (double)opf_dim_nominal(step->bytes) * s->calls;
    } else if (step->kind == OPF_RUN_LIBRARY || step->kind == OPF_RUN_FILL) {
        s->bytes = bytes_of_buffers(program, step) * s->calls;
    }
}

/* ---- limits ---- */

void opf_levels(opf_level *out, const opf_machine *machine, int threads) {
    out[0] = (opf_level){OPF_LIMIT_L1, (double)machine->l1_bytes * threads, machine->l1_bandwidth * threads};
    out[1] = (opf_level){OPF_LIMIT_L2, (double)machine->l2_bytes * threads, machine->l2_bandwidth * threads};
    out[2] = (opf_level){OPF_LIMIT_L3, (double)machine->l3_bytes, machine->l3_bandwidth * threads};
    out[3] = (opf_level){OPF_LIMIT_MEMORY, INFINITY, machine->dram_bandwidth};
}

/* The level that holds all that a call touches, and its rate with all threads. */
static opf_limit level_of(const opf_machine *machine, double bytes, int threads, double *rate) {
    opf_level levels[OPF_LEVELS];
    int i = 0;
    opf_levels(levels, machine, threads);
    while (i + 1 < OPF_LEVELS && bytes > levels[i].size) i++;
    *rate = levels[i].rate;
    return levels[i].limit;
}

static void fill_limit(opf_step_profile *s, const opf_machine *machine) {
    double rate, calls = s->calls > 0 ? s->calls : 1;
    opf_limit level = level_of(machine, s->bytes / calls, s->parts, &rate);
    double arithmetic = s->flops / (machine->flops_per_second * s->parts) * 1e3, traffic = s->bytes / rate * 1e3;
    s->least_possible = arithmetic > traffic ? arithmetic : traffic;
    s->limit = s->least_possible <= 0 ? OPF_LIMIT_NONE : arithmetic > traffic ? OPF_LIMIT_ARITHMETIC : level;
}

/* ---- diagnosis ---- */

static double per_call(const opf_step_profile *s) { return s->calls > 0 ? s->median / s->calls : s->median; }

static double depth_of(const opf_tile *tile) {
    double depth = 1;
    for (int k = 0; k < tile->n_axes; k++)
        if (tile->axes[k].role == OPF_AXIS_DEPTH) depth *= (double)opf_dim_nominal(tile->axes[k].extent);
    return depth;
}

static const char *say_contraction(const opf_step_profile *s, const opf_step *step, double reached, opf_arena *arena) {
    double depth = depth_of(step->nest->tile);
    if (depth < 64)
        return opf_arena_printf(arena, "its sums are short (%.0f products each): making ready what the tile reads weighs beside them; %.0f %% of the peak of fused multiply-adds", depth, reached);
    return opf_arena_printf(arena, "a contraction at %.0f %% of the peak of fused multiply-adds, %.0f FLOP a byte: reading and packing its operands costs the rest", reached,
                            s->bytes > 0 ? s->flops / s->bytes : 0);
}

static const char *say_traffic(const opf_step_profile *s, const opf_step *step, double reached, opf_arena *arena) {
    const opf_group *group = step->kind == OPF_RUN_KERNEL ? step->nest->group : NULL;
    const char *what = !group ? "it moves bytes" : group->kind == OPF_KIND_INJECTIVE ? "it moves elements to other places, not in the order of memory" : "it is bound by bytes";
    return opf_arena_printf(arena, "%s: %.1f GB/s, %.0f %% of the rate of %s", what, s->bytes / s->median / 1e6, reached, s->limit == OPF_LIMIT_MEMORY ? "memory" : opf_limit_name(s->limit));
}

/* The first that applies. */
static const char *diagnose(const opf_step_profile *s, const opf_step *step, int threads, opf_arena *arena) {
    if (s->share < SHARE_THAT_MATTERS || s->median <= 0) return NULL;
    double reached = 100 * s->least_possible / s->median;
    if (s->parts > 1 && s->balance > UNBALANCED)
        return opf_arena_printf(arena, "its threads wait for one another: the slowest part takes %.1f times the mean one", s->balance);
    if (reached >= 100 * NEAR_ENOUGH) return NULL;
    if (per_call(s) < SHORT_MS) return opf_arena_printf(arena, "short: %.2f microseconds a call, %d call%s; calling it weighs as much as its work", 1e3 * per_call(s), s->calls, s->calls == 1 ? "" : "s");
    if (threads > 1 && s->parts == 1 && per_call(s) > WORTH_THREADS_MS)
        return step->kind == OPF_RUN_KERNEL ? "it runs in one thread: too few independent pieces of work, or too little work in each" : "it runs in one thread: steps of this kind are not split";
    if (step->kind == OPF_RUN_LIBRARY) return "a library kernel: it is called as it stands and fuses with nothing";
    if (step->kind == OPF_RUN_KERNEL && step->nest->tile) return say_contraction(s, step, reached, arena);
    if (s->limit == OPF_LIMIT_ARITHMETIC) return opf_arena_printf(arena, "bound by arithmetic that is no fused multiply-add (exponentials, divisions, comparisons): %.0f %% of the peak", reached);
    return say_traffic(s, step, reached, arena);
}

/* ---- all of it ---- */

static int dearest_first(const void *a, const void *b) {
    const opf_step_profile *x = a, *y = b;
    if (x->median != y->median) return x->median < y->median ? 1 : -1;
    return x->step - y->step;
}

void opf_profile_make(opf_profile *out, const opf_program *program, const opf_measure *measure, opf_arena *arena) {
    *out = (opf_profile){.program = program, .measure = measure, .steps = OPF_ARRAY(arena, opf_step_profile, measure->n_steps + 1)};
    for (size_t i = 0; i < measure->n_steps; i++) {
        if (!measure->calls[i]) continue; /* a mark, or a branch not taken */
        opf_step_profile *s = &out->steps[out->count++];
        *s = (opf_step_profile){.step = (int)i, .calls = measure->calls[i], .parts = measure->parts[i], .balance = measure->balance[i]};
        fill_times(s, measure, arena);
        fill_work(s, program, &program->steps.data[i], arena);
        fill_limit(s, program->machine);
        out->sum += s->median;
    }
    for (size_t i = 0; i < out->count; i++) {
        out->steps[i].share = out->sum > 0 ? out->steps[i].median / out->sum : 0;
        out->steps[i].diagnosis = diagnose(&out->steps[i], &program->steps.data[out->steps[i].step], measure->threads, arena);
    }
    qsort(out->steps, out->count, sizeof *out->steps, dearest_first);
    out->run = median_run(measure->run_ms, measure->runs, arena);
    out->plain = median_run(measure->plain_ms, measure->runs, arena);
}
