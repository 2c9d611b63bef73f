/* Graphviz as a process. */
#include "report/layout.h"

#include <stdio.h>
#include <string.h>

#include "base/process.h"

static opf_status report_missing(opf_severity severity, opf_diags *diags) {
    opf_diag *diag = opf_diag_add(diags, severity, "tool", OPF_NO_PLACE, "cannot run 'dot' (Graphviz), which lays out pictures");
    opf_diag_hint(diags, diag, "install graphviz (Debian: apt install graphviz); .dot files are written without it");
    return OPF_ERROR_SYSTEM;
}

static opf_status report_failure(int exit_code, const char *complaint, opf_severity severity, opf_diags *diags) {
    opf_diag *diag = opf_diag_add(diags, severity, "tool", OPF_NO_PLACE, "'dot' (Graphviz) could not lay out the picture: exit status %d", exit_code);
    size_t length = strcspn(complaint, "\n");
    if (length > 0)
        opf_diag_detail(diags, diag, "%.*s", length < 300 ? (int)length : 300, complaint);
    opf_diag_hint(diags, diag, "write a .dot file instead of .svg and lay it out by other means");
    return OPF_ERROR_SYSTEM;
}

opf_status opf_layout(const char *dot, const char *form, opf_text *out, opf_severity severity, opf_diags *diags) {
    char option[32];
    snprintf(option, sizeof option, "-T%s", form);
    const char *const argv[] = {"dot", option, NULL};
    opf_process *process;
    if (opf_process_start(&process, argv, dot) != OPF_OK)
        return report_missing(severity, diags);
    opf_text picture = {0}, complaint = {0};
    int exit_code = 0;
    opf_status status = opf_process_wait(process, &exit_code, &picture, &complaint);
    if (status == OPF_OK && exit_code == 127 && picture.length == 0)
        status = report_missing(severity, diags); /* found nothing to run only after the fork */
    else if (status == OPF_OK && exit_code != 0)
        status = report_failure(exit_code, opf_text_string(&complaint), severity, diags);
    if (status == OPF_OK)
        opf_text_add_n(out, picture.data, picture.length);
    opf_text_free(&picture);
    opf_text_free(&complaint);
    return status;
}
