/* The evaluator on the API's arrays, and a session group by group beside it. */
#ifndef OPF_API_REFERENCE_H
#define OPF_API_REFERENCE_H

#include <jansson.h>

#include "api/session.h"
#include "check/replay.h"
#include "eval/eval.h"

/* Evaluates the graph as read. `tensors`: NULL, or gets the inputs as tensors (in `arena`). The evaluation is the caller's to
 * free where it is set, whatever the status. */
opf_status opf_reference_run(opf_eval **out, opf_graph *graph, const opf_array *inputs, bool keep_all, const opf_tensor ***tensors, opf_arena *arena, opf_diags *diags);

/* Runs the session's program on these inputs with every group on the evaluator's own values (check/replay.h). */
opf_status opf_session_replay(opf_replay *out, const opf_replay_options *options, opf_session *session, const opf_array *inputs, const opf_graph *graph, const opf_eval *eval, opf_arena *arena);

/* A session of the model with groups given as the JSON that `--fuse=FILE` reads. Takes over `groups`. leave_out: NULL, or as of
 * opf_session_make_part. */
opf_status opf_session_pinned(opf_session **out, opf_model *model, opf_policy policy, json_t *groups, void (*leave_out)(void *data, opf_program *program), void *data);

#endif
