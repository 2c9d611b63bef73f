/* What the parts of the planner share: values → buffers, nests → kernels, lives → offsets. */
#ifndef OPF_PLAN_PLANNER_H
#define OPF_PLAN_PLANNER_H

#include "plan/program.h"

/* Where a part lies in a concatenation: bytes before it; where `in_front` is not 1 (NULL: always 1), elsewhere. */
typedef struct opf_part { const opf_value *whole; opf_dim offset, in_front; } opf_part;

typedef struct opf_planner {
    opf_program *program;
    const opf_plan_options *options;
    opf_arena *arena;
    opf_pool *pool;
    opf_map sources;  /* view → value whose elements it shows (opf_value) */
    opf_map bound;    /* value → pointer into program->outputs: it is computed in that output's bytes */
    opf_map buffers;  /* value → index + 1 as pointer */
    opf_map weights;  /* tensor → index + 1 as pointer */
    opf_map kernels;  /* interned body → index + 1 as pointer */
    opf_map names;    /* interned kernel name → taken */
    opf_map parts;    /* value → its opf_part: the concatenation that it is computed in */
    opf_map placed;   /* value → index + 1 of the buffer that it is computed in, where that is not its own */
    opf_map found;    /* symbols that the steps so far find, guards that they check → taken */
    bool failed;
} opf_planner;

/* values.c */
void opf_planner_bind_outputs(opf_planner *planner);
/* The buffer of a value that a step reads; may add a fill step for a value that is only known. */
int opf_planner_operand(opf_planner *planner, const opf_value *value, bool read_by_steps);
/* The buffer that a kernel stores a value in. */
int opf_planner_result(opf_planner *planner, const opf_value *value);
/* Notes the operands of a concatenation in place: each is computed where it belongs in the whole. */
void opf_planner_parts(opf_planner *planner, const opf_group *group);
/* The buffer of a constant that is no value of the graph. */
int opf_planner_constant(opf_planner *planner, const opf_value *named, const opf_tensor *tensor);
/* Bytes of the workspace for one step. */
int opf_planner_scratch(opf_planner *planner, opf_dim bytes);
int opf_planner_packed(opf_planner *planner, int64_t bytes);
void opf_planner_finish_outputs(opf_planner *planner);
int opf_planner_add_buffer(opf_planner *planner, opf_buffer buffer);

void opf_planner_know(opf_planner *planner, const opf_value *value, int buffer); /* the value's buffer is this one */
void opf_planner_copy(opf_planner *planner, int to, int from, const opf_value *value); /* as much as the value has */
opf_dim opf_planner_bytes(opf_planner *planner, const opf_value *value); /* as large as it is; opf_dim_most: its room */
const opf_value *opf_planner_root(const opf_planner *planner, const opf_value *value); /* what a view shows */

/* plan.c */
void opf_planner_views(opf_planner *planner, const opf_fusion *fusion); /* notes the views of a graph */
opf_status opf_planner_groups(opf_planner *planner, const opf_fusion *fusion); /* steps of a sub-graph's groups */
/* The packed form of a constant: made once by a kernel of its own, shared by all who want the same. -1: failed, reported. */
int opf_planner_pack(opf_planner *planner, const opf_machine *machine, const opf_packed *packed);

/* control.c */
opf_status opf_planner_control(opf_planner *planner, const opf_group *group);

/* library.c */
opf_status opf_planner_library(opf_planner *planner, const opf_group *group);
/* The branch begins: adds the checks of its guards that can be made now. */
void opf_planner_enter(opf_planner *planner, const opf_graph *branch);
/* The steps so far find this symbol: adds the checks that can be made now. */
void opf_planner_found(opf_planner *planner, const opf_symbol *symbol);

/* kernels.c */
int opf_planner_kernel(opf_planner *planner, const opf_nest *nest); /* -1: failed, reported */

/* beside.c: puts small kernels that do not depend on each other side by side, and marks them. Before anything has a place. */
void opf_planner_beside(opf_program *program);

/* workspace.c */
void opf_planner_place(opf_planner *planner);

#endif
