/* Schedules as text: one table of choices. */
#include "loop/schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

static const char *const algorithms[] = {"tile", "bands", "winograd-2", "winograd-4", "rows", "turned", "loops", NULL};
static const char *const orders[] = {"rows-fastest", "columns-fastest", NULL};
static const char *const aheads[] = {"none", "panel", "steps", NULL};
static const char *const seconds[] = {"in-place", "packed", NULL};
static const char *const switches[] = {"on", "off", NULL};
static const char *const stores[] = {"cached", "non-temporal", NULL};
static const char *const compilers[] = {"gcc", "clang", NULL};

typedef struct choice {
    const char *name;
    const char *const *words;  /* of the values 1, 2, …; NULL: a number */
    const char *special;       /* word for -1; NULL: there is none */
    int64_t most;
    bool decides_bits;         /* the order of sums, or what is summed, may follow from it */
} choice;

static const choice choices[OPF_KNOBS] = {
    [OPF_KNOB_ALGORITHM] = {"algorithm", algorithms, NULL, 0, true},
    [OPF_KNOB_CUT] = {"cut", NULL, NULL, 1 << 20, true},
    [OPF_KNOB_TILE_ROWS] = {"tile_rows", NULL, NULL, 64, false},
    [OPF_KNOB_TILE_VECTORS] = {"tile_vectors", NULL, NULL, 64, false},
    [OPF_KNOB_DEPTH_PASS] = {"depth_pass", NULL, "all", 1 << 24, false},
    [OPF_KNOB_BLOCK_ROWS] = {"block_rows", NULL, NULL, 1 << 24, false},
    [OPF_KNOB_BLOCK_COLUMNS] = {"block_columns", NULL, NULL, 1 << 24, false},
    [OPF_KNOB_UNIT_ROWS] = {"unit_rows", NULL, NULL, INT64_C(1) << 40, false},
    [OPF_KNOB_UNIT_COLUMNS] = {"unit_columns", NULL, NULL, INT64_C(1) << 40, false},
    [OPF_KNOB_ORDER] = {"order", orders, NULL, 0, false},
    [OPF_KNOB_UNROLL] = {"unroll", NULL, NULL, 16, false},
    [OPF_KNOB_PREFETCH] = {"prefetch", NULL, "none", 1 << 16, false},
    [OPF_KNOB_AHEAD] = {"ahead", aheads, NULL, 0, false},
    [OPF_KNOB_SECOND] = {"second", seconds, NULL, 0, false},
    [OPF_KNOB_ROWS] = {"rows", NULL, NULL, 4096, true},
    [OPF_KNOB_ATTACH] = {"attach", NULL, NULL, 64, true},
    [OPF_KNOB_OUTERMOST] = {"outermost", NULL, NULL, 64, false},
    [OPF_KNOB_INNERMOST] = {"innermost", NULL, NULL, 64, false},
    [OPF_KNOB_CHUNK] = {"chunk", NULL, NULL, 1 << 16, true},
    [OPF_KNOB_SHARE] = {"share", NULL, NULL, 1 << 24, false},
    [OPF_KNOB_TRANSPOSE] = {"transpose", switches, NULL, 0, false},
    [OPF_KNOB_SPLIT] = {"split", switches, NULL, 0, false},
    [OPF_KNOB_STORES] = {"stores", stores, NULL, 0, false},
    [OPF_KNOB_LANES] = {"lanes", NULL, NULL, 16, true},
    [OPF_KNOB_COMPILER] = {"compiler", compilers, NULL, 0, false},
};

const char *opf_schedule_compiler(const opf_schedule *schedule) { return schedule->at[OPF_KNOB_COMPILER] ? compilers[schedule->at[OPF_KNOB_COMPILER] - 1] : NULL; }

const char *opf_knob_name(opf_knob c) { return choices[c].name; }

bool opf_schedule_same_bits(const opf_schedule *a, const opf_schedule *b) {
    for (int c = 0; c < OPF_KNOBS; c++)
        if (choices[c].decides_bits && a->at[c] != b->at[c]) return false;
    return true;
}

bool opf_schedule_is_empty(const opf_schedule *schedule) {
    for (int c = 0; c < OPF_KNOBS; c++)
        if (schedule->at[c]) return false;
    return true;
}

int opf_schedule_unmet(const opf_schedule *wanted, const opf_schedule *chosen) {
    for (int c = 0; c < OPF_KNOBS; c++)
        if (wanted->at[c] && wanted->at[c] != chosen->at[c]) return c;
    return -1;
}

/* ---- out ---- */

void opf_knob_print(opf_knob c, int64_t value, opf_text *out) {
    if (choices[c].words) opf_text_add(out, choices[c].words[value - 1]);
    else if (value < 0) opf_text_add(out, choices[c].special);
    else opf_text_printf(out, "%lld", (long long)value);
}

void opf_schedule_print(const opf_schedule *schedule, const char *between, const char *end, opf_text *out) {
    for (int c = 0; c < OPF_KNOBS; c++) {
        if (!schedule->at[c]) continue;
        opf_text_printf(out, "%s%s", choices[c].name, between);
        opf_knob_print((opf_knob)c, schedule->at[c], out);
        opf_text_add(out, end);
    }
}

/* ---- in ---- */

static const char *read_word(const choice *c, const char *value, int64_t *out, opf_arena *arena) {
    for (int k = 0; c->words[k]; k++)
        if (strcmp(c->words[k], value) == 0) {
            *out = k + 1;
            return NULL;
        }
    opf_text names = {0};
    for (int k = 0; c->words[k]; k++) opf_text_printf(&names, "%s%s", k ? ", " : "", c->words[k]);
    const char *wrong = opf_arena_printf(arena, "%s = %s: it is one of %s", c->name, value, opf_text_string(&names));
    opf_text_free(&names);
    return wrong;
}

static const char *read_number(const choice *c, const char *value, int64_t *out, opf_arena *arena) {
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (c->special && strcmp(c->special, value) == 0) {
        *out = -1;
        return NULL;
    }
    if (errno || end == value || *end || number < 1 || number > c->most)
        return opf_arena_printf(arena, "%s = %s: it is a number from 1 to %lld%s%s", c->name, value, (long long)c->most, c->special ? ", or " : "", c->special ? c->special : "");
    *out = number;
    return NULL;
}

const char *opf_schedule_set(opf_schedule *schedule, const char *key, const char *value, opf_arena *arena) {
    for (int c = 0; c < OPF_KNOBS; c++) {
        if (strcmp(choices[c].name, key) != 0) continue;
        if (schedule->at[c]) return opf_arena_printf(arena, "%s is there twice", key);
        return (choices[c].words ? read_word : read_number)(&choices[c], value, &schedule->at[c], arena);
    }
    return opf_arena_printf(arena, "a schedule has no choice '%s'", key);
}

const char *opf_schedule_parse(opf_schedule *out, const char *text, opf_arena *arena) {
    static const char blank[] = " \t\r\n";
    *out = (opf_schedule){0};
    while (*(text += strspn(text, blank))) {
        size_t length = strcspn(text, blank);
        char *key = opf_arena_string_n(arena, text, length), *equals = strchr(key, '=');
        if (!equals) return opf_arena_printf(arena, "'%s' is no key=value", key);
        *equals = '\0';
        const char *wrong = opf_schedule_set(out, key, equals + 1, arena);
        if (wrong) return wrong;
        text += length;
    }
    return NULL;
}
