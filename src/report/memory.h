/* The workspace over time, as numbers at nominal sizes. */
#ifndef OPF_REPORT_MEMORY_H
#define OPF_REPORT_MEMORY_H

#include <jansson.h>

#include "fuse/explain.h"
#include "plan/program.h"

typedef struct opf_memory_buffer {
    const opf_value *value;    /* NULL: a step's own room */
    int64_t offset, bytes;     /* in the workspace, slots one behind the other */
    int first_step, last_step;
} opf_memory_buffer;

typedef struct opf_memory_step {
    const opf_step *step;
    const opf_group *group;    /* whose step it is; NULL: copies, checks, marks of control flow */
    int64_t live;              /* bytes of all buffers alive while it runs */
} opf_memory_step;

typedef struct opf_memory_plan {
    int64_t bytes, most_live;  /* of the workspace; the largest of `live` */
    OPF_VEC(opf_memory_buffer) buffers; /* by offset */
    OPF_VEC(opf_memory_step) steps;
} opf_memory_plan;
opf_memory_plan opf_memory_of(const opf_program *program, opf_arena *arena);

/* Bytes of the values that a group makes and never stores. */
int64_t opf_group_never_stored(const opf_group *group);

/* unfused_bytes: the workspace of the same model under policy none; < 0: not known. */
void opf_memory_text(const opf_program *program, int64_t unfused_bytes, opf_text *out);
/* {"bytes", "unfused_bytes", "most_live", "steps": [{"what", "group", "live"}], "buffers": [{"value", "offset", "bytes",
 * "first", "last"}], "saved": [{"group", "never_stored", "bytes_saved"}]}; groups by their numbers in reports. */
json_t *opf_memory_object(const opf_program *program, int64_t unfused_bytes);

#endif
