/* The context behind the public API: options, diagnostics, what belongs to it. */
#ifndef OPF_API_CONTEXT_H
#define OPF_API_CONTEXT_H

#include "base/file.h"
#include "fuse/settings.h"
#include "ops/user.h"
#include "pattern/pattern.h"
#include "opfuse/opfuse.h"
#include "run/session.h"

/* A size given by the user: the axes of an input (`--shape`), a named size (`--dim`), or what costs assume (`--hint`). */
/* What decides about the compiled program is part of its image's key: image.c, print_options. */
typedef struct opf_options {
    const char *fuse;          /* as given */
    opf_policy policy;
    const char *groups_file;   /* --fuse=FILE */
    const char *cache, *machine;
    const char *database;      /* of schedules; "none"; NULL: the usual place */
    const char *schedule_file; /* pinned schedules; NULL: none */
    bool one_file;             /* what is built has all kernels in one file */
    opf_accuracy accuracy;
    opf_wide_sums wide_sums;   /* --wide-sums */
    int threads;               /* 0: the cores that the process may use */
    uint64_t seed;
    int max_depth;
    opf_rule_settings rules;   /* --rules=FILE */
    OPF_VEC(opf_pin) pins;
    const char *dump_after, *stop_after;
    bool time_passes, verbose;
} opf_options;

struct opf_context {
    opf_arena *arena;          /* option texts, arrays */
    opf_diags *diags;
    opf_arena *texts;          /* printed messages; renewed when messages are cleared */
    opf_options options;
    opf_patterns *patterns;    /* of the user */
    opf_user_ops *operators;   /* of the user; models of the context point to them */
    void (*on_text)(void *data, opf_text_kind kind, const char *text);
    void *text_data;
    void (*on_progress)(void *data, const char *what, int done, int total);
    void *progress_data;
    void (*on_fusion)(void *data, opf_fusion *fusion); /* for tests of localisation: changes groups behind everybody's back */
    void (*on_sources)(void *data, opf_fusion *fusion); /* the same, when its code is written: what was changed can be put back */
    void *fusion_data;
    const char *level;         /* for the same tests: opf_compile_options.level */
};

void opf_context_say(opf_context *context, opf_text_kind kind, const char *text); /* to on_text */
void opf_context_progress(void *context, const char *what, int done, int total); /* an opf_compile_options.progress */
opf_compile_options opf_context_compile_options(opf_context *context);
/* Is `format` "json"? OPF_ERROR_USAGE, reported, where it is neither that nor "text". */
opf_status opf_context_format(opf_context *context, const char *format, bool *json);
opf_status opf_context_no_format(opf_context *context, const char *format); /* reports it; OPF_ERROR_USAGE */
int opf_context_threads(const opf_context *context);

/* A tensor of the project as an array of the API; dims and data are the tensor's. */
opf_array opf_array_of(const opf_tensor *tensor, const char *name);
/* The reverse: a tensor in `arena` that shows the array's data. Reports "input" where type or shape is impossible. */
opf_status opf_array_tensor(const opf_tensor **out, const opf_array *array, opf_arena *arena, opf_diags *diags);
/* The whole string of a text, for opf_string_free. Empties the text. */
char *opf_text_take(opf_text *text);

/* npy.c */
opf_status opf_npy_read(opf_array *out, opf_context *context, const char *path);
opf_status opf_npy_write(opf_context *context, const opf_array *array, const char *path);

#endif
