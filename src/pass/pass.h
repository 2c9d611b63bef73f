/* Passes: graph → graph. One file, one pass; one row of the table, which says under which policies it runs.
 * docs/adding-a-pass.md tells how to add one. */
#ifndef OPF_PASS_PASS_H
#define OPF_PASS_PASS_H

#include "ops/op.h"

/* A policy of fuse/fuse.h as a bit: 1 << policy. */
enum { OPF_PASS_NONE = 1 << 0, OPF_PASS_TVM = 1 << 1, OPF_PASS_BEST = 1 << 2, OPF_PASS_ALL = OPF_PASS_NONE | OPF_PASS_TVM | OPF_PASS_BEST };

typedef struct opf_pass {
    const char *name;  /* as in --dump-after=NAME */
    const char *what;  /* one line for documents */
    unsigned policies; /* OPF_PASS_… */
    /* Changes a typed graph (sub-graphs are visited one by one) and keeps it typed, sorted and checked. What it takes out
     * goes to module->removed; where it does not do what one might expect of it, it leaves a note. */
    opf_status (*run)(opf_graph *graph);
} opf_pass;

/* The table, in the order in which passes run. */
size_t opf_pass_count(void);
const opf_pass *opf_pass_at(size_t index);

/* Runs one pass over the main graph and all sub-graphs, and the checker behind it. The module must be typed. */
opf_status opf_pass_run(const opf_pass *pass, opf_module *module);
/* Runs all passes of a policy (0 none, 1 tvm, 2 best). */
opf_status opf_passes_run(opf_module *module, unsigned policy);

#endif
