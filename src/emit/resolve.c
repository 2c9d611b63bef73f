/* Conditional compilation that is decided beforehand: OPF_LANES, OPF_EXACT and the guards of headers are known, compilers and
 * instruction sets are not. A condition is a row of parts joined by &&; parts that hold go, one that does not hold decides. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/vec.h"
#include "emit/needed.h"

typedef enum truth { FALSE, TRUE, OPEN } truth;

/* One #if that has not ended. */
typedef struct condition {
    bool reached;   /* what stands around it is kept */
    bool live;      /* so is its branch at hand */
    bool done;      /* a branch that holds has been there: the others go */
    bool printed;   /* it has a directive in the output */
} condition;

typedef struct resolving {
    const opf_known *known;
    opf_arena *arena;
    OPF_VEC(condition) open;
    OPF_VEC(const char *) guards;   /* defined so far */
    opf_text *out;
} resolving;

/* ---- parts of conditions ---- */

static bool ends_in_h(const char *name) {
    size_t n = strlen(name);
    return n > 6 && strncmp(name, "OPF_", 4) == 0 && strcmp(name + n - 2, "_H") == 0;
}

static bool has_guard(const resolving *r, const char *name) {
    for (size_t i = 0; i < r->guards.count; i++)
        if (strcmp(r->guards.data[i], name) == 0) return true;
    return strstr(r->known->included, opf_arena_printf(r->arena, "#define %s\n", name)) != NULL;
}

static truth is_defined(const resolving *r, const char *name) {
    if (strcmp(name, "OPF_EXACT") == 0) return r->known->exact ? TRUE : FALSE;
    if (strcmp(name, "OPF_LANES") == 0) return TRUE;
    return !ends_in_h(name) ? OPEN : has_guard(r, name) ? TRUE : FALSE;
}

static truth opposite(truth t) { return t == OPEN ? OPEN : t == TRUE ? FALSE : TRUE; }

static truth part_holds(const resolving *r, const char *part) {
    char name[64];
    int number, end = 0;
    if (strstr(part, "||")) return OPEN;
    if (sscanf(part, "OPF_LANES == %d%n", &number, &end) == 1 && !part[end]) return r->known->lanes == number ? TRUE : FALSE;
    if (sscanf(part, "OPF_LANES >= %d%n", &number, &end) == 1 && !part[end]) return r->known->lanes >= number ? TRUE : FALSE;
    if (sscanf(part, "defined(%63[A-Za-z0-9_])%n", name, &end) == 1 && end && !part[end]) return is_defined(r, name);
    end = 0;
    if (sscanf(part, "!defined(%63[A-Za-z0-9_])%n", name, &end) == 1 && end && !part[end]) return opposite(is_defined(r, name));
    return OPEN;
}

/* "a && b && c", split outside of parentheses; what is left open goes to `rest`. */
static truth holds(const resolving *r, const char *text, opf_text *rest) {
    int depth = 0;
    const char *from = text;
    for (const char *c = text;; c++) {
        depth += (*c == '(') - (*c == ')');
        bool join = depth == 0 && strncmp(c, " && ", 4) == 0;
        if (*c && !join) {
            if (depth == 0 && strncmp(c, " || ", 4) == 0) { /* not split */
                opf_text_clear(rest);
                opf_text_add(rest, text);
                return OPEN;
            }
            continue;
        }
        const char *part = opf_arena_string_n(r->arena, from, (size_t)(c - from));
        truth t = part_holds(r, part);
        if (t == FALSE) return FALSE;
        if (t == OPEN) opf_text_printf(rest, "%s%s", rest->length ? " && " : "", part);
        if (!*c) return rest->length ? OPEN : TRUE;
        from = c + 4;
        c += 3;
    }
}

/* ---- directives ---- */

static bool is_live(const resolving *r) { return !r->open.count || (r->open.data[r->open.count - 1].reached && r->open.data[r->open.count - 1].live); }

static void begin_branch(resolving *r, condition *c, const char *text) {
    opf_text rest = {0};
    truth t = c->done ? FALSE : text ? holds(r, text, &rest) : TRUE;
    c->live = t != FALSE;
    if (c->reached && t == OPEN) opf_text_printf(r->out, "#%s %s\n", c->printed ? "elif" : "if", rest.data);
    if (c->reached && t == TRUE && c->printed) opf_text_add(r->out, "#else\n");
    if (t == OPEN) c->printed = true;
    if (t == TRUE) c->done = true;
    opf_text_free(&rest);
}

/* The text of a directive behind its word, without a comment. */
static const char *argument_of(resolving *r, const char *line, size_t length, size_t word) {
    const char *text = opf_arena_string_n(r->arena, line + word, length - word), *comment = strstr(text, "/*");
    size_t n = comment ? (size_t)(comment - text) : strlen(text);
    while (n && isspace((unsigned char)text[n - 1])) n--;
    while (n && isspace((unsigned char)*text)) text++, n--;
    return opf_arena_string_n(r->arena, text, n);
}

/* True where the line is a directive that has been dealt with. */
static bool take_directive(resolving *r, const char *line, size_t length) {
    static const char *const words[] = {"#ifdef", "#ifndef", "#if", "#elif", "#else", "#endif", "#define"};
    enum { IFDEF, IFNDEF, IF, ELIF, ELSE, ENDIF, DEFINE };
    size_t word = strcspn(line, " \n");
    int kind = -1;
    for (int k = 0; k < (int)OPF_COUNT(words); k++)
        if (strlen(words[k]) == word && strncmp(line, words[k], word) == 0) kind = k;
    if (kind < 0) return false;
    const char *text = argument_of(r, line, length, word);
    if (kind == DEFINE) {
        if (!is_live(r) || !ends_in_h(text)) return false;
        OPF_PUSH(r->arena, &r->guards, text);
        return true;
    }
    if (kind <= IF) {
        condition new = {.reached = is_live(r)};
        OPF_PUSH(r->arena, &r->open, new);
        if (kind == IFDEF) text = opf_arena_printf(r->arena, "defined(%s)", text);
        if (kind == IFNDEF) text = opf_arena_printf(r->arena, "!defined(%s)", text);
    }
    condition *c = &r->open.data[r->open.count - 1];
    if (kind <= ELIF) begin_branch(r, c, text);
    else if (kind == ELSE) begin_branch(r, c, NULL);
    else if (c->reached && c->printed) opf_text_add(r->out, "#endif\n");
    if (kind == ENDIF) r->open.count--;
    return true;
}

void opf_emit_resolved(const char *text, const opf_known *known, opf_text *out) {
    resolving r = {.known = known, .arena = opf_arena_new(), .out = out};
    while (*text) {
        size_t length = strcspn(text, "\n");
        if (!(*text == '#' && take_directive(&r, text, length)) && is_live(&r)) {
            opf_text_add_n(out, text, length);
            opf_text_add(out, "\n");
        }
        text += length + (text[length] == '\n');
    }
    opf_arena_free(r.arena);
}
