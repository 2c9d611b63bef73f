/* One random graph under one policy: generated code against the evaluator. */
#ifndef OPF_TEST_CHECK_H
#define OPF_TEST_CHECK_H

#include "api/session.h"
#include "check/replay.h"
#include "eval/eval.h"
#include "maker.h"

enum { POLICIES = 3 };
extern const char *const policy_names[POLICIES];

/* A graph as a file's bytes, read once for the evaluator. */
typedef struct subject {
    uint64_t seed;
    maker *maker;
    opf_text bytes;            /* ModelProto */
    opf_context *context;
    opf_model *model;          /* as read */
    const opf_graph *graph;
    opf_eval *eval;            /* with all values */
    opf_array *inputs;
    const char *wrong;         /* the first problem; NULL: none (arena of the maker, or a message of the context) */
} subject;

typedef struct program {
    subject *of;
    int policy;
    opf_context *context;
    opf_model *model;
    opf_session *session;      /* NULL: it failed */
    int results[OPF_GROUP_UNSEEN + 1]; /* of kernels on the evaluator's values, by their verdict */
    const char *wrong;
} program;

extern bool random_exactly; /* --accuracy=exact: all bits are the evaluator's */

/* Makes the graph and evaluates it. cut, output: as of make_graph. */
void subject_open(subject *s, uint64_t seed, const int *cut, int output);
void subject_close(subject *s);

/* Up to C text. Between groups there is no cycle, or that is what is wrong. */
void program_emit(program *p, subject *of, int policy, const char *cache);
/* Loads the object and runs: each kernel finds the bytes that their makers left, and is within its bound on the evaluator's values. */
void program_check(program *p, const char *object, const char *entry);
void program_close(program *p);

#endif
