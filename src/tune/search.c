/* The tuner's loop over kernels. */
#include "tune/search.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/process.h"
#include "tune/code.h"
#include "tune/cut.h"
#include "tune/space.h"

enum { MOST_BATCH = 8, MOST_ROUNDS = 64 };

/* A candidate must beat the heuristic's by so much, twice, to be taken: less is noise. Kernels of a smaller share of the run are
 * looked at when all others are done. */
static const double TAKEN = 0.97, SMALL_SHARE = 0.004, CUT_SHARE = 0.01;

typedef struct searching {
    const opf_search_options *options;
    const opf_tunables *tunables;
    opf_findings *out;
    opf_arena *arena;
    opf_diags *diags, *quiet;  /* what candidates' compilations complain of is no problem of the model */
    const char *compilers[3];
    int64_t begun;
    int batch;
} searching;

static double seconds_since(int64_t begun) { return (double)(opf_clock_now() - begun) / 1e9; }
static double left(const searching *s) { return s->options->seconds - seconds_since(s->begun); }

static bool stopped(const searching *s) {
    const opf_race_options *race = &s->options->race;
    return race->stop && race->stop(race->stop_data);
}

static void tell(const searching *s, const opf_finding *f) {
    if (!s->options->progress) return;
    int done = (int)seconds_since(s->begun), total = (int)s->options->seconds;
    if (done >= total) done = total - 1; /* the end is told when it has come */
    s->options->progress(s->options->progress_data, opf_arena_printf(s->arena, "tuning %s (%.3f ms, best %.2f of it, %d tried), seconds", f->tunable->first, f->tunable->milliseconds / f->tunable->calls, f->ratio, f->tried), done, total);
}

/* ---- compilers ---- */

static bool starts(const char *compiler) {
    opf_process *process;
    int code = 1;
    const char *argv[] = {compiler, "--version", NULL};
    return opf_process_start(&process, argv, NULL) == OPF_OK && opf_process_wait(process, &code, NULL, NULL) == OPF_OK && code == 0;
}

/* Those that are not the usual one: its identity names itself. */
static void find_compilers(searching *s) {
    static const char *const names[] = {"gcc", "clang"};
    const char *usual = opf_compiler_identity(s->options->race.compiling, s->arena);
    int n = 0;
    for (size_t i = 0; i < OPF_COUNT(names); i++) {
        bool same = usual && (strstr(usual, "clang") != NULL) == (strcmp(names[i], "clang") == 0);
        if (!same && starts(names[i])) s->compilers[n++] = names[i];
    }
}

/* ---- the database ---- */

static opf_tuning tuning_of(const searching *s, const opf_finding *f, const opf_candidate *candidate) {
    const opf_tunable *t = f->tunable;
    double base = t->milliseconds / t->calls;
    return (opf_tuning){.kernel = t->kernel, .operators = t->operators, .cpu = s->options->cpu, .threads = s->options->race.threads, .default_ms = base,
                        .default_code = f->default_code, .best_code = opf_code_print(candidate->code, s->arena), .best_ms = candidate->verdict == OPF_RACE_DONE ? base * candidate->ratio : -1, .date = (int64_t)time(NULL), .schedule = candidate->schedule};
}

/* What was measured before, here or by another process, is not measured again. */
static bool recall(const searching *s, const opf_finding *f, opf_candidate *candidate) {
    opf_tuning tuning = tuning_of(s, f, candidate);
    double share;
    if (!opf_database_tried(s->options->database, &tuning, &share)) return false;
    candidate->verdict = share > 0 ? OPF_RACE_DONE : OPF_RACE_FAILED;
    candidate->ratio = share;
    return true;
}

static opf_status note(const searching *s, const opf_finding *f, const opf_candidate *candidate) {
    opf_tuning tuning = tuning_of(s, f, candidate);
    return opf_database_note(s->options->database, &tuning, candidate->verdict == OPF_RACE_DONE ? candidate->ratio : -1);
}

/* ---- one kernel ---- */

static void count(opf_finding *f, const opf_candidate *candidate) {
    f->tried++;
    f->wrong += candidate->verdict == OPF_RACE_WRONG;
    f->failed += candidate->verdict == OPF_RACE_FAILED;
}

/* The best so far once more, with more turns; taken where it holds. */
static opf_status confirm(searching *s, opf_race *race, opf_space *space, opf_finding *f, const opf_candidate *best) {
    opf_candidate again = *best, *one[] = {&again};
    bool taken;
    opf_status status = opf_race_run(race, one, 1, true);
    if (status != OPF_OK || again.verdict == OPF_RACE_UNTRIED) return status;
    status = note(s, f, &again);
    if (again.verdict == OPF_RACE_DONE) opf_space_correct(space, again.ratio);
    if (status != OPF_OK || again.verdict != OPF_RACE_DONE || !(again.ratio < TAKEN) || !(again.ratio < f->ratio)) return status;
    opf_tuning tuning = tuning_of(s, f, &again);
    f->ratio = again.ratio;
    f->best = again.schedule;
    return opf_database_merge(s->options->database, &tuning, &taken);
}

/* ---- fused against not fused ---- */

typedef struct cutting { const opf_group *group; int64_t at; } cutting;

static int64_t cut_here(void *data, const opf_group *group) {
    const cutting *c = data;
    return group == c->group ? c->at : 0;
}

/* The group in two kernels, each by the heuristic. */
static void add_cut(searching *s, opf_space *space, const opf_tunable *t, int64_t at) {
    cutting c = {t->group, at};
    opf_fusion *fusion;
    const opf_group *halves[2];
    opf_nest *nests[2];
    opf_diags *kept = s->options->fusion->module->diags;
    s->options->fusion->module->diags = s->quiet;
    opf_status status = opf_fuse_cut(&fusion, s->options->fusion, s->options->fusing, cut_here, &c);
    s->options->fusion->module->diags = kept;
    if (status != OPF_OK || !opf_cut_halves(fusion, t->group, at, halves)) return;
    for (int h = 0; h < 2; h++)
        if (opf_nest_schedule(&nests[h], halves[h], s->options->race.machine) != OPF_OK) return;
    opf_candidate candidate = {.schedule = {{[OPF_KNOB_CUT] = at}}, .n_nests = 2, .nests = {nests[0], nests[1]}, .predicted = 1};
    candidate.code = opf_code_of(candidate.nests, 2, &candidate.schedule);
    opf_space_push(space, &candidate);
}

/* Dear groups alone: a kernel more is a call and a value more. */
static void add_cuts(searching *s, opf_space *space, const opf_tunable *t) {
    enum { MOST_CUTS = 4 };
    int64_t places[MOST_CUTS];
    if (t->milliseconds < CUT_SHARE * s->tunables->run_ms) return;
    int n = opf_cut_places(t->group, places, MOST_CUTS);
    for (int i = 0; i < n; i++) add_cut(s, space, t, places[i]);
}

/* ---- one kernel: batches ---- */

/* Races one batch. *left_over: there was something to race. */
static opf_status race_batch(searching *s, opf_race *race, opf_space *space, opf_finding *f, bool *left_over) {
    opf_candidate *batch[MOST_BATCH], *fresh[MOST_BATCH];
    int n = opf_space_next(space, batch, s->batch), n_fresh = 0;
    *left_over = n > 0;
    for (int i = 0; i < n; i++) {
        if (recall(s, f, batch[i])) {
            f->known++;
            opf_space_tell(space, batch[i]);
        } else {
            fresh[n_fresh++] = batch[i];
        }
    }
    if (!n_fresh) return OPF_OK;
    opf_status status = opf_race_run(race, fresh, n_fresh, false);
    for (int i = 0; i < n_fresh && status == OPF_OK; i++) {
        if (fresh[i]->verdict == OPF_RACE_UNTRIED) continue; /* stopped before */
        count(f, fresh[i]);
        status = note(s, f, fresh[i]);
        opf_space_tell(space, fresh[i]);
    }
    return status;
}

static opf_status search_kernel(searching *s, const opf_tunable *t, opf_finding *f, double seconds) {
    int64_t begun = opf_clock_now();
    opf_race *race;
    opf_status status = opf_race_new(&race, t, &s->options->race, s->quiet);
    if (status != OPF_OK) return stopped(s) ? OPF_OK : status;
    opf_space *space = opf_space_new(t, s->options->race.machine, s->options->race.threads, s->compilers, s->arena);
    const opf_candidate *confirmed = NULL;
    for (size_t i = 0; i < f->old.count; i++) opf_space_suggest(space, &f->old.data[i]);
    add_cuts(s, space, t);
    bool more = true;
    f->searched = true;
    for (int round = 0; more && status == OPF_OK && !stopped(s) && (round == 0 || seconds_since(begun) < seconds); round++) {
        tell(s, f);
        status = race_batch(s, race, space, f, &more);
        const opf_candidate *best = opf_space_best(space);
        if (status != OPF_OK || !best || best == confirmed || stopped(s)) continue;
        confirmed = best;
        status = confirm(s, race, space, f, best);
    }
    f->exhausted = !more;
    opf_race_free(race);
    return status;
}

/* ---- all of them ---- */

static void list_findings(searching *s) {
    for (size_t i = 0; i < s->tunables->list.count; i++)
        OPF_PUSH(s->arena, &s->out->list, (opf_finding){.tunable = &s->tunables->list.data[i], .ratio = 1});
}

/* Was it measured on the code that would be compiled now? */
static bool is_believed(const searching *s, const opf_finding *f, const opf_tuning *t) {
    opf_hash code;
    if (!t->default_code || strcmp(t->default_code, f->default_code) != 0) return false;
    if (t->schedule.at[OPF_KNOB_CUT]) return true;
    return opf_code_of_schedule(&code, f->tunable->group, s->options->race.machine, &t->schedule) && strcmp(opf_code_print(code, s->arena), t->best_code) == 0;
}

/* What the database knows already is the mark to beat; what it knows of other code is tried first. */
static opf_status recall_best(searching *s, opf_finding *f) {
    opf_tunings known;
    f->default_code = opf_code_print(opf_code_of(&f->tunable->nest, 1, &f->tunable->nest->chosen), s->arena);
    opf_status status = opf_database_find(s->options->database, f->tunable->kernel, s->options->cpu, &known, s->arena);
    for (size_t i = 0; i < known.list.count && status == OPF_OK; i++) {
        const opf_tuning *t = &known.list.data[i];
        if (t->threads != s->options->race.threads) continue;
        if (is_believed(s, f, t)) {
            f->ratio = t->best_ms / t->default_ms;
            f->best = t->schedule;
            continue;
        }
        OPF_PUSH(s->arena, &f->old, t->schedule);
        if (t->default_code && strcmp(t->default_code, f->default_code) == 0) status = opf_database_forget(s->options->database, t);
    }
    return status;
}

/* Twice over the kernels: each gets its share of the time that is left, then the rest goes to those that have something left. */
static opf_status search_all(searching *s) {
    opf_status status = OPF_OK;
    for (int pass = 0; pass < 2 && status == OPF_OK; pass++) {
        double rest = 0;
        for (size_t i = 0; i < s->out->list.count; i++) rest += s->out->list.data[i].exhausted ? 0 : s->out->list.data[i].tunable->milliseconds;
        for (size_t i = 0; i < s->out->list.count && status == OPF_OK && left(s) > 0 && !stopped(s); i++) {
            opf_finding *f = &s->out->list.data[i];
            double own = f->tunable->milliseconds;
            if (f->exhausted || (pass == 0 && own < SMALL_SHARE * s->tunables->run_ms)) continue;
            status = search_kernel(s, f->tunable, f, left(s) * own / (rest > own ? rest : own));
            rest -= own;
        }
    }
    return status;
}

opf_status opf_search(opf_findings *out, const opf_tunables *tunables, const opf_search_options *options, opf_arena *arena, opf_diags *diags) {
    searching s = {.options = options, .tunables = tunables, .out = out, .arena = arena, .diags = diags, .quiet = opf_diags_new(), .begun = opf_clock_now()};
    opf_status status = OPF_OK;
    *out = (opf_findings){0};
    s.batch = 2 * (options->race.compiling->jobs > 0 ? options->race.compiling->jobs : opf_cores());
    if (s.batch > MOST_BATCH) s.batch = MOST_BATCH;
    list_findings(&s);
    find_compilers(&s);
    for (size_t i = 0; i < out->list.count && status == OPF_OK; i++) status = recall_best(&s, &out->list.data[i]);
    if (status == OPF_OK) status = search_all(&s);
    if (status != OPF_OK && !opf_diags_errors(diags) && opf_diags_count(s.quiet))
        opf_diag_add(diags, OPF_ERROR, "tune", OPF_NO_PLACE, "the search has ended early: %s", opf_diags_at(s.quiet, 0)->message);
    out->seconds = seconds_since(s.begun);
    out->stopped = stopped(&s);
    if (options->progress) options->progress(options->progress_data, "tuning", 1, 1);
    opf_diags_free(s.quiet);
    return status;
}
