/* opfuse tune: schedules that are faster on this machine than the heuristic's. */
#include <signal.h>

#include "tool/tool.h"

/* The first Ctrl-C ends the search; what was found is kept. A second one ends the process. */
static volatile sig_atomic_t interrupted;

static void on_interrupt(int number) {
    interrupted = 1;
    signal(number, SIG_DFL);
}

static int stop(void *data) {
    (void)data;
    return interrupted;
}

static opf_status tune(tool *t) {
    opened o;
    feed f = {0};
    char *report = NULL;
    opf_tune_options options = {.seconds = t->budget, .stop = stop};
    opf_status status = model_open_bound(t, &o);
    if (status != OPF_OK) return status;
    status = feed_first(t, &f, o.bound, t->data || t->n_inputs);
    signal(SIGINT, on_interrupt);
    signal(SIGTERM, on_interrupt);
    if (status == OPF_OK) status = opf_model_tune(o.bound, f.inputs, &options, &report);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    tell(t);
    if (report) print(report);
    opf_string_free(report);
    feed_free(&f);
    model_close(&o);
    return status;
}

static opf_status import(tool *t) {
    char *report = NULL;
    opf_status status = opf_schedules_import(t->context, t->import_from, &report);
    if (report) print(report);
    opf_string_free(report);
    return status;
}

/* What comes in first, then what is found, then what goes out. */
int cmd_tune(tool *t) {
    opf_status status = t->import_from ? import(t) : OPF_OK;
    if (status == OPF_OK && t->model) status = tune(t);
    if (status == OPF_OK && t->export_to) status = opf_schedules_export(t->context, t->export_to);
    tell(t);
    return exit_status(status);
}
