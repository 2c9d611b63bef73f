/* Schedules for a program: pins and database. */
#include "tune/catalog.h"

#include <string.h>

#include "base/file.h"
#include "base/intern.h"
#include "base/map.h"
#include "tune/code.h"

struct opf_catalog {
    opf_catalog_options options;
    opf_arena *arena;
    opf_diags *diags;
    opf_database *database;    /* NULL: there is none */
    opf_tunings pins;
    bool *pin_used;
    const char *cpu;
    opf_diags *quiet;          /* of the database */
    opf_schedule_source source;
    opf_map rows;              /* kernel (a name of the module) → what the database has for it; `nothing` where that is nothing */
    int kernels, pinned, found, refused, disbelieved;
};
static const opf_tuning nothing;

/* ---- looking up ---- */

static const opf_tuning *pin_of(opf_catalog *c, const char *kernel, bool use) {
    for (size_t i = 0; i < c->pins.list.count; i++) {
        if (strcmp(c->pins.list.data[i].kernel, kernel) != 0) continue;
        c->pin_used[i] |= use;
        return &c->pins.list.data[i];
    }
    return NULL;
}

/* The most threads not above the run's whose choices give the same bits as those of the fewest. */
static const opf_tuning *suited(const opf_tunings *rows, int threads) {
    const opf_tuning *best = NULL;
    for (size_t i = 0; i < rows->list.count; i++) {
        const opf_tuning *t = &rows->list.data[i];
        if (!best || (t->threads <= threads && opf_schedule_same_bits(&t->schedule, &rows->list.data[0].schedule))) best = t;
    }
    return best;
}

/* Leaves those that were measured on the code that would be compiled now. A schedule that does not apply stays: it will be told why. */
static void keep_believed(opf_catalog *c, const opf_group *group, const opf_machine *machine, opf_tunings *rows) {
    opf_hash code;
    const char *usual = rows->list.count && opf_code_of_default(&code, group, machine) ? opf_code_print(code, c->arena) : NULL;
    size_t kept = 0, before = rows->list.count;
    for (size_t i = 0; i < before; i++) {
        const opf_tuning *t = &rows->list.data[i];
        if (!usual || !t->default_code || strcmp(t->default_code, usual) != 0) continue;
        if (!t->schedule.at[OPF_KNOB_CUT] && opf_code_of_schedule(&code, group, machine, &t->schedule) && strcmp(opf_code_print(code, c->arena), t->best_code) != 0) continue;
        rows->list.data[kept++] = *t;
    }
    rows->list.count = kept;
    c->disbelieved += before && !kept;
}

static const opf_tuning *row_of(opf_catalog *c, const opf_group *group, const opf_machine *machine, const char *kernel) {
    opf_tunings rows;
    if (!c->database) return NULL;
    const opf_tuning *known = opf_map_get(&c->rows, kernel);
    if (!known) {
        if (opf_database_find(c->database, kernel, c->cpu, &rows, c->arena) == OPF_OK) {
            keep_believed(c, group, machine, &rows);
            known = suited(&rows, c->options.threads);
        }
        if (!known) known = &nothing;
        opf_map_set(&c->rows, kernel, (void *)(uintptr_t)known);
    }
    return known == &nothing ? NULL : known;
}

static const opf_tuning *look_up(opf_catalog *c, const opf_group *group, const opf_machine *machine, bool use, bool *pinned) {
    const char *kernel = opf_intern(group->results.data[0].value->graph->module->names, opf_hash_print(opf_schedule_key(group, machine)).text);
    const opf_tuning *pin = pin_of(c, kernel, use);
    *pinned = pin != NULL;
    return pin ? pin : row_of(c, group, machine, kernel);
}

static const opf_schedule *find(void *data, const opf_group *group, const opf_machine *machine) {
    opf_catalog *c = data;
    bool pinned;
    c->kernels++;
    const opf_tuning *t = look_up(c, group, machine, true, &pinned);
    if (!t) return NULL;
    opf_schedule *schedule = opf_arena_copy(c->arena, &t->schedule, sizeof t->schedule);
    if (c->options.one_file) schedule->at[OPF_KNOB_LANES] = schedule->at[OPF_KNOB_COMPILER] = 0;
    c->pinned += pinned;
    c->found += !pinned;
    return opf_schedule_is_empty(schedule) ? NULL : schedule;
}

static opf_status refuse(void *data, const opf_group *group, const opf_machine *machine, const char *why) {
    opf_catalog *c = data;
    bool pinned;
    const opf_tuning *t = look_up(c, group, machine, false, &pinned);
    const opf_node *node = group->nodes.count ? group->nodes.data[0] : NULL;
    opf_place place = {NULL, node ? node->name : NULL, node ? node->op : NULL, node ? node->index : -1};
    if (pinned) {
        opf_diag *diag = opf_diag_add(c->diags, OPF_ERROR, "schedule", place, "the schedule pinned for kernel %s does not apply: %s", t->kernel, why);
        opf_diag_hint(c->diags, diag, "change or remove it in %s; `opfuse explain MODEL --schedules` shows what applies", c->options.pins);
        return OPF_ERROR_INPUT;
    }
    c->found--;
    c->refused++;
    if (c->options.say) c->options.say(c->options.say_data, opf_arena_printf(c->arena, "%s: the schedule in the database does not apply any more: %s\n", place.node ? place.node : "kernel", why));
    return OPF_OK;
}

int64_t opf_catalog_cut(opf_catalog *c, const opf_group *group, const opf_machine *machine) {
    bool pinned;
    const opf_tuning *t = look_up(c, group, machine, true, &pinned);
    return t ? t->schedule.at[OPF_KNOB_CUT] : 0;
}

/* ---- opening, closing ---- */

/* A database in the usual place that cannot be used costs speed, not results. */
static opf_status tell_trouble(opf_catalog *c) {
    if (!opf_diags_count(c->quiet)) return OPF_OK;
    const opf_diag *first = opf_diags_at(c->quiet, 0);
    opf_diag *diag = opf_diag_add(c->diags, c->options.must_work ? OPF_ERROR : OPF_WARNING, "schedule", (opf_place){c->options.database, NULL, NULL, -1}, "%s", first->message);
    opf_diag_hint(c->diags, diag, "%s", first->hint ? first->hint : "--db none does without");
    opf_diags_clear(c->quiet);
    return c->options.must_work ? OPF_ERROR_INPUT : OPF_OK;
}

static opf_status open_database(opf_catalog *c) {
    opf_database_open(&c->database, c->options.database, false, c->quiet);
    return tell_trouble(c);
}

bool opf_catalog_stamp(const opf_catalog_options *options, opf_text *out) {
    if (options->pins) return false;
    if (!options->database || !opf_file_exists(options->database)) return true;
    opf_arena *arena = opf_arena_new();
    opf_diags *quiet = opf_diags_new();
    opf_database *database = NULL;
    opf_tunings all = {0};
    bool good = opf_database_open(&database, options->database, false, quiet) == OPF_OK && database &&
                opf_database_find(database, NULL, opf_cpu_identity(arena), &all, arena) == OPF_OK;
    for (size_t i = 0; i < all.list.count; i++) {
        opf_text_printf(out, "%s %d ", all.list.data[i].kernel, all.list.data[i].threads);
        opf_schedule_print(&all.list.data[i].schedule, "=", " ", out);
        if (all.list.data[i].default_code) opf_text_printf(out, "%s/%s ", all.list.data[i].default_code, all.list.data[i].best_code);
    }
    if (all.list.count) opf_text_printf(out, "for %d threads\n", options->threads);
    opf_database_close(database);
    opf_diags_free(quiet);
    opf_arena_free(arena);
    return good;
}

opf_status opf_catalog_open(opf_catalog **out, const opf_catalog_options *options, opf_diags *diags) {
    opf_arena *arena = opf_arena_new();
    opf_catalog *c = *out = OPF_NEW(arena, opf_catalog);
    *c = (opf_catalog){.options = *options, .arena = arena, .diags = diags, .cpu = opf_cpu_identity(arena), .quiet = opf_diags_new()};
    c->rows = opf_map_new(arena);
    c->source = (opf_schedule_source){find, refuse, c};
    opf_status status = options->pins ? opf_tunings_read(&c->pins, options->pins, arena, diags) : OPF_OK;
    c->pin_used = OPF_ARRAY(arena, bool, c->pins.list.count + 1);
    if (status == OPF_OK && options->database) status = open_database(c);
    return status;
}

void opf_catalog_close(opf_catalog *c) {
    if (!c) return;
    opf_database_close(c->database);
    opf_diags_free(c->quiet);
    opf_arena_free(c->arena);
}

const opf_schedule_source *opf_catalog_source(opf_catalog *c) { return &c->source; }

opf_status opf_catalog_finish(opf_catalog *c, const char *model) {
    opf_status status = tell_trouble(c);
    if (status != OPF_OK) return status;
    for (size_t i = 0; i < c->pins.list.count; i++) {
        if (c->pin_used[i]) continue;
        const opf_tuning *t = &c->pins.list.data[i];
        opf_diag *diag = opf_diag_add(c->diags, OPF_ERROR, "schedule", (opf_place){c->options.pins, NULL, NULL, -1}, "no kernel of %s has the hash %s%s%s%s", model, t->kernel,
                                      t->operators ? " (" : "", t->operators ? t->operators : "", t->operators ? ")" : "");
        opf_diag_hint(c->diags, diag, "`opfuse explain MODEL --schedules` lists the kernels; a hash holds the sizes, the machine and the accuracy, too");
        return OPF_ERROR_INPUT;
    }
    if (c->options.say && (c->pinned || c->found || c->refused || c->disbelieved)) {
        opf_text text = {0};
        opf_text_printf(&text, "%s: schedules of %d kernels", model, c->kernels);
        if (c->pinned) opf_text_printf(&text, ", %d pinned by %s", c->pinned, c->options.pins);
        if (c->found) opf_text_printf(&text, ", %d from %s", c->found, c->options.database);
        if (c->refused) opf_text_printf(&text, ", %d of the database do not apply", c->refused);
        if (c->disbelieved) opf_text_printf(&text, ", %d of the database were measured on other code than is written now (`opfuse tune` measures them again)", c->disbelieved);
        opf_text_add(&text, ", the others by the heuristic\n");
        c->options.say(c->options.say_data, opf_text_string(&text));
        opf_text_free(&text);
    }
    return OPF_OK;
}
