/* `build`: a compiled model to take away, in one version or in several, each for a row of the machine table. */
#ifndef OPF_API_BUILD_H
#define OPF_API_BUILD_H

#include "api/session.h"

/* The program for one machine. */
typedef struct opf_build_version {
    const char *target;          /* as opf_context_set "machine" takes it */
    opf_session *session;
    opf_library_version named;   /* where there are several */
    int64_t *data_offsets;       /* of its weights in the data */
    int64_t packed_offset;
    int64_t own_bytes;           /* of the data that no version before it has */
    int64_t workspace;           /* bytes at the build's inputs, in one thread */
} opf_build_version;

/* One build. */
typedef struct opf_building {
    opf_model *model;
    opf_arena *arena;
    const char *path;          /* as the user wrote it */
    const char *folder;        /* scratch */
    const opf_build_options *options;
    opf_build_version *versions;
    size_t n_versions;
    opf_library library;       /* of the whole */
    opf_text data;             /* constants: of each version its weights, then the packed ones; what is there already is not put in again */
    const opf_array *inputs;   /* given or made up: sizes, and the self-test */
    opf_text remarks;          /* for the report */
    int64_t ports;             /* bytes of inputs and outputs at these sizes */
} opf_building;

/* Is this the end of the path, such as ".so", with a name in front of it? */
bool opf_build_ends_in(const char *path, const char *ending);
/* The first version's program speaks for all in what callers see. */
const opf_program *opf_build_program(const opf_building *b);
/* The library as it is emitted for one version. */
opf_library opf_build_library(const opf_building *b, const opf_build_version *version);

/* build_versions.c: the versions that `targets` asks for, best first, each with its session; refuses a list of which one is never chosen. Leaves
 * no version where a pipeline was stopped. */
opf_status opf_build_versions(opf_building *b, const char *targets);
void opf_build_versions_free(opf_building *b);
/* build_data.c: the block of constants. */
void opf_build_gather(opf_building *b);

/* The forms: what -o names decides. */
opf_status opf_build_object(opf_building *b, bool archive); /* FILE.so or FILE.a, and FILE.h: build_object.c */
opf_status opf_build_plain(opf_building *b);                /* a folder of plain C: build_plain.c */

/* Sizes at the build's inputs; fails where they are more than the options allow. */
opf_status opf_build_measure(opf_building *b);
/* Runs every group beside the evaluator and takes apart what fails; the version's session may be another one then. */
opf_status opf_build_check(opf_building *b, opf_build_version *version);
/* What came out, with its sizes, for the user. */
void opf_build_report(const opf_building *b, opf_text *out);

#endif
