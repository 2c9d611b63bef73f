/* What of a text of definitions another text needs. */
#include "emit/needed.h"

#include <ctype.h>
#include <string.h>

#include "base/arena.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"

/* A definition with the comment in front of it; a comment that stands alone; a pragma, an #include. */
typedef struct chunk {
    const char *text;
    size_t comment, length;          /* bytes of the leading comment, of all */
    enum { DEFINITION, MACRO, SPEECH, DIRECTIVE } kind;
    bool apart;                      /* an empty line stands before it */
    bool kept;
    OPF_VEC(const char *) defined, used; /* names, interned */
} chunk;

typedef struct pruning {
    opf_arena *arena;
    opf_interner *names;
    OPF_VEC(chunk) chunks;
    opf_map known;                   /* name → any chunk that defines it */
    opf_map needed;
} pruning;

/* ---- lines ---- */

static bool in_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

static const char *line_behind(const char *line) {
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

static bool starts(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

/* How many brackets of all kinds a line opens, less those that it closes; comments and literals do not count. */
static int brackets(const char *line, const char *end, bool *in_comment) {
    int depth = 0;
    char quote = 0;
    for (const char *c = line; c < end; c++) {
        if (*in_comment) {
            if (starts(c, "*/")) *in_comment = false, c++;
        } else if (quote) {
            if (*c == '\\') c++;
            else if (*c == quote) quote = 0;
        } else if (starts(c, "//")) break;
        else if (starts(c, "/*")) *in_comment = true, c++;
        else if (*c == '"' || *c == '\'') quote = *c;
        else depth += (*c && strchr("({[", *c)) - (*c && strchr(")}]", *c));
    }
    return depth;
}

/* Behind the comment that begins at `text`, if one does. */
static const char *behind_comment(const char *text) {
    if (!starts(text, "/*")) return text;
    const char *end = strstr(text, "*/");
    return end ? line_behind(end) : text + strlen(text);
}

/* Behind a directive with its continued lines; of #if, behind its #endif. */
static const char *behind_directive(const char *text) {
    int depth = 0;
    do {
        depth += starts(text, "#if") - starts(text, "#endif");
        const char *next = line_behind(text);
        while (next - text > 1 && next[-1] == '\n' && next[-2] == '\\') text = next, next = line_behind(next);
        text = next;
    } while (depth > 0 && *text);
    return text;
}

/* Behind a definition: a line at which all brackets are closed, outside of #if, that ends what it says. */
static const char *behind_definition(const char *text) {
    int depth = 0, conditions = 0;
    bool in_comment = false;
    while (*text) {
        const char *next = line_behind(text), *end = next;
        if (*text == '#') {
            conditions += starts(text, "#if") - starts(text, "#endif");
            while (next - text > 1 && next[-1] == '\n' && next[-2] == '\\') text = next, next = line_behind(next);
            text = next;
            continue;
        }
        depth += brackets(text, next, &in_comment);
        while (end > text && isspace((unsigned char)end[-1])) end--;
        bool comma = end > text && end[-1] == ',';
        const char *line = text;
        text = next;
        bool head = starts(line, "__attribute__"); /* of what follows */
        if (depth == 0 && conditions == 0 && !in_comment && !comma && !head) break;
    }
    return text;
}

static chunk next_chunk(const char *text) {
    chunk c = {.text = text};
    const char *body = behind_comment(text), *end;
    c.comment = (size_t)(body - text);
    if (!*body || *body == '\n') {
        c.kind = SPEECH;
        c.length = c.comment;
        return c;
    }
    if (starts(body, "#pragma") || starts(body, "#include")) c.kind = DIRECTIVE;
    else if (starts(body, "#define")) c.kind = MACRO;
    end = *body == '#' ? behind_directive(body) : behind_definition(body);
    c.length = (size_t)(end - text);
    return c;
}

/* ---- names ---- */

static const char *name_at(const pruning *p, const char *at, size_t *length) {
    *length = 0;
    while (in_name(at[*length])) ++*length;
    bool own = starts(at, "opf_") || starts(at, "OPF_");
    return own ? opf_intern_n(p->names, at, *length) : NULL;
}

static void define(pruning *p, chunk *c, const char *name) {
    OPF_PUSH(p->arena, &c->defined, name);
    opf_map_set(&p->known, name, c);
}

/* Is the macro that the text names here taken back before the chunk ends? */
static bool is_local(const char *name, const chunk *c) {
    const char *end = c->text + c->length, *at = c->text;
    size_t n = strlen(name);
    while ((at = strstr(at, "#undef ")) && at < end) {
        at += strlen("#undef ");
        if (strncmp(at, name, n) == 0 && !in_name(at[n])) return c->kind == DEFINITION && c->text[c->comment] != '#';
    }
    return false;
}

/* Names of a text. The first mention of one is its definition, but in a macro, which may speak of what comes later. */
static void note_names(pruning *p, chunk *c, const char *text, size_t length, bool first_defines) {
    bool in_macro = false;
    for (const char *at = text; at < text + length;) {
        if (starts(at, "/*")) {
            const char *end = strstr(at, "*/");
            at = end ? end + 2 : text + length;
            continue;
        }
        if (*at == '\n') in_macro = at > text && at[-1] == '\\' && in_macro;
        size_t n = 0;
        if (in_name(*at)) {
            const char *name = name_at(p, at, &n);
            bool macro = at >= text + 8 && starts(at - 8, "#define ");
            if (name) OPF_PUSH(p->arena, &c->used, name);
            if (name && ((macro && !is_local(name, c)) || (first_defines && !in_macro && !opf_map_has(&p->known, name)))) define(p, c, name);
            in_macro = in_macro || macro;
        }
        at += n ? n : 1;
    }
}

/* ---- macros that define functions ---- */

typedef struct words { OPF_VEC(const char *) list; } words;

/* "(a, b)" → a, b; behind the closing bracket. */
static const char *split(const pruning *p, const char *at, words *out) {
    int depth = 0;
    const char *from = at + 1;
    for (;; at++) {
        if (!*at) return at;
        depth += (*at == '(') - (*at == ')');
        if ((depth == 1 && *at == ',') || depth == 0) {
            while (*from == ' ') from++;
            OPF_PUSH(p->arena, &out->list, opf_intern_n(p->names, from, (size_t)(at - from)));
            from = at + 1;
        }
        if (depth == 0) return at + 1;
    }
}

/* The body of a macro with its parameters replaced and its words pasted together. */
static void expand(const pruning *p, const chunk *macro, const words *arguments, opf_text *out) {
    words parameters = {0};
    const char *at = strchr(macro->text + macro->comment, '('), *end = macro->text + macro->length;
    at = split(p, at, &parameters);
    while (at < end) {
        size_t n = 0;
        while (in_name(at[n])) n++;
        const char *word = n ? opf_intern_n(p->names, at, n) : NULL, *instead = NULL;
        for (size_t k = 0; word && k < parameters.list.count && k < arguments->list.count; k++)
            if (parameters.list.data[k] == word) instead = arguments->list.data[k];
        if (instead) opf_text_add(out, instead);
        else if (starts(at, "##")) n = 2;
        else opf_text_add_n(out, at, n ? n : 1);
        at += n ? n : 1;
    }
}

static const chunk *macro_called(const pruning *p, const char *name) {
    for (size_t i = 0; i < p->chunks.count; i++) {
        const chunk *c = &p->chunks.data[i];
        if (c->kind == MACRO && c->defined.count && c->defined.data[0] == name && strchr(c->text + c->comment, '(')) return c;
    }
    return NULL;
}

/* Lines that begin with a macro of ours define what it makes, and so do those that it makes. */
static void note_expansions(pruning *p, chunk *c, const char *lines, size_t length) {
    for (const char *line = lines; line < lines + length; line = line_behind(line)) {
        const char *at = line + strspn(line, " ");
        while (starts(at, "OPF_")) {
            size_t n;
            const char *name = name_at(p, at, &n);
            const chunk *macro = at[n] == '(' ? macro_called(p, name) : NULL;
            if (!macro) break;
            words arguments = {0};
            opf_text text = {0};
            at = split(p, at + n, &arguments);
            expand(p, macro, &arguments, &text);
            note_expansions(p, c, opf_text_string(&text), text.length);
            note_names(p, c, opf_text_string(&text), text.length, true);
            opf_text_free(&text);
            while (*at == ' ') at++;
        }
    }
}

/* ---- all of it ---- */

static void read_chunks(pruning *p, const char *text) {
    bool apart = false;
    while (*text) {
        if (*text == '\n') {
            apart = true;
            text++;
            continue;
        }
        chunk c = next_chunk(text);
        c.apart = apart;
        apart = false;
        OPF_PUSH(p->arena, &p->chunks, c);
        text += c.length;
    }
}

static void need(pruning *p, const chunk *c) {
    for (size_t i = 0; i < c->used.count; i++) opf_map_set(&p->needed, c->used.data[i], p);
}

/* Until nothing more is needed; what a definition needs stands before it, but for macros. */
static void keep_needed(pruning *p) {
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = p->chunks.count; i-- > 0;) {
            chunk *c = &p->chunks.data[i];
            bool wanted = c->kind == DIRECTIVE;
            for (size_t k = 0; k < c->defined.count && !wanted; k++) wanted = opf_map_has(&p->needed, c->defined.data[k]);
            if (c->kept || !wanted) continue;
            c->kept = changed = true;
            need(p, c);
        }
    }
}

static bool is_twice(const pruning *p, size_t index) {
    const chunk *c = &p->chunks.data[index];
    for (size_t i = 0; i < index; i++)
        if (p->chunks.data[i].length == c->length && memcmp(p->chunks.data[i].text, c->text, c->length) == 0) return true;
    return false;
}

/* A comment that stands alone speaks of what follows, up to the next one. */
static void print(const pruning *p, opf_text *out) {
    const chunk *speech = NULL;
    bool any = false;
    for (size_t i = 0; i < p->chunks.count; i++) {
        const chunk *c = &p->chunks.data[i];
        bool include = c->kind == DIRECTIVE && starts(c->text + c->comment, "#include");
        if (c->kind == SPEECH) speech = c;
        if (!c->kept || (include && is_twice(p, i))) continue;
        if (speech && c->kind != DIRECTIVE) {
            opf_text_add(out, any ? "\n" : "");
            opf_text_add_n(out, speech->text, speech->length);
            opf_text_add(out, "\n");
            speech = NULL;
        } else if (c->apart && any) {
            opf_text_add(out, "\n");
        }
        any = true;
        opf_text_add_n(out, c->text, c->length);
    }
}

/* #undef belongs to the macro that it ends. */
static void note(pruning *p, chunk *c) {
    const char *body = c->text + c->comment;
    size_t n, length = c->length - c->comment;
    if (c->kind == SPEECH) return;
    if (starts(body, "#undef ")) define(p, c, name_at(p, body + strlen("#undef "), &n));
    else if (c->kind == DEFINITION) note_expansions(p, c, body, length);
    note_names(p, c, body, length, c->kind == DEFINITION);
}

void opf_emit_needed(const char *text, const char *needing, opf_text *out) {
    pruning p = {.arena = opf_arena_new(), .names = opf_interner_new()};
    p.known = opf_map_new(p.arena);
    p.needed = opf_map_new(p.arena);
    read_chunks(&p, text);
    for (size_t i = 0; i < p.chunks.count; i++) note(&p, &p.chunks.data[i]);
    chunk roots = {.text = needing, .length = strlen(needing)};
    note_names(&p, &roots, needing, strlen(needing), false);
    need(&p, &roots);
    keep_needed(&p);
    print(&p, out);
    opf_interner_free(p.names);
    opf_arena_free(p.arena);
}
