/* The verbs that print a report and run nothing: check, explain, ops, doctor. */
#include "tool/tool.h"

static int show(tool *t, opf_status status, char *report) {
    tell(t);
    if (report) print(report);
    opf_string_free(report);
    return exit_status(status);
}

static const char *format_of(const tool *t) { return t->json ? "json" : "text"; }

int cmd_check(tool *t) {
    char *report;
    opf_status status = opf_check(t->context, t->model, format_of(t), &report);
    return show(t, status, report);
}

int cmd_explain(tool *t) {
    opened o;
    char *report = NULL;
    opf_status status = model_open_bound(t, &o);
    if (status != OPF_OK) return exit_status(status);
    status = opf_model_explain(o.bound, format_of(t), &report);
    int code = show(t, status, report);
    model_close(&o);
    return code;
}

int cmd_ops(tool *t) {
    char *report;
    opf_status status = opf_operators(t->context, t->markdown ? "markdown" : format_of(t), &report);
    return show(t, status, report);
}

int cmd_doctor(tool *t) {
    char *report;
    opf_status status = opf_doctor(t->context, &report);
    return show(t, status, report);
}
