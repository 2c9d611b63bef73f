/* opfuse ranges: what each value takes over data sets. */
#include "tool/tool.h"

int cmd_ranges(tool *t) {
    opf_model *model = NULL;
    opf_ranges *ranges = NULL;
    char **folders = NULL, *report = NULL;
    size_t count = 0;
    opf_status status = model_open(t, &model);
    if (status != OPF_OK) return exit_status(status);
    status = data_sets(t, &folders, &count);
    if (status == OPF_OK) status = opf_ranges_new(&ranges, model);
    for (size_t i = 0; i < count && status == OPF_OK; i++) {
        feed f;
        status = feed_fill(t, &f, model, folders[i]);
        if (status == OPF_OK) status = opf_ranges_add(ranges, f.inputs);
        feed_free(&f);
    }
    tell(t);
    if (status == OPF_OK) opf_ranges_print(ranges, &report);
    if (report) print(report);
    opf_string_free(report);
    opf_ranges_free(ranges);
    data_sets_free(folders, count);
    opf_model_free(model);
    return exit_status(status);
}
