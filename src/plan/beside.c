/* Kernels side by side: which steps of a program may run at once, each whole on a thread of its own.
 *
 * A kernel with little work, or with one unit of it, occupies one thread while the others wait. Where several such kernels follow
 * each other, or can be made to, and none reads what another writes, they become one stretch of steps that the program hands to its
 * threads together (opf_call_beside). Kernels that are worth several threads stay alone: they are split.
 *
 * A later kernel is moved forward to its companions only past steps that it has nothing to do with. What a stretch reads and
 * writes is needed until its last step ends; that is why it may hold only so many bytes. */
#include <math.h>

#include "ops/counts.h"
#include "plan/planner.h"

enum {
    MOST_BESIDE = 8,   /* steps of a stretch */
    FURTHEST = 64,     /* steps that are looked at for one */
    SHARE_OF_L2 = 4    /* a stretch's results take no more than this part of it */
};

/* ---- what steps have to do with each other ---- */

static bool is_kernel(const opf_step *step) { return step->kind == OPF_RUN_KERNEL; }

/* Of kernels, the buffers behind the inputs are results, then packed constants, which nobody writes. Other steps may write any. */
static bool writes(const opf_step *step, int k) {
    if (!is_kernel(step)) return true;
    int first = (int)step->nest->group->stages.inputs.count;
    return k >= first && k < first + (int)step->nest->group->results.count;
}

/* Have they bytes in common, at whatever sizes? */
static bool share_bytes(const opf_program *program, int a, int b) {
    const opf_buffer *own_a = opf_program_storage(program, a), *own_b = opf_program_storage(program, b), *whole_a = opf_program_whole(program, a), *whole_b = opf_program_whole(program, b);
    return own_a == own_b || own_a == whole_b || own_b == whole_a || (whole_a && whole_a == whole_b);
}

/* Different buffers of one storage that are both written are different parts of a concatenation. */
static bool meet(const opf_program *program, const opf_step *a, int i, const opf_step *b, int j) {
    bool both = writes(a, i) && writes(b, j), any = writes(a, i) || writes(b, j);
    if (a->buffers[i] < 0 || b->buffers[j] < 0 || !any) return false;
    if (!share_bytes(program, a->buffers[i], b->buffers[j])) return false;
    return !(both && is_kernel(a) && is_kernel(b) && a->buffers[i] != b->buffers[j]);
}

static bool depend(const opf_program *program, const opf_step *a, const opf_step *b) {
    for (int i = 0; i < a->n_buffers; i++)
        for (int j = 0; j < b->n_buffers; j++)
            if (meet(program, a, i, b, j)) return true;
    return false;
}

/* Steps that nothing is moved past: marks, checks, and steps that may find sizes. */
static bool is_fence(const opf_program *program, const opf_step *step) {
    if (step->kind != OPF_RUN_LIBRARY) return step->kind > OPF_RUN_LIBRARY;
    for (size_t i = 0; i < program->n_symbols; i++)
        if (program->sources[i].input < 0) return true;
    return false;
}

/* ---- which kernels ---- */

/* An open size may be negative at nominal sizes: then the run ends with an error, and nothing is to be weighed. */
static double nominal(opf_dim dim) { return fmax(0, (double)opf_dim_nominal(dim)); }

static double work_of(const opf_step *step) { return fmax(0, step->work) * nominal(step->points); }

/* Would be alone on its thread at nominal sizes, and takes no memory as it begins. */
static bool is_small(const opf_program *program, const opf_step *step) {
    if (!is_kernel(step) || step->unless || opf_dim_is_unbounded(program->module, step->nest->scratch_bytes)) return false;
    for (int k = 0; k < step->n_buffers; k++)
        if (writes(step, k) && opf_program_storage(program, step->buffers[k])->found) return false;
    return work_of(step) < OPF_LITTLE_WORK || opf_dim_nominal(step->units) <= 1;
}

static double result_bytes(const opf_program *program, const opf_step *step) {
    double bytes = 0;
    for (int k = 0; k < step->n_buffers; k++)
        if (writes(step, k)) bytes += nominal(program->buffers.data[step->buffers[k]].bytes);
    return bytes;
}

/* ---- stretches ---- */

typedef struct stretch { size_t at[MOST_BESIDE]; int count; } stretch; /* steps by their places before anything moves */

static bool may_move(const opf_program *program, size_t first, size_t step) {
    for (size_t i = first; i < step; i++)
        if (depend(program, &program->steps.data[i], &program->steps.data[step])) return false;
    return true;
}

static stretch find(const opf_program *program, size_t first) {
    stretch found = {{first}, 1};
    const opf_step *steps = program->steps.data;
    double bytes = result_bytes(program, &steps[first]), most = (double)program->machine->l2_bytes / SHARE_OF_L2;
    for (size_t i = first + 1; i < program->steps.count && i < first + FURTHEST && found.count < MOST_BESIDE && !is_fence(program, &steps[i]); i++) {
        if (!is_small(program, &steps[i])) continue;
        double more = result_bytes(program, &steps[i]);
        if (bytes + more >= most || !may_move(program, first, i)) continue;
        bytes += more;
        found.at[found.count++] = i;
    }
    return found;
}

/* More than one thread has work enough. */
static bool pays(const opf_program *program, const stretch *s) {
    double work = 0;
    for (int k = 0; k < s->count; k++) work += work_of(&program->steps.data[s->at[k]]);
    return s->count > 1 && work >= OPF_LITTLE_WORK;
}

static void move_forward(opf_program *program, size_t from, size_t to) {
    opf_step moved = program->steps.data[from];
    for (size_t i = from; i > to; i--) program->steps.data[i] = program->steps.data[i - 1];
    program->steps.data[to] = moved;
}

void opf_planner_beside(opf_program *program) {
    for (size_t i = 0; i < program->steps.count; i++) {
        if (!is_small(program, &program->steps.data[i])) continue;
        stretch s = find(program, i);
        if (!pays(program, &s)) continue;
        for (int k = 1; k < s.count; k++) move_forward(program, s.at[k], i + (size_t)k);
        for (int k = 0; k < s.count; k++) program->steps.data[i + (size_t)k].beside = k == 0 ? s.count : -k;
        i += (size_t)s.count - 1;
    }
}
