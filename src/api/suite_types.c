/* Which element types a case has to do with: those of the stored inputs and outputs of its first data set. */
#include "api/suite.h"

uint64_t opf_suite_types(const opf_suite *suite, const opf_suite_case *of) {
    static const char *const kinds[] = {"input", "output"};
    uint64_t types = 0;
    opf_context *context = opf_context_new();
    for (size_t kind = 0; kind < OPF_COUNT(kinds); kind++)
        for (int i = 0;; i++) {
            opf_array array = {0};
            const char *path = opf_arena_printf(suite->arena, "%s/%s_%d.pb", of->sets[0], kinds[kind], i);
            if (!opf_file_exists(path)) break;
            bool numbers = opf_array_read(&array, context, path) == OPF_OK && opf_dtype_valid(array.dtype);
            types |= UINT64_C(1) << (numbers ? array.dtype : OPF_NO_DTYPE);
        }
    opf_context_free(context);
    return types;
}
