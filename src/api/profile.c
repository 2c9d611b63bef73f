/* `profile`: where the time of a run goes; and the steps of runs, told to the caller. */
#include <string.h>

#include "api/profile.h"

/* ---- a call around each step ---- */

static void name_steps(opf_session *session) {
    const opf_program *program = session->pipeline.program;
    opf_arena *arena = program->module->arena;
    session->step_names = OPF_ARRAY(arena, const char *, program->steps.count + 1);
    for (size_t i = 0; i < program->steps.count; i++) session->step_names[i] = opf_step_text(program, (int)i, arena);
}

static void tell_step(void *data, int step, int begin) {
    opf_session *session = data;
    session->on_step(session->on_step_data, step, session->step_names[step], begin);
}

void opf_session_on_step(opf_session *session, void (*on_step)(void *data, int step, const char *name, int begin), void *data) {
    session->on_step = on_step;
    session->on_step_data = data;
    if (session->variants) return; /* each run hands it on to its variant */
    if (on_step && opf_session_demand_program(session) != OPF_OK) on_step = NULL;
    if (on_step && !session->step_names) name_steps(session);
    opf_runner_trace(session->runner, on_step ? tell_step : NULL, session);
}

/* ---- profile ---- */

opf_status opf_session_profile(opf_profile *out, opf_session *session, const opf_array *inputs, int warmup, int runs, opf_arena *arena) {
    opf_measure *measured = OPF_NEW(arena, opf_measure);
    opf_status status = opf_session_prepare(session, inputs);
    if (status == OPF_OK) status = opf_runner_measure(measured, session->runner, session->inputs, session->outputs, warmup, runs, arena);
    if (status == OPF_OK) opf_profile_make(out, session->pipeline.program, measured, arena);
    return status;
}

static opf_status measure(opf_session *session, const opf_array *inputs, int warmup, int runs, const char *const *formats, char **texts, opf_arena *arena) {
    opf_profile profile;
    opf_status status = opf_session_profile(&profile, session, inputs, warmup, runs, arena);
    for (size_t i = 0; formats[i] && status == OPF_OK; i++) {
        opf_text text = {0};
        status = opf_profile_print(&profile, formats[i], &text);
        texts[i] = opf_text_take(&text);
        if (status != OPF_OK) opf_diag_add(session->model->context->diags, OPF_ERROR, "usage", OPF_NO_PLACE, "a profile has no form '%s'", formats[i]);
    }
    return status;
}

opf_status opf_model_profile(opf_model *model, const opf_array *inputs, int warmup, int runs, const char *const *formats, char **texts) {
    opf_arena *arena = opf_arena_new();
    opf_session *session = NULL;
    opf_model *bound = NULL;
    for (size_t i = 0; formats[i]; i++) texts[i] = NULL;
    opf_status status = model->needs_values ? opf_model_bind(&bound, model, inputs) : OPF_OK;
    if (bound) model = bound;
    if (status == OPF_OK) status = opf_session_make(&session, model, model->context->options.policy, false, false);
    if (status == OPF_OK && session) status = measure(session, inputs, warmup, runs, formats, texts, arena);
    opf_session_free(session);
    opf_model_free(bound);
    opf_arena_free(arena);
    return status;
}
