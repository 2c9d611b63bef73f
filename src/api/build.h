/* `build`: a compiled model to take away. */
#ifndef OPF_API_BUILD_H
#define OPF_API_BUILD_H

#include "api/session.h"

/* One build. */
typedef struct opf_building {
    opf_model *model;
    opf_session *session;
    opf_arena *arena;
    const char *path;          /* as the user wrote it */
    const char *folder;        /* scratch */
    const opf_build_options *options;
    opf_library library;
    opf_text data;             /* constants in the order of the program's weights, then the packed ones */
    const opf_array *inputs;   /* given or made up: sizes, and the self-test */
    opf_text remarks;          /* for the report */
    int64_t workspace, ports;  /* bytes at these sizes: in one thread; of inputs and outputs */
} opf_building;

/* The forms: what -o names decides. */
opf_status opf_build_shared(opf_building *b);  /* FILE.so and FILE.h */
opf_status opf_build_archive(opf_building *b); /* FILE.a and FILE.h */
opf_status opf_build_plain(opf_building *b);   /* a folder of plain C */

/* Sizes at the build's inputs; fails where they are more than the options allow. */
opf_status opf_build_measure(opf_building *b);
/* Runs every group beside the evaluator and takes apart what fails; the session may be another one then. */
opf_status opf_build_check(opf_building *b);
/* What came out, with its sizes, for the user. */
void opf_build_report(const opf_building *b, opf_text *out);

#endif
