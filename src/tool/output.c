/* What the tool prints, and where. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/tool.h"

static int print_error; /* errno of the first write that failed; the stream itself only knows that one did */

static void watch(int result) {
    if (result < 0 && !print_error) print_error = errno;
}

void print(const char *text) { watch(fputs(text, stdout)); }

void printf_out(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    watch(vprintf(format, arguments));
    va_end(arguments);
}

void print_json(json_t *value) {
    char *text = value ? json_dumps(value, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    print(text ? text : "null");
    print("\n");
    free(text);
    json_decref(value);
}

int finish_output(int status) {
    watch(fflush(stdout) == 0 && !ferror(stdout) ? 0 : -1);
    watch(fclose(stdout) == 0 ? 0 : -1);
    if (!print_error) return status;
    fprintf(stderr, "opfuse: error[io]: standard output cannot be written: %s\n", strerror(print_error));
    return status == EXIT_TRUE ? EXIT_ERROR : status;
}

/* ---- messages ---- */

static void clear_progress(tool *t) {
    if (t->progress_shown) fputs("\r\033[K", stderr);
    t->progress_shown = false;
}

static json_t *text_or_null(const char *text) {
    json_t *string = text ? json_string(text) : NULL;
    return string ? string : json_null();
}

static void tell_json(const opf_message *m) {
    static const char *const severities[] = {"note", "warning", "error"};
    json_t *line = json_pack("{s:s, s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:o}", "severity", severities[m->severity], "code", text_or_null(m->code), "file",
                             text_or_null(m->file), "node", text_or_null(m->node), "op", text_or_null(m->op), "index", m->node_index, "message",
                             text_or_null(m->message), "hint", text_or_null(m->hint), "text", text_or_null(m->text));
    char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    fprintf(stderr, "%s\n", text ? text : "null");
    free(text);
    json_decref(line);
}

void tell(tool *t) {
    clear_progress(t);
    for (; t->told < opf_context_messages(t->context); t->told++) {
        opf_message m = opf_context_message(t->context, t->told);
        if (t->quiet && m.severity != OPF_ERROR) continue;
        if (t->diag_json) tell_json(&m);
        else fprintf(stderr, "%s%s%s", m.file ? "" : "opfuse: ", m.text, m.text[0] && m.text[strlen(m.text) - 1] == '\n' ? "" : "\n");
    }
}

static void say(const tool *t, opf_severity severity, const char *code, const char *format, va_list arguments) {
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    if (t->diag_json) {
        opf_message m = {.severity = severity, .code = code, .message = text, .text = text, .node_index = -1};
        tell_json(&m);
        return;
    }
    fprintf(stderr, "opfuse: %s%s%s%s: %s\n", severity == OPF_ERROR ? "error" : "note", code ? "[" : "", code ? code : "", code ? "]" : "", text);
}

void complain(const tool *t, const char *code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(t, OPF_ERROR, code, format, arguments);
    va_end(arguments);
}

void note(const tool *t, const char *format, ...) {
    if (t->quiet) return;
    va_list arguments;
    va_start(arguments, format);
    say(t, OPF_NOTE, NULL, format, arguments);
    va_end(arguments);
}

int exit_status(opf_status status) {
    switch (status) {
    case OPF_OK: return EXIT_TRUE;
    case OPF_ERROR_USAGE: return EXIT_USAGE;
    case OPF_ERROR_MISMATCH: return EXIT_MISMATCH;
    default: return EXIT_ERROR;
    }
}

/* ---- what calls produce on the way ---- */

/* A dump is a result; beside --json, which must stay one value, it goes to standard error. */
static void on_text(void *data, opf_text_kind kind, const char *text) {
    tool *t = data;
    clear_progress(t);
    if (kind == OPF_TEXT_REMARK && t->quiet) return;
    fputs(text, kind == OPF_TEXT_DUMP && !t->json ? stdout : stderr);
}

static void on_progress(void *data, const char *what, int done, int total) {
    tool *t = data;
    if (t->quiet || t->diag_json || !isatty(STDERR_FILENO)) return;
    fprintf(stderr, "\r%s %d/%d\033[K", what, done, total);
    fflush(stderr);
    t->progress_shown = true;
    if (done == total) clear_progress(t);
}

void listen(tool *t) {
    opf_context_on_text(t->context, on_text, t);
    opf_context_on_progress(t->context, on_progress, t);
}
