/* opfuse report: one HTML page about a model. */
#include <string.h>

#include "tool/tool.h"

int cmd_report(tool *t) {
    if (!t->output) {
        complain(t, "usage", "usage: opfuse report MODEL -o FILE.html; -o is missing");
        return EXIT_USAGE;
    }
    opened o;
    char *page = NULL;
    opf_status status = model_open_bound(t, &o);
    if (status != OPF_OK) return exit_status(status);
    status = opf_model_report(o.bound, &page);
    if (page) status = opf_file_save(t->context, t->output, page, strlen(page));
    tell(t);
    opf_string_free(page);
    model_close(&o);
    return exit_status(status);
}
