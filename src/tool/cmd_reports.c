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

/* The one form that was asked for. */
static opf_status explain(const tool *t, opf_model *model, char **report) {
    const char *format = format_of(t);
    if (t->why_a) return opf_model_why(model, t->why_a, t->why_b, format, report);
    if (t->trace) return opf_model_trace(model, format, report);
    if (t->memory) return opf_model_memory(model, format, report);
    if (t->try_decompose) return opf_model_try_decompose(model, format, report);
    if (t->schedules) return opf_model_schedules(model, report);
    if (t->diff) return opf_model_compare(model, t->diff, format, report);
    return opf_model_explain(model, format, report);
}

int cmd_explain(tool *t) {
    opened o;
    char *report = NULL;
    if ((t->why_a != NULL) + t->trace + t->memory + t->try_decompose + t->schedules + (t->diff != NULL) > 1) {
        complain(t, "usage", "--why, --trace, --memory, --try-decompose, --schedules and --diff exclude each other");
        return EXIT_USAGE;
    }
    if (t->schedules && t->json) {
        complain(t, "usage", "--schedules is text, as --schedule FILE reads it: there is none as JSON");
        return EXIT_USAGE;
    }
    opf_status status = model_open_bound(t, &o);
    if (status != OPF_OK) return exit_status(status);
    status = explain(t, o.bound, &report);
    int code = show(t, status, report);
    model_close(&o);
    return code;
}

int cmd_match(tool *t) {
    opened o;
    char *report = NULL;
    opf_status status = model_open_bound(t, &o);
    if (status != OPF_OK) return exit_status(status);
    status = opf_model_match(o.bound, format_of(t), &report);
    int code = show(t, status, report);
    model_close(&o);
    return code;
}

int cmd_ops(tool *t) {
    char *report;
    opf_status status = opf_operators(t->context, t->markdown ? "markdown" : format_of(t), &report);
    return show(t, status, report);
}

int cmd_rules(tool *t) {
    char *report;
    opf_status status = opf_fusion_rules(t->context, t->markdown ? "markdown" : format_of(t), &report);
    return show(t, status, report);
}

int cmd_doctor(tool *t) {
    char *report;
    opf_status status = opf_doctor(t->context, &report);
    return show(t, status, report);
}
