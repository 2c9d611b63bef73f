/* Rule files: which rules are off, and what thresholds are. */
#include "fuse/settings.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const opf_threshold opf_thresholds[OPF_THRESHOLD_COUNT] = {
    [OPF_THRESHOLD_ROW_BYTES] = {"long-row.bytes", OPF_RULE_LONG_ROW, "bytes of a row that each part keeps whole, row by row", 256 << 10, 0, 1e12},
    [OPF_THRESHOLD_BLOCK_ROW_BYTES] = {"long-row.block-bytes", OPF_RULE_LONG_ROW, "bytes that a row leaves for later stages, in blocks of rows", 128 << 10, 0, 1e12},
    [OPF_THRESHOLD_ROWS] = {"few-rows.rows", OPF_RULE_FEW_ROWS, "rows that occupy all threads, where there is much work", 8, 0, 1e12},
    [OPF_THRESHOLD_BLOCK_UNITS] = {"few-rows.blocks", OPF_RULE_FEW_ROWS, "blocks of eight rows that occupy all threads, where there is much work", 8, 0, 1e12},
    [OPF_THRESHOLD_FACTOR_BYTES] = {"blocks-again.bytes", OPF_RULE_BLOCKS_AGAIN, "bytes of an operand that stay in a core's cache and cost nothing to read again", 512 << 10, 0, 1e12},
    [OPF_THRESHOLD_PROLOGUE_CHEAP] = {"prologue-dear.operations", OPF_RULE_PROLOGUE_DEAR, "operations an element that may be done again for each copy", 4, 0, 1e6},
    [OPF_THRESHOLD_PROLOGUE_MODERATE] = {"prologue-dear.once", OPF_RULE_PROLOGUE_DEAR, "the same where nothing is done again", 12, 0, 1e6},
    [OPF_THRESHOLD_PROLOGUE_LOADS] = {"prologue-dear.tensors", OPF_RULE_PROLOGUE_DEAR, "tensors that are read for an element", 3, 1, 64},
    [OPF_THRESHOLD_COPY_READERS] = {"copied.readers", OPF_RULE_COPIED, "groups that compute a value again", 4, 2, OPF_MOST_COPY_READERS},
    [OPF_THRESHOLD_COPY_PRICE] = {"copy-dear.price", OPF_RULE_COPY_DEAR, "seconds of work that one second of saved reading and writing is worth", 1, 0, 1e12},
    [OPF_THRESHOLD_BAND_BYTES] = {"bands-cached.bytes", OPF_RULE_BAND_CACHED, "bytes between a window and its product from which lines at a time pay", 1 << 20, 0, 1e12},
    [OPF_THRESHOLD_EXPANDED_BYTES] = {"bands-expanded.bytes", OPF_RULE_BAND_EXPANDED, "bytes between a contraction and a depth-wise window, less the window's own, from which lines at a time pay", 3 << 20, 0, 1e12},
    [OPF_THRESHOLD_GATE_ELEMENTS] = {"gate.elements", OPF_RULE_GATE, "elements of a value that each part computes whole", 4096, 0, 1 << 24},
    [OPF_THRESHOLD_PASSING_OPERANDS] = {"in-passing.operands", OPF_RULE_IN_PASSING, "tensors that work in passing reads", 3, 1, 64},
};

/* ---- what can be switched off ---- */

/* A rule that refuses for its price: the threshold that then stands out of reach. */
static const struct { opf_rule_number rule; opf_threshold_number threshold; double value; } prices[] = {
    {OPF_RULE_LONG_ROW, OPF_THRESHOLD_ROW_BYTES, INFINITY},
    {OPF_RULE_LONG_ROW, OPF_THRESHOLD_BLOCK_ROW_BYTES, INFINITY},
    {OPF_RULE_FEW_ROWS, OPF_THRESHOLD_ROWS, 0},
    {OPF_RULE_FEW_ROWS, OPF_THRESHOLD_BLOCK_UNITS, 0},
    {OPF_RULE_BLOCKS_AGAIN, OPF_THRESHOLD_FACTOR_BYTES, INFINITY},
    {OPF_RULE_COPY_DEAR, OPF_THRESHOLD_COPY_PRICE, INFINITY},
    {OPF_RULE_BAND_CACHED, OPF_THRESHOLD_BAND_BYTES, 0},
    {OPF_RULE_BAND_EXPANDED, OPF_THRESHOLD_EXPANDED_BYTES, 0},
};

static bool is_price(opf_rule_number rule) {
    for (size_t i = 0; i < OPF_COUNT(prices); i++)
        if (prices[i].rule == rule)
            return true;
    return false;
}

static bool joins(opf_rule_number rule) {
    static const opf_rule_number rules[] = {
        OPF_RULE_ANCHOR_EPILOGUE, OPF_RULE_ELEMWISE, OPF_RULE_INJECTIVE, OPF_RULE_ROWS, OPF_RULE_IN_PASSING, OPF_RULE_PROLOGUE, OPF_RULE_SIBLINGS,
        OPF_RULE_COPIED, OPF_RULE_GATE, OPF_RULE_BAND, OPF_RULE_POOL, OPF_RULE_BLOCKS, OPF_RULE_SHARED_OPERAND, OPF_RULE_JOIN, OPF_RULE_JOIN_AT_ONE};
    for (size_t i = 0; i < OPF_COUNT(rules); i++)
        if (rules[i] == rule)
            return true;
    return false;
}

bool opf_rule_is_switch(opf_rule_number rule) { return joins(rule) || is_price(rule); }
const char *opf_rule_switched(opf_rule_number rule) { return joins(rule) ? "joins nothing" : is_price(rule) ? "refuses nothing" : NULL; }

void opf_rule_settings_init(opf_rule_settings *settings) {
    *settings = (opf_rule_settings){0};
    for (int k = 0; k < OPF_THRESHOLD_COUNT; k++)
        settings->thresholds[k] = opf_thresholds[k].value;
}

/* ---- reading ---- */

typedef struct opf_rule_reader {
    opf_rule_settings *settings;
    const char *source;
    int line;
    opf_arena *arena;
    opf_diags *diags;
    opf_status status;
} opf_rule_reader;

__attribute__((format(printf, 2, 3))) static opf_diag *complain(opf_rule_reader *reader, const char *format, ...) {
    char message[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    reader->status = OPF_ERROR_INPUT;
    return opf_diag_add(reader->diags, OPF_ERROR, "rules", (opf_place){.file = reader->source, .index = -1}, "line %d: %s", reader->line, message);
}

static void switch_off(opf_rule_reader *reader, const char *name) {
    int rule = OPF_RULE_SINGLE + 1;
    while (rule < OPF_RULE_COUNT && strcmp(opf_rules[rule].id, name) != 0)
        rule++;
    if (rule == OPF_RULE_COUNT) {
        opf_diag_hint(reader->diags, complain(reader, "there is no rule '%.80s'", name), "`opfuse rules` lists the rules");
        return;
    }
    if (!opf_rule_is_switch((opf_rule_number)rule)) {
        opf_diag_hint(reader->diags, complain(reader, "rule '%s' says what is possible, or records it: it cannot be switched off", name),
                      "`opfuse rules` marks the rules that can be");
        return;
    }
    reader->settings->off[rule] = opf_arena_printf(reader->arena, "%s:%d", reader->source, reader->line);
    reader->settings->any_off = true;
    for (size_t i = 0; i < OPF_COUNT(prices); i++)
        if ((int)prices[i].rule == rule)
            reader->settings->thresholds[prices[i].threshold] = prices[i].value;
}

/* "131072", "128 KiB", "1.5 MiB", "inf". */
static bool read_number(const char *text, double *out) {
    char *end;
    errno = 0;
    *out = strtod(text, &end);
    if (end == text || isnan(*out))
        return false;
    while (isblank((unsigned char)*end))
        end++;
    if (strcmp(end, "KiB") == 0 || strcmp(end, "MiB") == 0)
        *out *= *end == 'K' ? 1024 : 1 << 20;
    else if (*end)
        return false;
    return true;
}

static void set_threshold(opf_rule_reader *reader, const char *name, const char *value) {
    int number = 0;
    while (number < OPF_THRESHOLD_COUNT && strcmp(opf_thresholds[number].name, name) != 0)
        number++;
    if (number == OPF_THRESHOLD_COUNT) {
        opf_diag_hint(reader->diags, complain(reader, "there is no threshold '%.80s'", name), "`opfuse rules` lists the thresholds under their rules");
        return;
    }
    const opf_threshold *threshold = &opf_thresholds[number];
    double given;
    if (!read_number(value, &given))
        complain(reader, "'%.80s' is no number; KiB or MiB may stand behind one", value);
    else if (given < threshold->least || (given > threshold->most && !isinf(given)) || (isinf(given) && threshold->most < 1e12))
        complain(reader, "%s is from %.15g to %.15g; %.80s is not", name, threshold->least, threshold->most, value);
    else
        reader->settings->thresholds[number] = given;
}

/* The next word of the line, ended in place; NULL at its end. */
static char *next_word(char **at) {
    while (isspace((unsigned char)**at))
        ++*at;
    if (!**at)
        return NULL;
    char *word = *at;
    *at += strcspn(*at, " \t\r=");
    return word;
}

static void read_line(opf_rule_reader *reader, char *line) {
    line[strcspn(line, "#")] = '\0';
    for (size_t n = strlen(line); n > 0 && isspace((unsigned char)line[n - 1]); n--)
        line[n - 1] = '\0';
    char *at = line, *verb = next_word(&at);
    if (!verb)
        return;
    bool off = strncmp(verb, "off", (size_t)(at - verb)) == 0 && at - verb == 3, set = strncmp(verb, "set", (size_t)(at - verb)) == 0 && at - verb == 3;
    char *name = off || set ? next_word(&at) : NULL;
    if (!name) {
        complain(reader, "`off RULE` or `set THRESHOLD = NUMBER` expected, not '%.80s'", verb);
        return;
    }
    char *end = at;
    while (isspace((unsigned char)*at))
        at++;
    bool equals = *at == '=';
    if (off ? *at != '\0' : !equals) {
        complain(reader, off ? "one rule a line: '%.80s' is too much" : "'=' and a number expected behind the threshold%.0s", at);
        return;
    }
    at += equals;
    while (isspace((unsigned char)*at))
        at++;
    *end = '\0';
    if (off)
        switch_off(reader, name);
    else
        set_threshold(reader, name, at);
}

opf_status opf_rule_settings_read(opf_rule_settings *settings, const char *text, const char *source, opf_arena *arena, opf_diags *diags) {
    opf_rule_settings changed = *settings;
    opf_rule_reader reader = {.settings = &changed, .source = opf_arena_string(arena, source), .arena = arena, .diags = diags, .status = OPF_OK};
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, "\n");
        reader.line++;
        read_line(&reader, opf_arena_string_n(arena, at, length));
        at += length + (at[length] == '\n');
    }
    if (reader.status == OPF_OK)
        *settings = changed;
    return reader.status;
}
