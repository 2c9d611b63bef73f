/* The thread pool: every part runs exactly once, whatever the number of parts, callers and nesting. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "opf_threads.h"

typedef struct count { atomic_int runs[64], total; opf_threads *pool; } count;

static void mark(const opf_args *args, int part, int parts) {
    count *c = args->p[0];
    atomic_fetch_add(&c->runs[part % 64], 1);
    atomic_fetch_add(&c->total, parts);
}

static void run_once(opf_threads *pool, int parts) {
    count c = {0};
    void *buffers[] = {&c};
    opf_args args = {buffers, NULL, NULL, 0};
    opf_threads_parallel(pool, mark, &args, parts);
    for (int i = 0; i < 64; i++) assert_int_equal(c.runs[i], i < parts);
    assert_int_equal(c.total, parts * parts);
}

static void parts_run_once(void **state) {
    (void)state;
    for (int threads = 0; threads <= 5; threads++) {
        opf_threads *pool = opf_threads_new(threads);
        assert_int_equal(opf_threads_count(pool), threads < 1 ? 1 : threads);
        for (int i = 0; i < 2000; i++) run_once(pool, i % 64);
        opf_threads_free(pool);
    }
}

static void workers_wake_after_sleep(void **state) {
    (void)state;
    opf_threads *pool = opf_threads_new(3);
    for (int i = 0; i < 20; i++) {
        usleep(5000); /* longer than workers spin */
        run_once(pool, 7);
    }
    opf_threads_free(pool);
}

static void nested(const opf_args *args, int part, int parts) {
    (void)part, (void)parts;
    count *c = args->p[0];
    run_once(c->pool, 5);
    atomic_fetch_add(&c->total, 1);
}

static void nested_calls_run_in_the_caller(void **state) {
    (void)state;
    count c = {0};
    c.pool = opf_threads_new(3);
    void *buffers[] = {&c};
    opf_args args = {buffers, NULL, NULL, 0};
    for (int i = 0; i < 100; i++) opf_threads_parallel(c.pool, nested, &args, 6);
    assert_int_equal(c.total, 600);
    opf_threads_free(c.pool);
}

static void *caller(void *pool) {
    for (int i = 0; i < 3000; i++) run_once(pool, 1 + i % 9);
    return NULL;
}

static void callers_share_a_pool(void **state) {
    (void)state;
    opf_threads *pool = opf_threads_new(2);
    pthread_t other[3];
    for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&other[i], NULL, caller, pool), 0);
    caller(pool);
    for (int i = 0; i < 3; i++) pthread_join(other[i], NULL);
    opf_threads_free(pool);
}

static void at_least_one_processor(void **state) {
    (void)state;
    assert_true(opf_threads_available() >= 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_run_once),       cmocka_unit_test(workers_wake_after_sleep),
        cmocka_unit_test(nested_calls_run_in_the_caller), cmocka_unit_test(callers_share_a_pool),
        cmocka_unit_test(at_least_one_processor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
