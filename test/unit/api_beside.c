/* Kernels side by side: they do run at once, on values that do not share memory, and change no bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/session.h"
#include "own_cache.h"
#include "run/runner.h"

#define MODEL OPF_TEST_DATA "/../cli/models/beside.onnx"
enum { INPUTS = 4, OUTPUTS = 8, PATIENCE = 20 /* seconds */ };

typedef struct running {
    opf_context *context;
    opf_model *model;
    opf_session *session;
    opf_array inputs[INPUTS], outputs[OUTPUTS];
} running;

static running start(const char *threads) {
    running r = {.context = opf_context_new()};
    opf_context_set(r.context, "cache", cache);
    opf_context_set(r.context, "threads", threads);
    assert_int_equal(opf_model_load(&r.model, r.context, MODEL), OPF_OK);
    for (size_t i = 0; i < INPUTS; i++) assert_int_equal(opf_model_make_input(&r.inputs[i], r.model, i, NULL), OPF_OK);
    assert_int_equal(opf_session_new(&r.session, r.model), OPF_OK);
    assert_int_equal(opf_session_demand_program(r.session), OPF_OK);
    return r;
}

static void end(running *r) {
    opf_session_free(r->session);
    opf_model_free(r->model);
    opf_context_free(r->context);
}

static const opf_program *program_of(const running *r) { return r->session->pipeline.program; }

/* ---- bits ---- */

static size_t bytes_of(const opf_array *array) {
    size_t bytes = sizeof(float);
    for (int k = 0; k < array->rank; k++) bytes *= (size_t)array->dims[k];
    return bytes;
}

static void threads_change_no_bit(void **state) {
    (void)state;
    static const char *const threads[] = {"1", "2", "3", "7"};
    running r[OPF_COUNT(threads)];
    for (size_t t = 0; t < OPF_COUNT(threads); t++) {
        r[t] = start(threads[t]);
        for (int again = 0; again < 20; again++) {
            assert_int_equal(opf_session_run(r[t].session, r[t].inputs, r[t].outputs), OPF_OK);
            for (size_t k = 0; k < OUTPUTS; k++) assert_memory_equal(r[t].outputs[k].data, r[0].outputs[k].data, bytes_of(&r[0].outputs[k]));
        }
    }
    for (size_t t = 0; t < OPF_COUNT(threads); t++) end(&r[t]);
}

/* ---- memory ---- */

static bool overlap(const opf_buffer *a, const opf_buffer *b) {
    int64_t a_bytes = 0, b_bytes = 0;
    if (a->kind != OPF_BUFFER_WORKSPACE || b->kind != OPF_BUFFER_WORKSPACE || a->index || b->index) return false;
    opf_is_int(a->bytes, &a_bytes);
    opf_is_int(b->bytes, &b_bytes);
    return a->offset < b->offset + b_bytes && b->offset < a->offset + a_bytes;
}

/* Of a stretch of steps, no two buffers lie on each other, and the lives that `explain --memory` shows span it. */
static void stretches_share_no_memory(void **state) {
    (void)state;
    running r = start("2");
    const opf_program *program = program_of(&r);
    int stretches = 0;
    for (size_t i = 0; i < program->steps.count; i++) {
        int n = program->steps.data[i].beside, last = (int)i + n - 1;
        for (int a = 0; n > 1 && a < n; a++)
            for (int k = 0; k < program->steps.data[i + (size_t)a].n_buffers; k++) {
                const opf_buffer *mine = opf_program_storage(program, program->steps.data[i + (size_t)a].buffers[k]);
                assert_true(mine->first_step <= (int)i && mine->last_step >= last);
                for (int b = 0; b < a; b++)
                    for (int j = 0; j < program->steps.data[i + (size_t)b].n_buffers; j++) {
                        const opf_buffer *other = opf_program_storage(program, program->steps.data[i + (size_t)b].buffers[j]);
                        assert_true(mine == other || !overlap(mine, other));
                    }
            }
        stretches += n > 1;
    }
    assert_int_equal(stretches, 2);
    end(&r);
}

/* ---- at once ---- */

typedef struct meeting {
    const opf_program *program;
    pthread_mutex_t lock;
    pthread_cond_t change;
    int under_way, most, seen, told_at_once;
} meeting;

/* The first step of each stretch waits until another one has begun, so that nothing hangs on who is faster. */
static void meet(void *data, int step, int begin) {
    meeting *m = data;
    pthread_mutex_lock(&m->lock);
    m->under_way += begin ? 1 : -1;
    m->seen += begin != 0;
    if (m->under_way > m->most) m->most = m->under_way;
    pthread_cond_broadcast(&m->change);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE;
    bool waits = begin && m->told_at_once && m->program->steps.data[step].beside > 1;
    while (waits && m->most < 2 && pthread_cond_timedwait(&m->change, &m->lock, &until) == 0) {}
    pthread_mutex_unlock(&m->lock);
}

static int most_at_once(const char *threads, int told_at_once) {
    running r = start(threads);
    meeting m = {.program = program_of(&r), .lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER, .told_at_once = told_at_once};
    opf_runner_trace(r.session->runner, meet, &m);
    r.session->runner->hook.trace_at_once = told_at_once;
    assert_int_equal(opf_session_run(r.session, r.inputs, r.outputs), OPF_OK);
    assert_int_equal(m.seen, (int)m.program->steps.count);
    assert_int_equal(m.under_way, 0);
    end(&r);
    return m.most;
}

static void steps_overlap(void **state) {
    (void)state;
    assert_true(most_at_once("2", 1) >= 2);
    assert_true(most_at_once("7", 1) >= 2);
}

/* Who looks between two steps, without saying that it can be called from several threads, sees one after another. */
static void watchers_see_one_after_another(void **state) {
    (void)state;
    assert_int_equal(most_at_once("3", 0), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_change_no_bit), cmocka_unit_test(stretches_share_no_memory), cmocka_unit_test(steps_overlap),
                                       cmocka_unit_test(watchers_see_one_after_another)};
    return cmocka_run_group_tests(tests, make_cache, remove_cache);
}
