/* The command line: one table of verbs, one of options, one function a verb. Uses the public API alone. */
#ifndef OPF_TOOL_TOOL_H
#define OPF_TOOL_TOOL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "opfuse/opfuse.h"

/* Exit statuses, docs/design.md section 8. */
enum { EXIT_TRUE = 0, EXIT_ERROR = 1, EXIT_USAGE = 2, EXIT_MISMATCH = 3 };

/* One call of the tool. */
typedef struct tool {
    const struct verb *verb;
    opf_context *context;
    const char *model;         /* path; NULL until given */
    const char *second, *against; /* diff */
    /* inputs */
    const char **inputs;       /* NAME=FILE|zeros|ones|uniform:LO:HI, as given */
    size_t n_inputs;
    const char *data;
    /* results */
    const char *output, *format, *tolerance;
    double rtol, atol;         /* < 0: the default */
    const char *suite, *junit, *exceptions;
    int jobs;                  /* 0: as many as there are cores */
    int warmup, runs;
    bool profile;              /* report: with times */
    const char *targets;       /* --target */
    bool embed_weights, check_groups;
    bool bounds, bisect;
    int64_t max_ram;           /* bytes; 0: no limit */
    const char *why_a, *why_b, *diff; /* explain */
    bool trace, memory, try_decompose, schedules;
    double budget;             /* tune: seconds */
    const char *export_to, *import_from;
    bool json, markdown, all, before, after;
    /* everywhere */
    bool quiet, verbose, diag_json, help, version;
    size_t told;               /* messages printed so far */
    bool progress_shown;
} tool;

typedef struct verb {
    const char *name, *arguments, *summary;
    unsigned groups;           /* option groups that it takes */
    int (*run)(tool *t);       /* exit status */
} verb;
extern const verb verbs[];
extern const size_t n_verbs;
const verb *verb_find(const char *name);

/* ---- options.c ---- */

enum { FOR_ALL = 1, FOR_INPUTS = 2, FOR_COMPILING = 4, FOR_RUN = 8, FOR_VERIFY = 16, FOR_JSON = 32, FOR_EXPLAIN = 64, FOR_BUILD = 128, FOR_BENCH = 256, FOR_GRAPH = 512, FOR_OPS = 1024, FOR_PROFILE = 2048, FOR_REPORT = 4096, FOR_DIFF = 8192, FOR_TUNE = 16384 };

/* Looks for --diag=json alone: how messages are to look holds for those about the verb and the options before it, too. */
void options_read_diag(tool *t, int count, char **arguments);
/* Reads the arguments behind the verb. Prints what is wrong; exit status, 0 for none. */
int options_read(tool *t, int count, char **arguments);
void options_help(const verb *v); /* NULL: of all verbs */
/* The table of options, row by row, for what is made from it. False behind the last one. */
typedef struct option_text { const char *name, *argument, *help; unsigned groups; } option_text;
bool options_at(size_t index, option_text *out);

/* ---- manual.c: man pages (in scdoc's language) and completions, made from the tables; exit status ---- */

int print_manual(const tool *t, const char *page);      /* "opfuse", or a verb */
int print_completion(const tool *t, const char *shell); /* "bash", "zsh", "fish" */

/* ---- output.c ---- */

/* Results go to standard output, everything else to standard error. */
void print(const char *text);
void printf_out(const char *format, ...) __attribute__((format(printf, 1, 2)));
void print_json(json_t *value); /* takes over the reference */
/* Flushes; EXIT_ERROR with a sentence where standard output could not take all of it. */
int finish_output(int status);
void tell(tool *t);             /* the context's new messages */
void complain(const tool *t, const char *code, const char *format, ...) __attribute__((format(printf, 3, 4)));/* an error of the tool's own */
void note(const tool *t, const char *format, ...) __attribute__((format(printf, 2, 3)));     /* unless -q */
int exit_status(opf_status status);
void listen(tool *t);           /* dumps, times, remarks and progress of the context */

/* ---- data.c ---- */

/* A model with the inputs that the call gives or leaves to be made. */
typedef struct feed {
    opf_model *model;
    size_t n_inputs, n_outputs;
    opf_array *inputs;
    bool *made;                /* per input: made up, without a word about it from the user */
    opf_array *expected;       /* data == NULL: not there */
    bool has_expected;
} feed;

opf_status model_open(tool *t, opf_model **out);
/* Folders with data sets below (or at) --data, in order. Without --data: one entry, NULL. */
opf_status data_sets(tool *t, char ***folders, size_t *count);
void data_sets_free(char **folders, size_t count);
opf_status feed_fill(tool *t, feed *f, opf_model *model, const char *data_set);
/* From the first data set, or none where the call names none. `told`: what is made up has been told before. */
opf_status feed_first(tool *t, feed *f, opf_model *model, bool told);
void feed_free(feed *f);
/* Opens the model for verbs that run nothing: the sizes of given inputs become hints, the values of those that are bound by
 * value go in. model_close frees both. */
typedef struct opened { opf_model *loaded, *bound; } opened; /* bound: loaded itself, or its variant for the values given */
opf_status model_open_bound(tool *t, opened *out);
void model_close(opened *o);

bool ends_in(const char *path, const char *ending);

/* "[1,3,64,64]" into a buffer. */
typedef struct shape_text { char text[16 * 22]; } shape_text;
shape_text shape_of(const opf_array *array);

/* ---- the verbs ---- */

int cmd_run(tool *t);
int cmd_verify(tool *t);
int cmd_check(tool *t);
int cmd_explain(tool *t);
int cmd_match(tool *t);
int cmd_build(tool *t);
int cmd_bench(tool *t);
int cmd_diff(tool *t);
int cmd_ranges(tool *t);
int cmd_profile(tool *t);
int cmd_tune(tool *t);
int cmd_graph(tool *t);
int cmd_report(tool *t);
int cmd_ops(tool *t);
int cmd_rules(tool *t);
int cmd_doctor(tool *t);

#endif
