/* The table of src/ops/library.c once more, from the prelude as it is under OPF_EXACT. */
#define OPF_EXACT 1
#include "eval/library_exact.h"

#include <string.h>

#include "opf_lib_bits.h"
#include "opf_lib_det.h"
#include "opf_lib_list.h"
#include "opf_lib_match.h"
#include "opf_lib_nms.h"
#include "opf_lib_recurrent.h"
#include "opf_lib_running.h"
#include "opf_lib_scatter.h"
#include "opf_lib_select.h"
#include "opf_lib_svm.h"
#include "opf_lib_text.h"
#include "opf_lib_topk.h"
#include "opf_lib_trees.h"
#include "opf_lib_unique.h"

#define KERNEL_FUNCTION(name, file, why)                                                                               \
    static void run_##name(const opf_lib_args *args) { opf_lib_##name(args); }
OPF_LIBRARY_KERNELS(KERNEL_FUNCTION)

#define KERNEL_ROW(name, file, why) {#name, run_##name},
static const struct { const char *name; void (*run)(const opf_lib_args *args); } kernels[] = {OPF_LIBRARY_KERNELS(KERNEL_ROW)};

void (*opf_library_exact(const opf_library_kernel *kernel))(const opf_lib_args *args) {
    for (size_t i = 0; i < OPF_COUNT(kernels); i++)
        if (strcmp(kernels[i].name, kernel->name) == 0) return kernels[i].run;
    return kernel->run;
}
