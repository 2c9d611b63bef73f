/* Tunings as text. */
#include "tune/tuning.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "tune/code.h"

/* ---- out ---- */

static void print_date(int64_t seconds, opf_text *out) {
    time_t time = (time_t)seconds;
    struct tm parts;
    char text[32];
    if (gmtime_r(&time, &parts) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)) opf_text_printf(out, "date = %s\n", text);
}

void opf_tuning_print(const opf_tuning *t, opf_text *out) {
    opf_text_printf(out, "[kernel %s]\n", t->kernel);
    if (t->operators) opf_text_printf(out, "operators = %s\n", t->operators);
    if (t->cpu) opf_text_printf(out, "cpu = %s\n", t->cpu);
    if (t->threads) opf_text_printf(out, "threads = %d\n", t->threads);
    if (t->default_ms > 0) opf_text_printf(out, "default_ms = %.4f\n", t->default_ms);
    if (t->best_ms > 0) opf_text_printf(out, "best_ms = %.4f\n", t->best_ms);
    if (t->date) print_date(t->date, out);
    if (t->default_code && t->best_code) opf_text_printf(out, "code = %s/%s\n", t->default_code, t->best_code);
    opf_schedule_print(&t->schedule, " = ", "\n", out);
    opf_text_add(out, "\n");
}

/* ---- in ---- */

typedef struct reading {
    const char *path;
    opf_arena *arena;
    opf_diags *diags;
    opf_tunings *out;
    int line;
} reading;

static opf_status wrong(const reading *r, const char *what) {
    opf_diag *diag = opf_diag_add(r->diags, OPF_ERROR, "schedule", (opf_place){r->path, NULL, NULL, -1}, "line %d: %s", r->line, what);
    opf_diag_hint(r->diags, diag, "`opfuse explain MODEL --schedules` writes such a file; docs/tuning.md describes it");
    return OPF_ERROR_INPUT;
}

static bool is_key(const char *text, size_t length) { return length == 32 && strspn(text, "0123456789abcdef") >= length; }

static opf_status open_section(reading *r, const char *line) {
    static const char head[] = "[kernel ";
    size_t n = sizeof head - 1, length = strlen(line);
    if (strncmp(line, head, n) != 0 || length < n + 2 || line[length - 1] != ']' || !is_key(line + n, length - n - 1))
        return wrong(r, opf_arena_printf(r->arena, "'%s' is no section: [kernel HASH], with 32 hexadecimal digits", line));
    const char *key = opf_arena_string_n(r->arena, line + n, 32);
    OPF_PUSH(r->arena, &r->out->list, (opf_tuning){.kernel = key});
    return OPF_OK;
}

static bool read_number(const char *value, double most, double *out) {
    char *end;
    *out = strtod(value, &end);
    return end != value && !*end && *out > 0 && *out < most;
}

static bool read_date(const char *value, int64_t *out) {
    struct tm parts = {0};
    const char *end = strptime(value, "%Y-%m-%dT%H:%M:%SZ", &parts);
    *out = end && !*end ? (int64_t)timegm(&parts) : 0;
    return *out > 0;
}

/* Two of them: the heuristic's, this one's. */
static bool read_code(const char *value, opf_tuning *t, opf_arena *arena) {
    static const char digits[] = "0123456789abcdef";
    size_t n = OPF_CODE_DIGITS;
    if (strspn(value, digits) != n || value[n] != '/' || strspn(value + n + 1, digits) != n || value[2 * n + 1]) return false;
    t->default_code = opf_arena_string_n(arena, value, n);
    t->best_code = value + n + 1;
    return true;
}

/* What is known of a tuning beside its choices; false where it is no such line. */
static bool set_field(opf_tuning *t, const char *key, const char *value, opf_arena *arena, bool *good) {
    double number;
    *good = true;
    if (strcmp(key, "operators") == 0) t->operators = value;
    else if (strcmp(key, "cpu") == 0) t->cpu = value;
    else if (strcmp(key, "threads") == 0) *good = read_number(value, 1025, &number) && (t->threads = (int)number) > 0;
    else if (strcmp(key, "default_ms") == 0) *good = read_number(value, 1e9, &t->default_ms);
    else if (strcmp(key, "best_ms") == 0) *good = read_number(value, 1e9, &t->best_ms);
    else if (strcmp(key, "date") == 0) *good = read_date(value, &t->date);
    else if (strcmp(key, "code") == 0) *good = read_code(value, t, arena);
    else return false;
    return true;
}

static char *trimmed(char *text) {
    text += strspn(text, " \t\r");
    size_t length = strlen(text);
    while (length && strchr(" \t\r", text[length - 1])) text[--length] = '\0';
    return text;
}

static opf_status read_line(reading *r, char *line) {
    char *comment = strchr(line, '#');
    if (comment) *comment = '\0';
    line = trimmed(line);
    if (!*line) return OPF_OK;
    if (*line == '[') return open_section(r, line);
    char *equals = strchr(line, '=');
    if (!equals) return wrong(r, opf_arena_printf(r->arena, "'%.80s' is no line of the form key = value", line));
    *equals = '\0';
    const char *key = trimmed(line), *value = trimmed(equals + 1);
    if (!r->out->list.count) return wrong(r, "a choice before the first [kernel …]");
    opf_tuning *t = &r->out->list.data[r->out->list.count - 1];
    bool good;
    if (set_field(t, key, value, r->arena, &good)) return good ? OPF_OK : wrong(r, opf_arena_printf(r->arena, "%s = %.80s: the value cannot be read", key, value));
    const char *problem = opf_schedule_set(&t->schedule, key, value, r->arena);
    return problem ? wrong(r, problem) : OPF_OK;
}

opf_status opf_tunings_read(opf_tunings *out, const char *path, opf_arena *arena, opf_diags *diags) {
    reading r = {.path = path, .arena = arena, .diags = diags, .out = out};
    opf_mapping file;
    *out = (opf_tunings){0};
    opf_status status = opf_file_map(&file, path, diags);
    if (status != OPF_OK) return status;
    const char *text = opf_arena_string_n(arena, (const char *)file.data, file.size);
    bool binary = file.size && memchr(file.data, '\0', file.size);
    opf_file_unmap(&file);
    if (binary) {
        r.line = 1;
        return wrong(&r, "this is no text: it holds a zero byte");
    }
    while (*text && status == OPF_OK) {
        size_t length = strcspn(text, "\n");
        r.line++;
        status = read_line(&r, opf_arena_string_n(arena, text, length));
        text += length + (text[length] == '\n');
    }
    return status;
}
