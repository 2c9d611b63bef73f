/* Does a whole text match a pattern? The pattern is a program (ops/pattern.h) whose threads run abreast over the characters:
 * the time is proportional to text and program, whatever they are. */
#ifndef OPF_LIB_MATCH_H
#define OPF_LIB_MATCH_H
#ifndef OPF_LIB_TEXT_H
#include "opf_lib_text.h"
#endif

/* An instruction: what it does, and two numbers. */
enum {
    OPF_MATCH_CLASS,   /* the character is in one of the ranges a … b-1 of the table; go on behind */
    OPF_MATCH_FORK,    /* go on at a and at b */
    OPF_MATCH_ASSERT,  /* go on behind where condition a holds here */
    OPF_MATCH_END      /* the text has matched */
};
enum { OPF_MATCH_BEGINS, OPF_MATCH_ENDS, OPF_MATCH_LINE_BEGINS, OPF_MATCH_LINE_ENDS, OPF_MATCH_AT_BORDER, OPF_MATCH_NO_BORDER };

typedef struct opf_lib_matcher {
    const int32_t *code, *ranges; /* [n, 3], [m, 2] */
    int32_t n;
    int32_t *now, *then, *pending; /* threads at this character and the next; where a thread goes on */
    int32_t *seen;                 /* the step that last had this instruction as a thread */
    int32_t n_now, n_then, step;
} opf_lib_matcher;

static inline int opf_lib_is_word(uint32_t c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }

static inline int opf_lib_holds(int32_t condition, uint32_t before, uint32_t after, int first) {
    switch (condition) {
    case OPF_MATCH_BEGINS: return first;
    case OPF_MATCH_ENDS: return !after;
    case OPF_MATCH_LINE_BEGINS: return first || before == '\n';
    case OPF_MATCH_LINE_ENDS: return !after || after == '\n';
    default: return (opf_lib_is_word(before) != opf_lib_is_word(after)) == (condition == OPF_MATCH_AT_BORDER);
    }
}

/* A thread at instruction `at`, and what can be reached from it between the two characters. */
static inline void opf_lib_add_thread(opf_lib_matcher *m, int32_t at, uint32_t before, uint32_t after, int first) {
    int32_t n = 0;
    m->pending[n++] = at;
    while (n) {
        at = m->pending[--n];
        const int32_t *in = m->code + 3 * at;
        if (m->seen[at] == m->step) continue;
        m->seen[at] = m->step;
        if (in[0] == OPF_MATCH_FORK) {
            m->pending[n++] = in[2];
            m->pending[n++] = in[1];
        } else if (in[0] == OPF_MATCH_ASSERT) {
            if (opf_lib_holds(in[1], before, after, first)) m->pending[n++] = at + 1;
        } else {
            m->then[m->n_then++] = at;
        }
    }
}

static inline int opf_lib_in_class(const opf_lib_matcher *m, const int32_t *in, uint32_t c) {
    for (int32_t r = in[1]; r < in[2]; r++)
        if (c >= (uint32_t)m->ranges[2 * r] && c <= (uint32_t)m->ranges[2 * r + 1]) return 1;
    return 0;
}

static inline int opf_lib_matches(opf_lib_matcher *m, const char *text) {
    uint32_t c = 0, next = 0;
    int bytes = *text ? opf_lib_decode(text, &next) : 0;
    m->n_then = 0;
    m->step++;
    opf_lib_add_thread(m, 0, 0, next, 1);
    while (*text && m->n_then) {
        int32_t *swap = m->now;
        m->now = m->then;
        m->then = swap;
        m->n_now = m->n_then;
        m->n_then = 0;
        m->step++;
        c = next;
        text += bytes;
        next = 0;
        if (*text) bytes = opf_lib_decode(text, &next);
        for (int32_t k = 0; k < m->n_now; k++) {
            const int32_t *in = m->code + 3 * m->now[k];
            if (in[0] == OPF_MATCH_CLASS && opf_lib_in_class(m, in, c)) opf_lib_add_thread(m, m->now[k] + 1, c, next, 0);
        }
    }
    for (int32_t k = 0; !*text && k < m->n_then; k++)
        if (m->code[3 * m->then[k]] == OPF_MATCH_END) return 1;
    return 0;
}

/* in: X of strings, the program, its ranges. out: bool. scratch: 24 bytes an instruction. */
static inline void opf_lib_text_match(const opf_lib_args *a) {
    int32_t n = (int32_t)a->in[1].dims[0], *room = (int32_t *)a->scratch;
    opf_lib_matcher m = {(const int32_t *)a->in[1].data, (const int32_t *)a->in[2].data, n, room, room + n, room + 2 * n, room + 5 * n, 0, 0, 0};
    memset(m.seen, 0, (size_t)n * sizeof *m.seen);
    for (int64_t i = 0, count = opf_lib_elements(&a->in[0]); i < count; i++) {
        if (m.step > INT32_MAX / 2) {
            memset(m.seen, 0, (size_t)n * sizeof *m.seen);
            m.step = 0;
        }
        ((unsigned char *)a->out[0].data)[i] = (unsigned char)opf_lib_matches(&m, opf_lib_text(&a->in[0], i));
    }
}

#endif
