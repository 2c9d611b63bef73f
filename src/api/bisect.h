/* `verify --bounds`, `--bisect`: what each group does to the numbers, and who is at fault where one is beyond its bound. */
#ifndef OPF_API_BISECT_H
#define OPF_API_BISECT_H

#include "api/reference.h"

typedef struct opf_bisection {
    opf_model *model;
    opf_session *session;      /* of the program to be looked at */
    const opf_graph *graph;    /* as read */
    const opf_eval *eval;      /* has all its values */
    const opf_array *inputs;
    opf_arena *arena;
    opf_text *text;
} opf_bisection;

/* Replays the program group by group and prints the table. */
opf_status opf_bisect_groups(const opf_bisection *b, bool all, opf_replay *out);
/* Names the first group beyond its bound, the operator in it, the property behind it and a remedy. Compiles. */
opf_status opf_bisect_fault(const opf_bisection *b, const opf_replay *replay);

#endif
