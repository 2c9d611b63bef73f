/* Random graphs under policies none, tvm and best: generated code against the evaluator.
 *
 *   tool_random_graphs COUNT SEED [exact]     graphs of the seeds SEED … SEED+COUNT-1; what fails is made smaller and left in
 *                                             build/random as graph_<seed>.onnx. exact: under --accuracy=exact, bit for bit
 *
 * Exit status 1 where a graph fails. Graphs go in batches, each in a process of its own with one call of the compiler: a crash
 * costs the graph that it happens at. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "run/unit.h"

enum { BATCH = 25, MOST_NODES = 64, SECONDS_OF_GRAPH = 60, SECONDS_OF_COMPILER = 400 };

typedef struct verdict {
    enum { WAITING, AT_WORK, RIGHT, WRONG } state;
    int policy, nodes, kernels[POLICIES], results[OPF_GROUP_UNSEEN + 1];
    char why[600];
} verdict;

typedef struct task { uint64_t seed; const int *cut; int output, policies; verdict *verdict; } task; /* policies: a set of bits */

static char scratch[256];

/* ---- a batch, in its own process ---- */

static void fail(task *t, int policy, const char *why) {
    if (t->verdict->state == WRONG) return;
    snprintf(t->verdict->why, sizeof t->verdict->why, "%s", why);
    t->verdict->policy = policy;
    t->verdict->state = WRONG;
}

static int kernels_of(const program *p) {
    int kernels = 0;
    for (size_t i = 0; i < p->session->pipeline.program->steps.count; i++) kernels += p->session->pipeline.program->steps.data[i].kind == OPF_RUN_KERNEL;
    return kernels;
}

static void emit(task *t, subject *s, program *programs, const char *folder) {
    t->verdict->state = AT_WORK;
    alarm(SECONDS_OF_GRAPH);
    subject_open(s, t->seed, t->cut, t->output);
    t->verdict->nodes = (int)s->maker->graph->nodes.count;
    if (s->wrong) fail(t, 0, s->wrong);
    for (int policy = 0; policy < POLICIES && !s->wrong; policy++) {
        program *p = &programs[policy];
        if (!(t->policies >> policy & 1)) continue;
        t->verdict->policy = policy;
        program_emit(p, s, policy, folder);
        if (p->wrong) fail(t, policy, p->wrong);
        else t->verdict->kernels[policy] = kernels_of(p);
    }
    if (t->verdict->state == AT_WORK) t->verdict->state = WAITING;
}

/* NULL where the compiler fails. It takes most of the time, which -O0 halves; what the tests' models run is compiled as users have it. */
static const char *compile(program *const *list, int count, const char *folder, opf_arena *arena) {
    opf_unit *unit = opf_unit_new();
    opf_diags *diags = opf_diags_new();
    opf_compile_options options = {.level = "-O0", .jobs = 1};
    const char *object = NULL;
    for (int i = 0; i < count; i++) opf_unit_add(unit, list[i]->session->pipeline.sources, i);
    alarm(SECONDS_OF_COMPILER);
    if (opf_unit_compile(&object, unit, folder, &list[0]->session->pipeline.machine, &options, arena, diags) != OPF_OK) {
        object = NULL;
        if (opf_diags_count(diags) && count == 1) list[0]->wrong = opf_arena_printf(arena, "%s: %.400s", opf_diags_at(diags, 0)->message, opf_diags_at(diags, 0)->details ? opf_diags_at(diags, 0)->details : "");
    }
    opf_unit_free(unit);
    opf_diags_free(diags);
    return object;
}

static void check_list(task *const *tasks, program *const *list, int count, const char *folder, opf_arena *arena) {
    const char *object = count ? compile(list, count, folder, arena) : NULL;
    if (count > 1 && !object) { /* one of them is at fault */
        check_list(tasks, list, count / 2, folder, arena);
        check_list(tasks + count / 2, list + count / 2, count - count / 2, folder, arena);
        return;
    }
    for (int i = 0; i < count; i++) {
        if (tasks[i]->verdict->state == WRONG) continue;
        tasks[i]->verdict->state = AT_WORK;
        tasks[i]->verdict->policy = list[i]->policy;
        alarm(SECONDS_OF_GRAPH);
        program_check(list[i], object, opf_arena_printf(arena, "opf_entry_%d", i));
        for (int v = 0; v <= OPF_GROUP_UNSEEN; v++) tasks[i]->verdict->results[v] += list[i]->results[v];
        if (list[i]->wrong) fail(tasks[i], list[i]->policy, list[i]->wrong);
        else tasks[i]->verdict->state = WAITING;
    }
}

/* Ends the process. */
static void run_batch(task *tasks, int count) {
    opf_arena *arena = opf_arena_new();
    opf_diags *diags = opf_diags_new();
    const char *folder = opf_arena_printf(arena, "%s/%d", scratch, (int)getpid());
    subject *subjects = OPF_ARRAY(arena, subject, count);
    program *programs = OPF_ARRAY(arena, program, count * POLICIES), **list = OPF_ARRAY(arena, program *, count * POLICIES + 1);
    task **of = OPF_ARRAY(arena, task *, count * POLICIES + 1);
    int n = 0;
    opf_folder_make(folder, diags);
    for (int i = 0; i < count; i++) emit(&tasks[i], &subjects[i], programs + i * POLICIES, folder);
    for (int i = 0; i < count * POLICIES; i++)
        if (programs[i].session && !programs[i].wrong && tasks[i / POLICIES].verdict->state != WRONG) {
            of[n] = &tasks[i / POLICIES];
            list[n++] = &programs[i];
        }
    check_list(of, list, n, folder, arena);
    for (int i = 0; i < count; i++)
        if (tasks[i].verdict->state == WAITING) tasks[i].verdict->state = RIGHT;
    opf_folder_remove(folder);
    _exit(0);
}

/* ---- batches ---- */

static pid_t start(task *tasks, int count) {
    fflush(NULL);
    pid_t process = fork();
    if (process == 0) run_batch(tasks, count);
    if (process < 0) perror("fork"), exit(2);
    return process;
}

/* What the process was at when it died is its verdict. */
static void reap(task *tasks, int count, int status) {
    char why[128];
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) snprintf(why, sizeof why, "it takes too long");
    else if (WIFSIGNALED(status)) snprintf(why, sizeof why, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else snprintf(why, sizeof why, "the process ends with status %d", WEXITSTATUS(status));
    for (int i = 0; i < count; i++)
        if (tasks[i].verdict->state == AT_WORK) fail(&tasks[i], tasks[i].verdict->policy, why);
}

/* Runs the tasks, and again those that another one's death has left without a verdict, alone. */
static void run_tasks(task *tasks, int count, int batch, int jobs) {
    struct { pid_t process; int first, count; } at_work[16] = {{0}};
    int next = 0, busy = 0;
    while (next < count || busy) {
        for (int j = 0; j < jobs && next < count; j++) {
            if (at_work[j].process) continue;
            int size = count - next < batch ? count - next : batch;
            at_work[j].process = start(tasks + next, size);
            at_work[j].first = next;
            at_work[j].count = size;
            next += size;
            busy++;
        }
        int status;
        pid_t done = wait(&status);
        for (int j = 0; j < jobs; j++) {
            if (!done || at_work[j].process != done) continue;
            reap(tasks + at_work[j].first, at_work[j].count, status);
            at_work[j].process = 0;
            busy--;
        }
    }
    for (int i = 0; i < count; i++) {
        if (tasks[i].verdict->state == RIGHT || tasks[i].verdict->state == WRONG) continue;
        int status;
        waitpid(start(&tasks[i], 1), &status, 0);
        reap(&tasks[i], 1, status);
        if (tasks[i].verdict->state != RIGHT) fail(&tasks[i], 0, "it has no verdict: the compiler took too long");
    }
}

/* ---- made smaller ---- */

static bool still_fails(task *t, const int *cut, int output) {
    *t->verdict = (verdict){.state = WAITING};
    task smaller = {t->seed, cut, output, t->policies, t->verdict};
    run_tasks(&smaller, 1, 1, 1);
    return t->verdict->state == WRONG && strncmp(t->verdict->why, "as read", 7) != 0;
}

/* One output is enough; then nodes from the front become inputs, as long as the graph still fails. */
static void shrink(task *t, const char *folder) {
    int cut[MOST_NODES + 1], n = 0, output = -1;
    verdict first = *t->verdict, last = first;
    t->policies = 1 << first.policy;
    maker *m = make_graph(t->seed, NULL, -1);
    int nodes = (int)m->graph->nodes.count, outputs = (int)m->graph->outputs.count;
    maker_free(m);
    cut[0] = -1;
    for (int o = 0; o < outputs && output < 0 && outputs > 1; o++)
        if (still_fails(t, cut, o)) output = o, last = *t->verdict;
    for (int k = 0; k < nodes && n < MOST_NODES; k++) {
        cut[n] = k;
        cut[n + 1] = -1;
        if (still_fails(t, cut, output)) n++, last = *t->verdict;
        else cut[n] = -1;
    }
    subject s;
    subject_open(&s, t->seed, cut, output);
    char path[512];
    snprintf(path, sizeof path, "%s/graph_%llu.onnx", folder, (unsigned long long)t->seed);
    opf_diags *diags = opf_diags_new();
    opf_folder_make(folder, diags);
    opf_file_write(path, s.bytes.data, s.bytes.length, diags);
    printf("  %s (%zu of %d nodes, --fuse=%s): %s\n", path, s.maker->graph->nodes.count, nodes, policy_names[first.policy], last.why);
    opf_diags_free(diags);
    subject_close(&s);
    *t->verdict = first;
}

/* ---- all ---- */

static int report(task *tasks, int count, const char *folder, bool shrinks) {
    int failed = 0, nodes = 0, kernels[POLICIES] = {0};
    long results[OPF_GROUP_UNSEEN + 1] = {0};
    for (int i = 0; i < count; i++) {
        verdict *v = tasks[i].verdict;
        nodes += v->nodes;
        for (int policy = 0; policy < POLICIES; policy++) kernels[policy] += v->kernels[policy];
        for (int k = 0; k <= OPF_GROUP_UNSEEN; k++) results[k] += v->results[k];
        if (v->state == RIGHT) continue;
        failed++;
        printf("FAILED  seed %llu, %s: %s\n", (unsigned long long)tasks[i].seed, policy_names[v->policy], v->why);
        if (shrinks && failed <= 10) shrink(&tasks[i], folder);
        fflush(stdout);
    }
    printf("%d random graphs of %d nodes: %d kernels under none, %d under tvm, %d under best; %d failed\n", count, nodes, kernels[0], kernels[1], kernels[2], failed);
    printf("results of groups on the evaluator's inputs: %ld exact, %ld within their bounds, %ld beyond, %ld without a bound, %ld not seen by the evaluator\n",
           results[OPF_GROUP_EXACT], results[OPF_GROUP_WITHIN], results[OPF_GROUP_BEYOND], results[OPF_GROUP_UNBOUNDED], results[OPF_GROUP_UNSEEN]);
    return failed;
}

int main(int n, char **arguments) {
    if (n < 3) return fprintf(stderr, "usage: tool_random_graphs COUNT SEED [exact]\n"), 2;
    int count = atoi(arguments[1]);
    const char *folder = "build/random";
    random_exactly = n > 3 && strcmp(arguments[3], "exact") == 0;
    opf_arena *arena = opf_arena_new();
    opf_diags *diags = opf_diags_new();
    char *temporary;
    if (opf_folder_temporary(&temporary, arena, diags) != OPF_OK) return 2;
    snprintf(scratch, sizeof scratch, "%s", temporary);
    verdict *verdicts = mmap(NULL, (size_t)count * sizeof *verdicts + 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    task *tasks = OPF_ARRAY(arena, task, count + 1);
    if (verdicts == MAP_FAILED) return 2;
    for (int i = 0; i < count; i++) tasks[i] = (task){.seed = strtoull(arguments[2], NULL, 10) + (uint64_t)i, .output = -1, .policies = (1 << POLICIES) - 1, .verdict = &verdicts[i]};
    int jobs = opf_cores();
    run_tasks(tasks, count, BATCH, jobs > 16 ? 16 : jobs);
    int failed = report(tasks, count, folder, !getenv("OPF_RANDOM_WHOLE"));
    opf_folder_remove(scratch);
    opf_arena_free(arena);
    return failed != 0;
}
