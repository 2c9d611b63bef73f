/* The corridor as one table: what runs, in which order, under which policy. --dump-after, --stop-after and --time-passes
 * follow from it. */
#ifndef OPF_API_PIPELINE_H
#define OPF_API_PIPELINE_H

#include "api/model.h"
#include "tune/catalog.h"

/* A model on its way from file to shared object. What a stage of the table has made is set, the rest is NULL. */
typedef struct opf_pipeline {
    opf_model *model;
    opf_context *context;
    opf_policy policy;
    bool tap_all;              /* plan.h */
    bool one_file;             /* all kernels will stand in one file (tune/catalog.h) */
    bool misses;               /* near misses of patterns are noted */
    bool silent;               /* no dumps, no times: a second pipeline for the same call */
    void (*on_program)(void *data, opf_program *program); /* NULL, or leaves kernels out before the code is written */
    void *program_data;
    opf_machine machine;
    opf_module *module;
    opf_matches *matches;      /* of the context's patterns; NULL: there are none */
    opf_catalog *catalog;      /* NULL: there is none */
    opf_fusion *fusion;
    const opf_nest *const *nests;
    opf_program *program;
    opf_sources *sources;
    const char *object;
    bool typed;                /* the module came typed: it is the model's own reading */
    bool stopped;              /* by --stop-after, before the stage that was asked for */
} opf_pipeline;

enum opf_pipeline_end { OPF_TO_GRAPH, OPF_TO_GROUPS, OPF_TO_PROGRAM, OPF_TO_SOURCES, OPF_TO_OBJECT };

/* How the pipeline fuses: what its context asks for. */
opf_fuse_options opf_pipeline_fuse_options(const opf_pipeline *pipeline);

/* Runs the table up to `end`, or further where a dump asks for it. Frees nothing: opf_pipeline_free does. */
opf_status opf_pipeline_run(opf_pipeline *pipeline, enum opf_pipeline_end end);
void opf_pipeline_free(opf_pipeline *pipeline); /* what it holds, not itself */

/* Runs the model's pipeline up to `end` under the context's policy and hands over what `print` makes of it; nothing where it was
 * stopped before. A text comes with OPF_ERROR_MISMATCH too: that is what it tells. */
typedef opf_status (*opf_pipeline_printer)(const opf_pipeline *pipeline, bool json, void *data, opf_text *out);
opf_status opf_pipeline_report(opf_model *model, enum opf_pipeline_end end, const char *format, opf_pipeline_printer print, void *data, char **out);

/* Where the pipelines of this context take schedules from. Texts in the arena. */
opf_catalog_options opf_pipeline_catalog(opf_context *context, opf_arena *arena);
void opf_matches_text(const opf_pipeline *pipeline, opf_text *out); /* match.c */

bool opf_pipeline_has(const char *stage);
const char *opf_pipeline_names(opf_arena *arena); /* "one of read, type, …" */

#endif
