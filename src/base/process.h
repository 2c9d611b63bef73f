/* Child processes: the C compiler, Graphviz. No shell is involved. */
#ifndef OPF_BASE_PROCESS_H
#define OPF_BASE_PROCESS_H

#include <stddef.h>

#include "base/diag.h"
#include "base/text.h"

typedef struct opf_process opf_process;

/* Starts argv[0] (searched in PATH), argv terminated by NULL. Standard input is empty, or `input` when not NULL.
 * Standard output and error are collected. Returns OPF_ERROR_SYSTEM where it cannot be started, without a report:
 * only the caller knows what the program was for. */
opf_status opf_process_start(opf_process **out, const char *const *argv, const char *input);
/* Waits; `*exit_code` is the exit status, or 128 + signal. Texts may be NULL. Frees the process. */
opf_status opf_process_wait(opf_process *process, int *exit_code, opf_text *standard_output, opf_text *standard_error);

#endif
