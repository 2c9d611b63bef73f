/* What the files of src/pattern share. */
#ifndef OPF_PATTERN_INTERNAL_H
#define OPF_PATTERN_INTERNAL_H

#include "pattern/pattern.h"

/* ---- reading ---- */

typedef struct opf_pattern_reader {
    opf_arena *arena;
    opf_diags *diags;
    const char *source;
    const char *text, *at;   /* terminated */
    const char *mark;        /* where the last word began */
    bool failed;             /* within the pattern at hand */
    opf_status status;
    opf_pattern *pattern;    /* being read */
    opf_hash key;            /* of what has been read */
} opf_pattern_reader;

/* Reports at `place` of the text, the first problem of a pattern only. Returns false. */
bool opf_pattern_fail(opf_pattern_reader *reader, const char *place, const char *format, ...) __attribute__((format(printf, 3, 4)));
void opf_pattern_blanks(opf_pattern_reader *reader);  /* and comments */
bool opf_pattern_accept(opf_pattern_reader *reader, const char *sign);
bool opf_pattern_expect(opf_pattern_reader *reader, const char *sign);
/* A word of letters, digits, '_' and '.'; NULL, reported, where there is none and `what` says what it should be; NULL `what`: not reported. */
const char *opf_pattern_word(opf_pattern_reader *reader, const char *what);
bool opf_pattern_number(opf_pattern_reader *reader, double *out, bool *whole); /* `whole`: NULL, or whether it is written without point and exponent */
const char *opf_pattern_quoted(opf_pattern_reader *reader); /* "…"; NULL where none stands here, or it does not end (reported) */
opf_pattern_operator opf_pattern_operator_name(opf_pattern_reader *reader); /* Name or domain::Name; name NULL: reported */
opf_pattern_node *opf_pattern_node_add(opf_pattern_reader *reader);          /* NULL: too many, reported */
void opf_pattern_note_read(opf_pattern_reader *reader, const char *path, const void *data, size_t size); /* into the key */
const char *opf_pattern_beside(const opf_pattern_reader *reader, const char *file); /* the path of a file beside the source */

void opf_pattern_chain(opf_pattern_reader *reader);         /* chain.c: behind the word `chain` */
/* function_text.c: behind the word `function`, at NAME (…) => (…) { … }; also the whole text of a file. */
void opf_pattern_function_text(opf_pattern_reader *reader);
/* function.c: of an .onnx file; `name` NULL: its only one. */
void opf_pattern_function_file(opf_pattern_reader *reader, const char *path, const char *name, const char *place);

/* A value by name, made where it is new. */
int opf_pattern_value_of(opf_pattern_reader *reader, const char *name);
/* A constant of one type and some numbers. */
opf_tensor *opf_pattern_tensor(opf_arena *arena, opf_dtype dtype, int rank, const int64_t *dims, const double *numbers);

/* ---- matching ---- */

/* Does the condition hold of the node? Else the reason (arena), where `why` is not NULL. */
bool opf_pattern_test_holds(const opf_pattern_test *test, opf_node *node, opf_arena *arena, const char **why);
/* Does the node have these attributes, or others of the same meaning? */
bool opf_pattern_attrs_hold(const opf_pattern_node *pattern, opf_node *node, opf_arena *arena, const char **why);
/* Is the model's value a constant of these elements? One element fits any shape of one. */
bool opf_pattern_constant_holds(const opf_tensor *wanted, const opf_value *value);

/* match.c: all embeddings of a pattern in one graph, and where it nearly was. */
void opf_pattern_find(opf_matches *matches, const opf_pattern *pattern, opf_graph *graph, bool misses);
/* take.c: is the node one of the match's? */
bool opf_match_holds(const opf_match *match, const opf_node *node);
/* match.c: the order in which a pattern's nodes are looked for, each linked to earlier ones; how many nodes are in it: all, unless the
 * pattern falls apart. */
int opf_pattern_order(const opf_pattern *pattern, int *order);
/* bind.c: fills the ports and the call, or says why it cannot be (NULL: it can). */
const char *opf_match_bind(opf_match *match);

#endif
