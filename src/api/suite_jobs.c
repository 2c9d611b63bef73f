/* Batches of a suite in processes of their own: what one of them does to itself, the others do not feel. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/suite.h"
#include "base/clock.h"
#include "run/session.h"

enum { TRIALS_OF_BATCH = 100, MOST_JOBS = 64, LINE_ROOM = 8192 };

/* Seconds without a word after which a batch counts as hung. A compiler is waited for longer: it has a whole batch to do. */
enum { TRIAL_PATIENCE = 120, COMPILER_PATIENCE = 600 };

typedef struct work {
    opf_trial **trials;
    int count;
} work;

typedef struct job {
    pid_t process;             /* 0: free */
    int pipe;
    work work;
    opf_trial *at;             /* the trial that it is at; NULL: none yet, or the compiler */
    bool compiling, killed;
    int64_t heard;             /* when it last told something */
    char line[LINE_ROOM];
    size_t length;
} job;

typedef struct running {
    opf_suite *suite;
    OPF_VEC(work) queue;
    size_t next;               /* in the queue */
    job jobs[MOST_JOBS];
    int n_jobs, done;
} running;

/* ---- verdicts ---- */

static void settle(running *r, opf_trial *trial, const char *code, const char *reason) {
    if (trial->done) return;
    trial->done = true;
    trial->code = code ? opf_arena_string(r->suite->arena, code) : NULL;
    trial->reason = reason ? opf_arena_string(r->suite->arena, reason) : NULL;
    opf_context_progress(r->suite->context, "trials", ++r->done, (int)r->suite->trials.count);
}

static void take_line(running *r, job *j, const char *line) {
    int number = -1, used = 0;
    double seconds;
    char code[64];
    j->heard = opf_clock_now();
    j->compiling = strcmp(line, "compile") == 0;
    if (j->compiling) j->at = NULL;
    if (sscanf(line, "build %d", &number) == 1 || sscanf(line, "run %d", &number) == 1) {
        if (number >= 0 && (size_t)number < r->suite->trials.count) j->at = &r->suite->trials.data[number];
        return;
    }
    if (sscanf(line, "done %d %lf %63s %n", &number, &seconds, code, &used) < 3 || number < 0 || (size_t)number >= r->suite->trials.count) return;
    bool right = strcmp(code, "-") == 0;
    r->suite->trials.data[number].seconds = seconds;
    settle(r, &r->suite->trials.data[number], right ? NULL : code, right ? NULL : line + used);
}

/* ---- processes ---- */

static void enqueue(running *r, opf_trial **trials, int count) {
    if (count) OPF_PUSH(r->suite->arena, &r->queue, (work){trials, count});
}

static opf_status start(running *r, job *j, work w) {
    int ends[2];
    if (pipe(ends) != 0) return OPF_ERROR_SYSTEM;
    fflush(NULL);
    pid_t process = fork();
    if (process == 0) {
        close(ends[0]);
        setpgid(0, 0); /* its compiler dies with it */
        opf_suite_run_batch(r->suite, w.trials, w.count, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    if (process < 0) {
        close(ends[0]);
        return OPF_ERROR_SYSTEM;
    }
    setpgid(process, process);
    *j = (job){.process = process, .pipe = ends[0], .work = w, .heard = opf_clock_now()};
    return OPF_OK;
}

/* What the process was at is its verdict; the rest is tried again: alone, trial by trial, where the compiler or nothing was
 * at work. */
static void retry(running *r, job *j, const char *code, const char *reason) {
    opf_trial **left = OPF_ARRAY(r->suite->arena, opf_trial *, j->work.count + 1);
    int count = 0;
    opf_trial *at = j->at && !j->at->done ? j->at : NULL;
    if (at) settle(r, at, code, reason);
    for (int i = 0; i < j->work.count; i++)
        if (!j->work.trials[i]->done) left[count++] = j->work.trials[i];
    if (!at && count == 1) settle(r, left[0], code, reason);
    else if (!at)
        for (int i = 0; i < count; i++) enqueue(r, &left[i], 1);
    else enqueue(r, left, count);
}

static void reap(running *r, job *j) {
    int status = 0;
    while (waitpid(j->process, &status, 0) < 0 && errno == EINTR) {}
    close(j->pipe);
    char reason[128];
    if (j->killed) snprintf(reason, sizeof reason, "no answer within %d s", j->compiling ? COMPILER_PATIENCE : TRIAL_PATIENCE);
    else if (WIFSIGNALED(status)) snprintf(reason, sizeof reason, "signal %d (%s) while %s", WTERMSIG(status), strsignal(WTERMSIG(status)), j->compiling ? "compiling" : "at work");
    else snprintf(reason, sizeof reason, "the process ended with status %d", WEXITSTATUS(status));
    retry(r, j, j->killed ? "hang" : "crash", reason);
    opf_folder_remove(opf_arena_printf(r->suite->arena, "%s/%d", r->suite->scratch, (int)j->process));
    j->process = 0;
}

/* False where the process has closed its end. */
static bool hear(running *r, job *j) {
    ssize_t got = read(j->pipe, j->line + j->length, sizeof j->line - 1 - j->length);
    if (got < 0 && errno == EINTR) return true;
    if (got <= 0) return false;
    j->length += (size_t)got;
    j->line[j->length] = '\0';
    char *at = j->line;
    for (char *end; (end = strchr(at, '\n')); at = end + 1) {
        *end = '\0';
        take_line(r, j, at);
    }
    j->length = strlen(at);
    memmove(j->line, at, j->length + 1);
    if (j->length == sizeof j->line - 1) j->length = 0; /* no line is that long */
    return true;
}

static void watch_clock(job *j) {
    int64_t patience = (int64_t)(j->compiling ? COMPILER_PATIENCE : TRIAL_PATIENCE) * 1000000000;
    if (j->killed || opf_clock_now() - j->heard < patience) return;
    j->killed = true;
    kill(-j->process, SIGKILL);
}

/* ---- all ---- */

static opf_status start_jobs(running *r, int *busy) {
    *busy = 0;
    for (int i = 0; i < r->n_jobs; i++) {
        job *j = &r->jobs[i];
        if (!j->process && r->next < r->queue.count) {
            opf_status status = start(r, j, r->queue.data[r->next++]);
            if (status != OPF_OK) return status;
        }
        *busy += j->process != 0;
    }
    return OPF_OK;
}

static void listen_once(running *r) {
    struct pollfd waiting[MOST_JOBS];
    job *of[MOST_JOBS];
    nfds_t n = 0;
    for (int i = 0; i < r->n_jobs; i++) {
        if (!r->jobs[i].process) continue;
        of[n] = &r->jobs[i];
        waiting[n++] = (struct pollfd){.fd = r->jobs[i].pipe, .events = POLLIN};
    }
    if (poll(waiting, n, 1000) < 0) return;
    for (nfds_t i = 0; i < n; i++) {
        if (waiting[i].revents && !hear(r, of[i])) reap(r, of[i]);
        else watch_clock(of[i]);
    }
}

static void make_queue(running *r) {
    opf_suite *suite = r->suite;
    int count = (int)suite->trials.count, size = (count + r->n_jobs - 1) / r->n_jobs;
    if (size > TRIALS_OF_BATCH) size = TRIALS_OF_BATCH;
    opf_trial **all = OPF_ARRAY(suite->arena, opf_trial *, count + 1);
    for (int i = 0; i < count; i++) all[i] = &suite->trials.data[i];
    for (int i = 0; i < count; i += size) enqueue(r, all + i, count - i < size ? count - i : size);
}

opf_status opf_suite_run(opf_suite *suite) {
    running r = {.suite = suite, .n_jobs = suite->options->jobs > 0 ? suite->options->jobs : opf_cores()};
    if (r.n_jobs > MOST_JOBS) r.n_jobs = MOST_JOBS;
    make_queue(&r);
    opf_status status = OPF_OK;
    for (int busy = 1; busy && status == OPF_OK;) {
        status = start_jobs(&r, &busy);
        if (busy && status == OPF_OK) listen_once(&r);
    }
    if (status == OPF_OK) return OPF_OK;
    for (int i = 0; i < r.n_jobs; i++)
        if (r.jobs[i].process) kill(-r.jobs[i].process, SIGKILL), reap(&r, &r.jobs[i]);
    opf_diag_add(suite->context->diags, OPF_ERROR, "io", OPF_NO_PLACE, "no process can be started: %s", strerror(errno));
    return status;
}
