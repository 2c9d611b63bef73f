/* Reads models, writes them, reads what was written and writes it again: tool_api_rewrite FOLDER, a path a line on standard input.
 *
 * Model K (from 0) becomes FOLDER/K.onnx and FOLDER/K.again.onnx. A line a model: "K written", "K left" where the model is not taken
 * in the first place, or "K REASON" where it does not come back. One process for all, so that thousands of small models take seconds;
 * test/models/check_writer.py compares the files. */
#include <stdio.h>
#include <string.h>

#include "opfuse/opfuse.h"

enum { MOST_PATH = 4096 };

/* The first error, in one line. */
static void print_error(const opf_context *context) {
    for (size_t k = 0; k < opf_context_messages(context); k++) {
        opf_message message = opf_context_message(context, k);
        if (message.severity != OPF_ERROR) continue;
        printf(": %.*s", (int)strcspn(message.text, "\n"), message.text);
        return;
    }
}

static void visit(const char *path, const char *folder, int number) {
    char first[MOST_PATH], second[MOST_PATH];
    snprintf(first, sizeof first, "%s/%d.onnx", folder, number);
    snprintf(second, sizeof second, "%s/%d.again.onnx", folder, number);
    opf_context *context = opf_context_new();
    opf_model *model = NULL, *again = NULL;
    const char *problem = "left";
    if (opf_model_load(&model, context, path) == OPF_OK) {
        opf_context_clear_messages(context);
        problem = opf_model_save(model, first) != OPF_OK                ? "is not written"
                  : opf_model_load(&again, context, first) != OPF_OK    ? "cannot be read again"
                  : opf_model_save(again, second) != OPF_OK             ? "is not written a second time"
                                                                        : NULL;
    }
    printf("%d %s", number, problem ? problem : "written");
    if (problem && model) print_error(context);
    printf("\n");
    if (again) opf_model_free(again);
    if (model) opf_model_free(model);
    opf_context_free(context);
}

int main(int argc, char **argv) {
    char line[MOST_PATH];
    if (argc != 2) return 2;
    for (int number = 0; fgets(line, sizeof line, stdin); number++) {
        line[strcspn(line, "\n")] = 0;
        visit(line, argv[1], number);
    }
    return 0;
}
