/* `bench`: the model and its unfused build, in turns. */
#include <stdlib.h>

#include "api/session.h"
#include "base/clock.h"

typedef struct contest {
    opf_session *fused, *unfused;
    const opf_array *inputs;
    opf_array *outputs;
} contest;

static opf_status timed(opf_session *session, const contest *c, double *milliseconds) {
    int64_t begun = opf_clock_now();
    opf_status status = opf_session_run(session, c->inputs, c->outputs);
    *milliseconds = (double)(opf_clock_now() - begun) / 1e6;
    return status;
}

/* Turns swap who is first, so that a drifting clock or a neighbour's noise meets both alike. */
static opf_status race(const contest *c, int warmup, int runs, double *fused_ms, double *unfused_ms, opf_context *context) {
    opf_status status = OPF_OK;
    double ignored;
    for (int i = -warmup; i < runs && status == OPF_OK; i++) {
        double *fused = i < 0 ? &ignored : &fused_ms[i], *unfused = i < 0 ? &ignored : &unfused_ms[i];
        bool fused_first = i % 2 == 0;
        status = fused_first ? timed(c->fused, c, fused) : timed(c->unfused, c, unfused);
        if (status == OPF_OK) status = fused_first ? timed(c->unfused, c, unfused) : timed(c->fused, c, fused);
        opf_context_progress(context, "running", i + warmup + 1, warmup + runs);
    }
    return status;
}

opf_status opf_model_bench(opf_model *model, const opf_array *inputs, int warmup, int runs, double *fused_ms, double *unfused_ms) {
    opf_arena *arena = opf_arena_new();
    contest c = {.inputs = inputs, .outputs = OPF_ARRAY(arena, opf_array, opf_model_outputs(model) + 1)};
    opf_model *bound = NULL; /* the variant for these values, where there is more than one */
    opf_status status = model->needs_values ? opf_model_bind(&bound, model, inputs) : OPF_OK;
    if (bound) model = bound;
    if (status == OPF_OK) status = opf_session_make(&c.fused, model, model->context->options.policy, false, false);
    if (status == OPF_OK && c.fused) status = opf_session_make(&c.unfused, model, OPF_POLICY_NONE, false, true);
    if (status == OPF_OK && c.fused) status = race(&c, warmup, runs, fused_ms, unfused_ms, model->context);
    for (int i = 0; i < runs && !c.fused; i++) fused_ms[i] = unfused_ms[i] = -1; /* stopped by stop-after */
    opf_session_free(c.fused);
    opf_session_free(c.unfused);
    opf_model_free(bound);
    opf_arena_free(arena);
    return status;
}
