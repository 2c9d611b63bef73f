/* A nest's statements as C. Private to src/emit. */
#ifndef OPF_EMIT_STATEMENTS_H
#define OPF_EMIT_STATEMENTS_H

#include "emit/names.h"
#include "emit/spelling.h"

/* Elements of a float16 argument that a loop works on as floats, in an array `name` from the loop's variable `begin` on. */
typedef struct opf_half_line { int buffer; const opf_expr *offset; const char *name; bool stores; } opf_half_line;
enum { OPF_MOST_HALF_LINES = 8 };

typedef struct opf_statements {
    const opf_nest *nest;
    opf_names names;
    const char **variables;      /* by position, once declared */
    const char **buffers;        /* by number */
    bool *used;                  /* by buffer: something reads or writes it */
    bool uses_parts;
    bool stores_past;            /* past the caches: to be ended */
    const char *unit, *share;    /* names: of the innermost unit and of the share that it runs through */
    int n_lines;                 /* of the loop that is being printed */
    opf_half_line lines[OPF_MOST_HALF_LINES];
    const char *lane;            /* their index, text */
    int indent;
    opf_text *out;
} opf_statements;

void opf_emit_block(opf_statements *s, const opf_block *block);
/* Declarations that stand at the top of the body: arguments, scratch. */
void opf_emit_declarations(opf_statements *s, opf_text *out);

/* The statements of a nest that fills a buffer (loop/band.h) inside of other code: its inputs are p0, p1, …, its result is
 * `result`, its given variables are `given`, one each. */
void opf_emit_fill(const opf_nest *fill, const char *result, const char *const *given, int indent, opf_text *out);

#endif
