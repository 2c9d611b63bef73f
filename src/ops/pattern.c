/* Pattern → tree → program. */
#include "ops/pattern.h"

#include <string.h>

#include "base/vec.h"

#include "opf_lib_match.h"

enum { MOST_CODE = 100000, MOST_REPEATS = 1000, MOST_DEPTH = 500, MOST_TEXT = 10000, LAST_CHARACTER = 0x10ffff };

typedef struct tree {
    enum { TREE_EMPTY, TREE_CLASS, TREE_BOTH, TREE_EITHER, TREE_REPEAT, TREE_ASSERT } kind;
    const struct tree *a, *b;
    int low, high;      /* class: ranges low … high-1; repeat: how often, high -1: any number; assert: condition low */
} tree;

typedef struct range { int32_t first, last; } range;
typedef struct instruction { int32_t what, a, b; } instruction;

typedef struct parser {
    opf_arena *arena;
    const char *at, *why;
    bool any_case, dot_all, lines; /* flags i, s, m */
    int depth;
    OPF_VEC(range) ranges;
    OPF_VEC(instruction) code;
} parser;

static bool fail(parser *p, const char *why) {
    if (!p->why) p->why = why;
    return false;
}

static const tree *node(parser *p, tree value) {
    tree *made = OPF_NEW(p->arena, tree);
    *made = value;
    return made;
}

/* ---- classes ---- */

static void add_range(parser *p, int32_t first, int32_t last) { OPF_PUSH(p->arena, &p->ranges, (range){first, last}); }

/* Every range once more in the other case of its letters. */
static void fold_case(parser *p, size_t begin) {
    for (size_t k = begin, end = p->ranges.count; p->any_case && k < end; k++) {
        range r = p->ranges.data[k];
        for (int32_t c = r.first; c <= r.last && c < 0x530; c++)
            for (int upper = 0; upper < 2; upper++) {
                int32_t other = (int32_t)opf_lib_other_case((uint32_t)c, upper);
                if (other != c) add_range(p, other, other);
            }
    }
}

/* The ranges from `begin` on become their complement. */
static void complement(parser *p, size_t begin) {
    size_t n = p->ranges.count - begin;
    range *own = OPF_ARRAY(p->arena, range, n + 1);
    for (size_t k = 0; k < n; k++) own[k] = p->ranges.data[begin + k];
    int32_t from = 0;
    p->ranges.count = begin;
    for (;;) { /* the lowest range that ends behind `from`, or covers it */
        int32_t first = LAST_CHARACTER + 1, last = LAST_CHARACTER + 1;
        for (size_t k = 0; k < n; k++)
            if (own[k].last >= from && own[k].first < first) first = own[k].first, last = own[k].last;
        if (first > from && from <= LAST_CHARACTER) add_range(p, from, first - 1);
        if (first > LAST_CHARACTER) return;
        from = last + 1;
    }
}

static bool is_set(char c) { return c && strchr("dDwWsS", c); }

static void add_set(parser *p, char name) {
    size_t begin = p->ranges.count;
    switch (name | 32) {
    case 'd': add_range(p, '0', '9'); break;
    case 's': add_range(p, '\t', '\n'), add_range(p, '\f', '\r'), add_range(p, ' ', ' '); break;
    default: add_range(p, '0', '9'), add_range(p, 'A', 'Z'), add_range(p, '_', '_'), add_range(p, 'a', 'z'); break;
    }
    if (name < 'a') complement(p, begin);
}

static bool hex_digit(char c, int32_t *value) {
    const char *digits = "0123456789abcdef", *found = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;
    if (found) *value = *value * 16 + (int32_t)(found - digits);
    return found != NULL;
}

/* Behind \x. */
static bool read_hex(parser *p, int32_t *out) {
    bool braces = *p->at == '{';
    int digits = 0;
    *out = 0;
    p->at += braces;
    while (digits < (braces ? 6 : 2) && hex_digit(*p->at, out)) p->at++, digits++;
    if (!digits || (braces && *p->at++ != '}') || *out > LAST_CHARACTER) return fail(p, "\\x without its number");
    return true;
}

/* A character behind a backslash, or a plain one. */
static bool read_character(parser *p, int32_t *out) {
    static const char names[] = "tnrfva", values[] = "\t\n\r\f\v\a";
    if (*p->at != '\\') {
        uint32_t c;
        p->at += opf_lib_decode(p->at, &c);
        *out = (int32_t)c;
        return true;
    }
    char c = *++p->at;
    if (!c) return fail(p, "a backslash at the end");
    p->at++;
    const char *known = strchr(names, c);
    *out = known ? values[known - names] : (unsigned char)c;
    if (c == 'x') return read_hex(p, out);
    bool letter = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    return !letter || known ? true : fail(p, "an escape that is not known");
}

/* [:alpha:] and its kin; false where it is none. */
static bool read_named(parser *p) {
    static const struct { const char *name, *ranges; } named[] = {
        {"alnum", "09AZaz"}, {"alpha", "AZaz"}, {"ascii", "\001\177"}, {"blank", "\t\t  "}, {"cntrl", "\001\037\177\177"}, {"digit", "09"}, {"graph", "!~"},
        {"lower", "az"}, {"print", " ~"}, {"punct", "!/:@[`{~"}, {"space", "\t\r  "}, {"upper", "AZ"}, {"word", "09AZaz__"}, {"xdigit", "09AFaf"},
    };
    if (p->at[0] != '[' || p->at[1] != ':') return false;
    bool not = p->at[2] == '^';
    const char *name = p->at + 2 + not, *end = strstr(name, ":]");
    for (size_t k = 0; end && k < OPF_COUNT(named); k++) {
        if (strlen(named[k].name) != (size_t)(end - name) || strncmp(named[k].name, name, (size_t)(end - name)) != 0) continue;
        size_t begin = p->ranges.count;
        for (const char *r = named[k].ranges; *r; r += 2) add_range(p, (unsigned char)r[0], (unsigned char)r[1]);
        if (not) complement(p, begin);
        p->at = end + 2;
        return true;
    }
    return fail(p, "a class of characters that is not known");
}

static bool read_member(parser *p) {
    int32_t first, last;
    if (read_named(p)) return true;
    if (p->why) return false;
    if (p->at[0] == '\\' && is_set(p->at[1])) {
        add_set(p, p->at[1]);
        p->at += 2;
        return true;
    }
    if (!read_character(p, &first)) return false;
    last = first;
    if (p->at[0] == '-' && p->at[1] && p->at[1] != ']') {
        p->at++;
        if (!read_character(p, &last)) return false;
        if (last < first) return fail(p, "a range that ends before it begins");
    }
    add_range(p, first, last);
    return true;
}

static const tree *class_from(parser *p, size_t begin) { return node(p, (tree){.kind = TREE_CLASS, .low = (int)begin, .high = (int)p->ranges.count}); }

/* Behind the opening bracket. */
static const tree *read_brackets(parser *p) {
    size_t begin = p->ranges.count;
    bool not = *p->at == '^';
    p->at += not;
    for (bool first = true; first || *p->at != ']'; first = false) {
        if (!*p->at) fail(p, "a bracket that is not closed");
        if (p->why || !read_member(p)) return NULL;
    }
    p->at++;
    fold_case(p, begin);
    if (not) complement(p, begin);
    return class_from(p, begin);
}

/* ---- the grammar ---- */

static const tree *read_alternatives(parser *p);

static const tree *assertion(parser *p, int condition) { return node(p, (tree){.kind = TREE_ASSERT, .low = condition}); }

/* Flags behind "(?"; true where a group follows and must be closed. */
static bool read_flags(parser *p, bool *group) {
    if (*p->at == 'P' || *p->at == '<') { /* a name, which nobody asks for */
        p->at = strchr(p->at, '>');
        *group = true;
        if (!p->at) p->at = "";
        else p->at++;
        return true;
    }
    bool on = true;
    for (; *p->at && *p->at != ')' && *p->at != ':'; p->at++) {
        if (*p->at == '-') on = false;
        else if (*p->at == 'i') p->any_case = on;
        else if (*p->at == 's') p->dot_all = on;
        else if (*p->at == 'm') p->lines = on;
        else if (*p->at != 'U') return fail(p, "a group that is not known: (? followed by what is no flag");
    }
    *group = *p->at == ':';
    if (*p->at) p->at++;
    return true;
}

/* Behind the opening parenthesis. */
static const tree *read_group(parser *p) {
    bool any_case = p->any_case, dot_all = p->dot_all, lines = p->lines, group = true;
    if (*p->at == '?') {
        p->at++;
        if (!read_flags(p, &group)) return NULL;
        if (!group) return node(p, (tree){.kind = TREE_EMPTY}); /* flags for the rest of the group around */
    }
    const tree *inside = read_alternatives(p);
    if (!p->why && *p->at++ != ')') fail(p, "a parenthesis that is not closed");
    p->any_case = any_case;
    p->dot_all = dot_all;
    p->lines = lines;
    return p->why ? NULL : inside;
}

static const tree *read_one(parser *p) {
    char c = *p->at == '\\' ? p->at[1] : 0; /* behind a backslash */
    size_t begin = p->ranges.count;
    if (is_set(c)) {
        add_set(p, c);
        p->at += 2;
        return class_from(p, begin);
    }
    static const struct { char name; int condition; } conditions[] = {
        {'b', OPF_MATCH_AT_BORDER}, {'B', OPF_MATCH_NO_BORDER}, {'A', OPF_MATCH_BEGINS}, {'z', OPF_MATCH_ENDS}};
    for (size_t k = 0; k < OPF_COUNT(conditions); k++) {
        if (!c || c != conditions[k].name) continue;
        p->at += 2;
        return assertion(p, conditions[k].condition);
    }
    int32_t character;
    if (!read_character(p, &character)) return NULL;
    add_range(p, character, character);
    fold_case(p, begin);
    return class_from(p, begin);
}

static const tree *read_atom(parser *p) {
    size_t begin = p->ranges.count;
    switch (*p->at) {
    case '(': p->at++; return read_group(p);
    case '[': p->at++; return read_brackets(p);
    case '^': p->at++; return assertion(p, p->lines ? OPF_MATCH_LINE_BEGINS : OPF_MATCH_BEGINS);
    case '$': p->at++; return assertion(p, p->lines ? OPF_MATCH_LINE_ENDS : OPF_MATCH_ENDS);
    case '*': case '+': case '?': fail(p, "nothing that could be repeated"); return NULL;
    case '.':
        p->at++;
        add_range(p, 0, p->dot_all ? LAST_CHARACTER : '\n' - 1);
        if (!p->dot_all) add_range(p, '\n' + 1, LAST_CHARACTER);
        return class_from(p, begin);
    default: return read_one(p);
    }
}

static int read_number(parser *p) {
    int value = -1;
    for (; *p->at >= '0' && *p->at <= '9'; p->at++) value = value > MOST_REPEATS ? value : (value < 0 ? 0 : value * 10) + (*p->at - '0');
    return value;
}

/* {2}, {2,}, {2,5}; false where the brace is a plain character. */
static bool read_counts(parser *p, int *low, int *high) {
    const char *begin = p->at++;
    *low = *high = read_number(p);
    if (*low >= 0 && *p->at == ',') {
        p->at++;
        *high = read_number(p);
    }
    if (*low >= 0 && *p->at == '}') {
        p->at++;
        if (*low > MOST_REPEATS || *high > MOST_REPEATS || (*high >= 0 && *high < *low)) fail(p, "a number of repetitions that is out of range");
        return true;
    }
    p->at = begin;
    return false;
}

static const tree *read_repeated(parser *p) {
    const tree *atom = read_atom(p);
    while (!p->why && *p->at) {
        int low = *p->at == '+', high = *p->at == '?' ? 1 : -1;
        if (*p->at == '{') {
            if (!read_counts(p, &low, &high)) break;
        } else if (strchr("*+?", *p->at)) {
            p->at++;
        } else {
            break;
        }
        if (*p->at == '?') p->at++; /* as few as possible: all the same to a whole match */
        atom = node(p, (tree){.kind = TREE_REPEAT, .a = atom, .low = low, .high = high});
    }
    return atom;
}

static const tree *read_sequence(parser *p) {
    const tree *whole = node(p, (tree){.kind = TREE_EMPTY});
    while (!p->why && *p->at && *p->at != '|' && *p->at != ')') {
        const tree *next = read_repeated(p);
        if (next) whole = whole->kind == TREE_EMPTY ? next : node(p, (tree){.kind = TREE_BOTH, .a = whole, .b = next});
    }
    return whole;
}

static const tree *read_alternatives(parser *p) {
    if (++p->depth > MOST_DEPTH) fail(p, "parentheses that are nested too deep");
    const tree *whole = p->why ? NULL : read_sequence(p);
    while (!p->why && *p->at == '|') {
        p->at++;
        whole = node(p, (tree){.kind = TREE_EITHER, .a = whole, .b = read_sequence(p)});
    }
    p->depth--;
    return whole;
}

/* ---- the program ---- */

static int32_t put(parser *p, int32_t what, int32_t a, int32_t b) {
    if (p->code.count >= MOST_CODE) fail(p, "repetitions that make it too long");
    else OPF_PUSH(p->arena, &p->code, (instruction){what, a, b});
    return (int32_t)p->code.count - 1;
}

static int32_t here(const parser *p) { return (int32_t)p->code.count; }

static void compile(parser *p, const tree *t);

/* A repetition without end comes back to its fork; one with an end may leave after each round. */
static void compile_repeat(parser *p, const tree *t) {
    for (int k = 0; k < t->low && !p->why; k++) compile(p, t->a);
    if (t->high < 0) {
        int32_t fork = put(p, OPF_MATCH_FORK, here(p) + 1, 0);
        compile(p, t->a);
        put(p, OPF_MATCH_FORK, fork, fork);
        if (!p->why) p->code.data[fork].b = here(p);
        return;
    }
    OPF_VEC(int32_t) forks = {0};
    for (int k = t->low; k < t->high && !p->why; k++) {
        OPF_PUSH(p->arena, &forks, put(p, OPF_MATCH_FORK, here(p) + 1, 0));
        compile(p, t->a);
    }
    for (size_t k = 0; k < forks.count && !p->why; k++) p->code.data[forks.data[k]].b = here(p);
}

static void compile_either(parser *p, const tree *t) {
    int32_t fork = put(p, OPF_MATCH_FORK, here(p) + 1, 0);
    compile(p, t->a);
    int32_t jump = put(p, OPF_MATCH_FORK, 0, 0);
    if (!p->why) p->code.data[fork].b = here(p);
    compile(p, t->b);
    if (!p->why) p->code.data[jump].a = p->code.data[jump].b = here(p);
}

static void compile(parser *p, const tree *t) {
    if (p->why) return;
    switch (t->kind) {
    case TREE_EMPTY: break;
    case TREE_CLASS: put(p, OPF_MATCH_CLASS, t->low, t->high); break;
    case TREE_ASSERT: put(p, OPF_MATCH_ASSERT, t->low, 0); break;
    case TREE_BOTH: compile(p, t->a), compile(p, t->b); break;
    case TREE_EITHER: compile_either(p, t); break;
    case TREE_REPEAT: compile_repeat(p, t); break;
    }
}

bool opf_pattern_compile(opf_pattern *out, const char *text, opf_arena *arena, const char **why) {
    parser p = {.arena = arena, .at = text};
    if (strlen(text) > MOST_TEXT) fail(&p, "more characters than are supported");
    const tree *whole = read_alternatives(&p);
    if (!p.why && *p.at) fail(&p, "a parenthesis that is not opened");
    if (!p.why) compile(&p, whole);
    if (!p.why) put(&p, OPF_MATCH_END, 0, 0);
    *why = p.why;
    if (p.why) return false;
    if (!p.ranges.count) add_range(&p, 0, 0);
    out->code = opf_tensor_new(arena, OPF_INT32, 2, (int64_t[]){(int64_t)p.code.count, 3}, p.code.data, why);
    out->ranges = opf_tensor_new(arena, OPF_INT32, 2, (int64_t[]){(int64_t)p.ranges.count, 2}, p.ranges.data, why);
    return out->code && out->ranges;
}
