/* The evaluator on the API's arrays; sessions beside it; sessions with given groups. */
#include "api/reference.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

opf_status opf_reference_run(opf_eval **out, opf_graph *graph, const opf_array *inputs, bool keep_all, const opf_tensor ***tensors, opf_arena *arena, opf_diags *diags) {
    const opf_tensor **given = OPF_ARRAY(arena, const opf_tensor *, graph->inputs.count + 1);
    opf_status status = OPF_OK;
    *out = NULL;
    for (size_t i = 0; i < graph->inputs.count && status == OPF_OK; i++) status = opf_array_value(&given[i], &inputs[i], graph->inputs.data[i]->list, arena, diags);
    if (status == OPF_OK) status = opf_eval_new(out, graph, given, keep_all);
    if (status == OPF_OK) status = opf_eval_run(*out);
    if (tensors) *tensors = given;
    return status;
}

opf_status opf_session_replay(opf_replay *out, const opf_replay_options *options, opf_session *session, const opf_array *inputs, const opf_graph *graph, const opf_eval *eval, opf_arena *arena) {
    opf_status status = opf_session_prepare(session, inputs);
    if (status == OPF_OK) status = opf_check_replay(out, options, session->runner, session->pipeline.program, graph, eval, session->inputs, session->outputs, arena);
    return status;
}

opf_status opf_session_pinned(opf_session **out, opf_model *model, opf_policy policy, json_t *groups, void (*leave_out)(void *data, opf_program *program), void *data) {
    opf_context *context = model->context;
    opf_arena *arena = opf_arena_new();
    char *text = json_dumps(groups, 0), *folder;
    json_decref(groups);
    if (!text) opf_out_of_memory();
    *out = NULL;
    opf_status status = opf_folder_temporary(&folder, arena, context->diags);
    if (status == OPF_OK) {
        const char *path = opf_arena_printf(arena, "%s/groups.json", folder), *before = context->options.groups_file;
        status = opf_file_write(path, text, strlen(text), context->diags);
        context->options.groups_file = path;
        if (status == OPF_OK) status = leave_out ? opf_session_make_part(out, model, policy, leave_out, data) : opf_session_make(out, model, policy, false, false);
        context->options.groups_file = before;
        opf_folder_remove(folder);
    }
    free(text);
    opf_arena_free(arena);
    return status;
}
