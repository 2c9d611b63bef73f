/* A compiled model and its buffers. */
#ifndef OPF_API_SESSION_H
#define OPF_API_SESSION_H

#include "api/lists.h"
#include "api/pipeline.h"
#include "api/variants.h"

struct opf_session {
    opf_model *model;
    opf_variants *variants;        /* not NULL: of a model that needs values; nothing of the below is there */
    opf_variants *empty;           /* for inputs with empty axes that the program is not made for; NULL: none came yet */
    opf_pipeline pipeline;         /* its program is NULL where the session was loaded from an image */
    const opf_graph *graph;        /* the main graph, for inputs and names of outputs */
    const opf_value *const *results; /* the program's outputs; the graph's come first */
    size_t n_outputs;
    opf_runner *runner;
    int64_t *input_dims;           /* OPF_MAX_RANK each, of the sizes prepared last */
    const int64_t **dims_of_input;
    const void **inputs;
    int64_t *output_dims;          /* OPF_MAX_RANK each */
    void **outputs;                /* own memory */
    size_t *output_room;
    opf_list *lists;               /* per input: the sequence or optional given */
    opf_element *elements;         /* of all of them */
    size_t elements_room;
    bool prepared;
    void (*on_step)(void *data, int step, const char *name, int begin);
    void *on_step_data;
    const char **step_names;       /* made when they are first asked for */
};

/* A session under a policy of its own, with taps (plan/program.h) or not. */
opf_status opf_session_make(opf_session **out, opf_model *model, opf_policy policy, bool tap_all, bool silent);
/* The same, silently, without the kernels that `leave_out` marks (opf_program_kernel.left_out) before the code is written. */
opf_status opf_session_make_part(opf_session **out, opf_model *model, opf_policy policy, void (*leave_out)(void *data, opf_program *program), void *data);
/* The same in two steps: up to the sources, and from an object that holds the program under the name `entry` on. */
opf_status opf_session_emit(opf_session **out, opf_model *model, opf_policy policy);
opf_status opf_session_open(opf_session *session, const char *object, const char *entry);
/* Makes the program of a session that was loaded from an image; the pipeline has one afterwards. */
opf_status opf_session_demand_program(opf_session *session);
/* Has `inputs` empty axes that the program refuses, and the model leaves open? Then one with these pinned may take them. */
bool opf_session_refuses_empty(opf_session *session, const opf_array *inputs);
/* Puts the inputs in place and readies sizes and memory for them, as a run does. */
opf_status opf_session_prepare(opf_session *session, const opf_array *inputs);
/* All outputs of the program, taps included: program->outputs.count of them. */
opf_status opf_session_run_all(opf_session *session, const opf_array *inputs, opf_array *outputs);

#endif
