#include "opf_threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* The ticket holds generation, number of parts and the next part to hand out in one word: a worker takes a part by exchanging
 * the whole word, which fails unless the task that it has read is still the current one. */
enum { PART_BITS = 16, PARTS_LIMIT = (1 << PART_BITS) - 1, SPINS = 20000 };

struct opf_pool_threads {
    _Atomic uint64_t ticket;
    _Atomic(opf_kernel) kernel;
    _Atomic(const opf_args *) args;
    atomic_int finished;  /* parts of the current task that are done */
    atomic_int sleepers;  /* workers inside pthread_cond_wait */
    atomic_bool stop;
    pthread_mutex_t busy; /* held by the caller whose task runs */
    pthread_mutex_t lock; /* for sleeping */
    pthread_cond_t wake, done;
    int n_workers;
    pthread_t workers[];
};

static _Thread_local int inside; /* this thread runs a part */

static uint64_t ticket_of(uint64_t generation, int parts, int next) {
    return generation << (2 * PART_BITS) | (uint64_t)parts << PART_BITS | (uint64_t)next;
}
static int ticket_parts(uint64_t ticket) { return (int)(ticket >> PART_BITS & PARTS_LIMIT); }
static int ticket_next(uint64_t ticket) { return (int)(ticket & PARTS_LIMIT); }

static void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void run_serial(opf_kernel kernel, const opf_args *args, int parts) {
    for (int part = 0; part < parts; part++) kernel(args, part, parts);
}

/* Takes parts until none is left; whoever finishes the last one wakes the caller. */
static void work(opf_threads *pool) {
    uint64_t ticket = atomic_load(&pool->ticket);
    while (ticket_next(ticket) < ticket_parts(ticket)) {
        opf_kernel kernel = atomic_load_explicit(&pool->kernel, memory_order_relaxed);
        const opf_args *args = atomic_load_explicit(&pool->args, memory_order_relaxed);
        if (!atomic_compare_exchange_weak(&pool->ticket, &ticket, ticket + 1)) continue;
        inside++;
        kernel(args, ticket_next(ticket), ticket_parts(ticket));
        inside--;
        if (atomic_fetch_add(&pool->finished, 1) + 1 == ticket_parts(ticket)) {
            pthread_mutex_lock(&pool->lock);
            pthread_cond_signal(&pool->done);
            pthread_mutex_unlock(&pool->lock);
        }
        ticket = atomic_load(&pool->ticket);
    }
}

static bool has_work(opf_threads *pool) {
    uint64_t ticket = atomic_load(&pool->ticket);
    return ticket_next(ticket) < ticket_parts(ticket) || atomic_load(&pool->stop);
}

static void *worker(void *data) {
    opf_threads *pool = data;
    while (!atomic_load(&pool->stop)) {
        for (int i = 0; i < SPINS && !has_work(pool); i++) relax();
        if (!has_work(pool)) {
            pthread_mutex_lock(&pool->lock);
            atomic_fetch_add(&pool->sleepers, 1);
            while (!has_work(pool)) pthread_cond_wait(&pool->wake, &pool->lock);
            atomic_fetch_sub(&pool->sleepers, 1);
            pthread_mutex_unlock(&pool->lock);
        }
        work(pool);
    }
    return NULL;
}

opf_threads *opf_threads_new(int threads) {
    if (threads <= 1) return NULL;
    opf_threads *pool = calloc(1, sizeof *pool + (size_t)(threads - 1) * sizeof *pool->workers);
    if (!pool) return NULL;
    pthread_mutex_init(&pool->busy, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
    for (; pool->n_workers < threads - 1; pool->n_workers++)
        if (pthread_create(&pool->workers[pool->n_workers], NULL, worker, pool)) break;
    if (pool->n_workers) return pool;
    opf_threads_free(pool);
    return NULL;
}

void opf_threads_free(opf_threads *pool) {
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->stop, true);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->n_workers; i++) pthread_join(pool->workers[i], NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->busy);
    free(pool);
}

int opf_threads_count(const opf_threads *pool) { return pool ? pool->n_workers + 1 : 1; }

static bool is_done(opf_threads *pool, int parts) { return atomic_load(&pool->finished) == parts; }

void opf_threads_parallel(void *data, opf_kernel kernel, const opf_args *args, int parts) {
    opf_threads *pool = data;
    if (!pool || parts <= 1 || parts > PARTS_LIMIT || inside || pthread_mutex_trylock(&pool->busy)) {
        run_serial(kernel, args, parts);
        return;
    }
    uint64_t generation = (atomic_load(&pool->ticket) >> (2 * PART_BITS)) + 1;
    atomic_store(&pool->finished, 0);
    atomic_store(&pool->kernel, kernel);
    atomic_store(&pool->args, args);
    atomic_store(&pool->ticket, ticket_of(generation, parts, 0));
    if (atomic_load(&pool->sleepers)) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->lock);
    }
    work(pool);
    for (int i = 0; i < SPINS && !is_done(pool, parts); i++) relax();
    if (!is_done(pool, parts)) {
        pthread_mutex_lock(&pool->lock);
        while (!is_done(pool, parts)) pthread_cond_wait(&pool->done, &pool->lock);
        pthread_mutex_unlock(&pool->lock);
    }
    pthread_mutex_unlock(&pool->busy);
}

/* "quota period" of cgroup v2, "max" for none; 0 where there is no such file. */
static int group_limit(void) {
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "r");
    if (!file) return 0;
    long long quota = 0, period = 0;
    int n = fscanf(file, "%lld %lld", &quota, &period);
    fclose(file);
    return n == 2 && quota > 0 && period > 0 ? (int)((quota + period - 1) / period) : 0;
}

int opf_threads_available(void) {
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1, limit = group_limit();
    if (limit && limit < count) count = limit;
    return count > 0 ? count : 1;
}
