/* Library kernels on concrete tensors. Private to src/eval. */
#ifndef OPF_EVAL_LIBRARY_H
#define OPF_EVAL_LIBRARY_H

#include "eval/stage.h"
#include "ops/library.h"

/* Runs the kernel; out[k] becomes the tensor of output k (NULL where it is left out). The values of the call's counts are
 * set in `symbols`, which is what job->symbols points to. Problems are reported at the node. */
opf_status opf_eval_run_library(const opf_eval_stages *job, const opf_library_call *library, int64_t *symbols, opf_tensor **out);

#endif
