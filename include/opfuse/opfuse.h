/* opfuse: the public API. This header is the manual.
 *
 * A context holds options and diagnostics; a model is a file read and typed under the context's options; a session is a
 * model compiled for this machine. Objects of one context belong to one thread at a time; several contexts may live in
 * several threads. There is no global state.
 *
 *   opf_context *context = opf_context_new();
 *   opf_model *model;  opf_session *session;
 *   opf_context_set(context, "fuse", "best");
 *   if (opf_model_load(&model, context, "model.onnx") == OPF_OK && opf_session_new(&session, model) == OPF_OK) …
 *
 * Every call that can fail returns opf_status and leaves details in the context's diagnostics (opf_context_diagnostics).
 */
#ifndef OPFUSE_OPFUSE_H
#define OPFUSE_OPFUSE_H

#include <stddef.h>
#include <stdint.h>

#include "opfuse/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OPFUSE_VERSION "0.1.0"

typedef struct opf_context opf_context;
typedef struct opf_model opf_model;
typedef struct opf_session opf_session;

const char *opf_version(void);

/* ---- context ---- */

opf_context *opf_context_new(void); /* never NULL */
void opf_context_free(opf_context *context); /* models and sessions first */

/* Options, by the names of the command line without dashes; set before a model is loaded.
 *   fuse         none, tvm, best (default), or a file: groups as JSON, `explain --json` writes such
 *   db           database of schedules: a file, or none; default schedules.db in the cache's folder
 *   schedule     FILE of pinned schedules, before the database's
 *   cache        folder of compiled programs; default $OPFUSE_CACHE, $XDG_CACHE_HOME/opfuse, ~/.cache/opfuse
 *   machine      row of the machine table by name, or a file; default the row of this CPU
 *   accuracy     normal (default), tight or exact: which faster ways to form a sum are allowed, docs/numerics.md; exact: the same
 *                bits fused and unfused, on every machine, and in the evaluator
 *   threads      default the cores that the process may use
 *   seed         of made-up inputs, default 0
 *   dim          NAME=N, repeatable: the size of this name is N; the code is made for it
 *   shape        NAME=D,D,…, repeatable: the input has this shape; `?` leaves an axis open
 *   hint         NAME=N, repeatable: cost decisions and made-up inputs take N; other sizes stay right
 *   hint-shape   NAME=D,D,…, repeatable: the same for the axes of an input
 *   max-depth    most nodes of a group
 *   operators    FILE, repeatable: operators of the user's own, a line each
 *   patterns     FILE, repeatable: patterns of the user's own: nodes that become one kernel, stay apart, or run a kernel of the user's
 *   rules        FILE, repeatable: switches rules of fusion off, sets thresholds (docs/fusion-rules.md)
 *   dump-after, stop-after   a stage of the pipeline; calls that would go further return OPF_OK and NULL
 *   time-passes, verbose     0 or 1
 * OPF_ERROR_USAGE for an unknown name or a value that does not fit. */
opf_status opf_context_set(opf_context *context, const char *option, const char *value);

/* Operators of the user's own: lines of text in the language of docs/adding-an-operator.md, such as
 *   "Swoosh domain org.example since 1 T = float y = log(1 + exp(x - 4)) - 0.08 * x - 0.035"
 * Models that are loaded afterwards may use them like any other operator. All of the text is taken, or nothing: mistakes are
 * OPF_ERROR_INPUT, with line and column in the diagnostics. A built-in operator is replaced only where the line says so. */
opf_status opf_register_operator(opf_context *context, const char *text);

/* Patterns of the user's own, as text (docs/patterns.md), such as
 *   "pattern gemm_gelu prefer chain MatMul -> Add[input 1 rank = 1] -> Gelu"
 *   "pattern swoosh bind chain org.example::Swoosh kernel swoosh.c swoosh"
 * Models that are loaded afterwards are matched under every policy but none. Files that a text names lie beside the working folder.
 * All of the text is taken, or nothing: mistakes are OPF_ERROR_INPUT, with line and column in the diagnostics. */
opf_status opf_register_pattern(opf_context *context, const char *text);

/* One diagnostic; texts live until the next call that clears or adds diagnostics. */
typedef struct opf_message {
    opf_severity severity;
    const char *code, *text;   /* class, and the whole printed form (docs/errors.md) */
    const char *file, *node, *op, *message, *hint; /* parts; may be NULL */
    int node_index;            /* -1 for none */
} opf_message;
size_t opf_context_messages(const opf_context *context);
opf_message opf_context_message(const opf_context *context, size_t index);
void opf_context_clear_messages(opf_context *context);

/* Texts that calls produce on the way: dumps that dump-after asks for, times that time-passes asks for, remarks under
 * verbose; and progress of long work. NULL switches off. */
typedef enum opf_text_kind { OPF_TEXT_DUMP, OPF_TEXT_TIME, OPF_TEXT_REMARK } opf_text_kind;
void opf_context_on_text(opf_context *context, void (*write)(void *data, opf_text_kind kind, const char *text), void *data);
void opf_context_on_progress(opf_context *context, void (*progress)(void *data, const char *what, int done, int total), void *data);

/* ---- tensors ---- */

typedef enum opf_array_kind {
    OPF_ARRAY_TENSOR,          /* a tensor; also an optional tensor that is there */
    OPF_ARRAY_SEQUENCE,        /* any number of tensors; also an optional sequence that is there */
    OPF_ARRAY_ABSENT           /* an optional that is not there */
} opf_array_kind;

/* A tensor, sequence or optional at the border of the API. dtype numbers are ONNX's TensorProto.DataType. */
typedef struct opf_array {
    const char *name;          /* NULL where it does not matter */
    int dtype, rank;
    const int64_t *dims;
    const void *data;          /* row-major; strings: const char *const *, terminated UTF-8 */
    opf_array_kind kind;
    size_t n_items;            /* sequences: tensors of `dtype`; rank, dims and data say nothing */
    const struct opf_array *items;
} opf_array;

const char *opf_array_dtype_name(int dtype);
int64_t opf_array_elements(const opf_array *array);            /* -1 where the product overflows */
double opf_array_get(const opf_array *array, int64_t index);   /* a number of any type, row-major */
/* Files of tensors: .npy and .pb (TensorProto), by their ending. The array and its bytes belong to the context until it is
 * freed. */
opf_status opf_array_read(opf_array *out, opf_context *context, const char *path);
/* The whole file or nothing. .npy: bfloat16 and float8 become float32, 4- and 2-bit integers 8-bit, strings <U. */
opf_status opf_array_write(opf_context *context, const opf_array *array, const char *path);
/* The same numbers in another element type, rounded as that type rounds. */
opf_status opf_array_convert(opf_array *out, opf_context *context, const opf_array *array, int dtype);

/* Any bytes into a file: the whole of it or nothing. */
opf_status opf_file_save(opf_context *context, const char *path, const void *data, size_t size);

/* ---- models ---- */

opf_status opf_model_load(opf_model **out, opf_context *context, const char *path);
opf_status opf_model_load_memory(opf_model **out, opf_context *context, const void *data, size_t size, const char *name);
void opf_model_free(opf_model *model);

/* Inputs whose values decide a size, an axis or an order (axes, shapes, pads, k …) are bound by value: for each set of their
 * values a variant of the program is made. Ports of a model that needs such values may have unknown types. */
typedef struct opf_port {
    const char *name;
    int dtype, rank;           /* 0 and -1: unknown until values are bound; sequences: of the elements, -1: unknown or mixed */
    const int64_t *dims;       /* -1: unknown until it runs */
    const char *const *dim_names; /* expression of symbols, or number, per axis */
    int by_value;              /* an input that is bound by value; others may turn up once its value is there */
    int sequence, optional;    /* it is a sequence; it may be absent */
    const struct opf_map_keys *map_keys; /* internal: the model's file promises maps of these keys; NULL: no maps */
} opf_port;
size_t opf_model_inputs(const opf_model *model);
size_t opf_model_outputs(const opf_model *model);
opf_port opf_model_input(const opf_model *model, size_t index);
opf_port opf_model_output(const opf_model *model, size_t index);

/* The file of an input or output: for a tensor as opf_array_read and opf_array_write; a .pb of a sequence is a SequenceProto, of an
 * optional an OptionalProto; where the file of the model promises maps, a .pb of a sequence of maps is read too; NAME.npy of a sequence stands for NAME.0.npy, NAME.1.npy and so on, of an absent optional for no
 * file. `port` is one that the model describes. */
opf_status opf_port_read(opf_array *out, opf_context *context, const opf_port *port, const char *path);
opf_status opf_port_write(opf_context *context, const opf_port *port, const opf_array *array, const char *path);

/* The same model with every input that is needed by value bound to the value in `inputs` (one per input; others are not
 * looked at): for calls that have no inputs (explain, graph, build). It is freed before `model`. Where a value is missing
 * (data NULL), that is OPF_ERROR_INPUT and a message that names the input. */
opf_status opf_model_bind(opf_model **out, opf_model *model, const opf_array *inputs);

/* Makes an input tensor that suits input `index` for sizes chosen so far: kind "zeros", "ones", "uniform:LO:HI", or NULL
 * for seeded values in a natural range (integers stay inside what they index). Sizes: pins, else shapes given, else
 * leading 1 and others 64. An input that is bound by value is never made up without a kind. */
opf_status opf_model_make_input(opf_array *out, opf_model *model, size_t index, const char *kind);

/* ---- sessions ---- */

opf_status opf_session_new(opf_session **out, opf_model *model); /* compiles, or finds it in the cache */
void opf_session_free(opf_session *session);
/* Inputs in the order of opf_model_input. Where some are bound by value, the variant for these values is compiled when they
 * are first met, and kept; so is one for inputs with empty axes that the program for all other sizes is not made for. outputs[i] is filled; its bytes, texts and items belong to the session until its next run. A run takes
 * memory for strings, sequences and sizes without a bound as it goes; later runs use it again. */
opf_status opf_session_run(opf_session *session, const opf_array *inputs, opf_array *outputs);

/* Called around each step of every run from now on: `begin` 1 before, 0 after; `step` counts the steps of the program, `name`
 * holds the nodes that it computes and lives as long as the session. Two clock readings and a call a step; NULL switches off,
 * and then it costs nothing. From the thread that runs; steps that would run side by side run one after another meanwhile. */
void opf_session_on_step(opf_session *session, void (*on_step)(void *data, int step, const char *name, int begin), void *data);

/* ---- reports: text into a string that the caller frees with opf_string_free ---- */

void opf_string_free(char *string);
opf_status opf_model_explain(opf_model *model, const char *format, char **out);     /* "text", "json" */
/* Why two nodes, named as in the model or by opf_model_explain, are or are not one kernel: rule, values, what stands in the way,
 * bytes lost, what would allow it, and what comes of it where that can be tried. */
opf_status opf_model_why(opf_model *model, const char *a, const char *b, const char *format, char **out);
opf_status opf_model_trace(opf_model *model, const char *format, char **out);  /* how the groups came to be, step by step */
opf_status opf_model_memory(opf_model *model, const char *format, char **out); /* the workspace over time; what each fusion saved */
/* Where the context's patterns match: each match and what becomes of it; for a near miss the node where it stopped, and why. */
opf_status opf_model_match(opf_model *model, const char *format, char **out);
/* What would be gained if operators of refused uses were written out in smaller ones: each kind is tried. */
opf_status opf_model_try_decompose(opf_model *model, const char *format, char **out);
/* What has become of the fusion since `old`, a file that opf_model_explain wrote as "json": of another model, exporter, opset,
 * policy or version. OPF_ERROR_MISMATCH, with the report, where nodes that were one kernel are so no longer. */
opf_status opf_model_compare(opf_model *model, const char *old, const char *format, char **out);
opf_status opf_model_graph(opf_model *model, const char *format, int after, char **out); /* "dot", "svg"; after 0: as read, 1: groups as clusters */
/* One HTML page that needs no other file and no network: the graph as read and fused, every kernel with its formula, bytes and
 * C, the workspace over time, refused uses with their reasons. Graphviz lays out the graphs; without it they stand in rows. */
opf_status opf_model_report(opf_model *model, char **out);
/* The same page with times: measured as opf_model_profile does, in the picture of a roofline, in a table, and with each kernel. */
opf_status opf_model_report_profile(opf_model *model, const opf_array *inputs, int warmup, int runs, char **out);
/* The model as read, as one ONNX file: functions inlined, constants inside, types found where none were given. */
opf_status opf_model_save(opf_model *model, const char *path);
/* The model as it is fused, as one ONNX file: each group of several nodes is a model-local function of the domain
 * opfuse.groups whose body are its nodes, called once. Any viewer shows the groups, any runtime runs the file. */
opf_status opf_model_save_fused(opf_model *model, const char *path);
/* Reads and types a model and tells every problem at once, what each symbol is determined by, which sizes must agree.
 * Compiles nothing. `out` is set also where the model has problems (then the status says so). "text", "json". */
opf_status opf_check(opf_context *context, const char *path, const char *format, char **out);
/* The operators: opfuse's own, and those of the context (NULL: none). "text", "json", "markdown". */
opf_status opf_operators(opf_context *context, const char *format, char **out);
/* The rules that decide about every use of a value: what they say, and what would allow what they refuse. Fields in braces are
 * filled in with the nodes at hand. "text", "json", "markdown" (docs/fusion-rules.md). */
opf_status opf_fusion_rules(opf_context *context, const char *format, char **out);
opf_status opf_doctor(opf_context *context, char **out);

/* Compares generated code with the evaluator (and with `expected` outputs where not NULL) on these inputs.
 * OPF_ERROR_MISMATCH where it does not hold. tolerance: "fp32", "fp16", "int8" or NULL for rtol/atol. */
typedef struct opf_verify_options {
    int all;                   /* every value stored between kernels, not only outputs */
    const char *tolerance;
    double rtol, atol;         /* < 0: defaults 1e-3 and 1e-5 */
    const opf_array *expected; /* one per output, or NULL */
    int bounds;                /* each group on the evaluator's own inputs: its error beside a bound computed from its stages;
                                  a mismatch where one is beyond it (docs/numerics.md) */
    int bisect;                /* the same, and who is at fault: group, operator, property, remedy. Compiles again */
} opf_verify_options;
opf_status opf_model_verify(opf_model *model, const opf_array *inputs, const opf_verify_options *options, char **report);

/* Values of a run by name: every value that a model stores between kernels, in order, its outputs last; or the tensors of a
 * folder's .npy and .pb files, of whatever engine. Tensors of numbers alone. */
typedef struct opf_values opf_values;
opf_status opf_values_run(opf_values **out, opf_model *model, const opf_array *inputs);
opf_status opf_values_read(opf_values **out, opf_context *context, const char *folder); /* bytes belong to the context */
size_t opf_values_count(const opf_values *values);
opf_array opf_values_at(const opf_values *values, size_t index);
void opf_values_free(opf_values *values); /* NULL is fine */
/* Those of one name side by side, in the order of `a`; the first that differs is marked. rtol, atol < 0: 1e-3 and 1e-5.
 * OPF_ERROR_MISMATCH where one differs, or no name is common. */
opf_status opf_values_compare(opf_context *context, const opf_values *a, const opf_values *b, double rtol, double atol, char **report);

/* Least and largest number, NaN and infinities of every value over data sets, by the evaluator; says where float16 would overflow. */
typedef struct opf_ranges opf_ranges;
opf_status opf_ranges_new(opf_ranges **out, opf_model *model);
opf_status opf_ranges_add(opf_ranges *ranges, const opf_array *inputs);
void opf_ranges_print(const opf_ranges *ranges, char **report);
void opf_ranges_free(opf_ranges *ranges); /* NULL is fine; before the model */

/* Runs a conformance suite: each folder below `folder` that holds model.onnx and test_data_set_K (input_I.pb, output_I.pb) is
 * a case, run under the policies none and best through generated code (many cases a compilation, optimised little) and
 * compared with the stored outputs; bfloat16 and narrower types may be one step off. Batches run in processes of their own
 * (fork): call it from a program of one thread. The report has a line a failure and a table by verdict and by class of the
 * first error. OPF_ERROR_MISMATCH where a case fails, or where one of the exceptions holds. */
typedef struct opf_suite_options {
    const char *exceptions;    /* file of cases that are known to fail: NAME REASON, a line each; may be NULL */
    const char *junit;         /* file to write the results into as JUnit's XML; may be NULL */
    int jobs;                  /* processes at once; 0: the cores that the process may use */
    double rtol, atol;         /* < 0: defaults 1e-3 and 1e-5 */
} opf_suite_options;
opf_status opf_suite_verify(opf_context *context, const char *folder, const opf_suite_options *options, char **report);

/* A compiled model to take away; it needs libm and nothing of opfuse, keeps no state and calls no allocator. The form follows
 * from `path`:
 *   FILE.so     shared object with the constants inside, and FILE.h
 *   FILE.a      static library likewise: nothing but the interface is seen from outside
 *   FOLDER/     plain C (or a folder that exists): model.c, model.h, model.weights, selftest.c with its data, Makefile
 * The functions are named after the file or folder. Each file is written whole or not at all. */
typedef struct opf_build_options {
    int embed_weights;         /* FOLDER/: the constants go into the object, by the assembler's .incbin */
    int64_t max_ram;           /* > 0: OPF_ERROR_INPUT where workspace, inputs and outputs of a run take more bytes; says what does */
    int check;                 /* runs every group once on seeded and on special values beside the evaluator; one that is beyond its
                                  bound is taken apart, and the report says so */
    const opf_array *inputs;   /* of the self-test, one per input; they decide which sizes are told. NULL: made up */
    const char *targets;       /* rows of the machine table, "x86-64-v4,x86-64-v3,generic": a version for each, the best first; the processor
                                  decides among them at run time. NULL: one, for the context's machine; one name: one, for that */
} opf_build_options;
/* report: NULL, or gets the sizes of what was made, as text. */
opf_status opf_model_build_as(opf_model *model, const char *path, const opf_build_options *options, char **report);
opf_status opf_model_build(opf_model *model, const char *path); /* with no options */

/* Wall times in milliseconds, runs of the model and of its unfused build (policy none) in turns. Arrays of `runs`. */
opf_status opf_model_bench(opf_model *model, const opf_array *inputs, int warmup, int runs, double *fused_ms, double *unfused_ms);

/* Where the time of a run goes: `runs` runs with a clock around each step, in turns with as many without. Any number of forms of
 * the one measurement: formats ends in NULL, texts[i] gets formats[i]: "text" (a table, dearest step first, and a sentence for
 * each step far from its limit), "json" (docs/profiling.md), "trace" (events for the viewers of Chrome and Perfetto), "folded"
 * (stacks for flame graphs). Free each with opf_string_free. */
opf_status opf_model_profile(opf_model *model, const opf_array *inputs, int warmup, int runs, const char *const *formats, char **texts);

/* ---- tuning (docs/tuning.md) ---- */

/* Schedules: how each kernel is computed. The text names every choice of every distinct kernel, in the form that the option
 * "schedule" reads. */
opf_status opf_model_schedules(opf_model *model, char **out);

/* For each distinct kernel of the model, the dearest first, candidates are compiled, checked against the heuristic's numbers and
 * timed on what the kernel reads in a run on these inputs; what is faster goes into the database of the option "db" at once, and
 * sessions and builds use it from then on. Processes are started (fork): call it from a program of one thread. */
typedef struct opf_tune_options {
    double seconds;            /* in all; what is under way then is finished */
    int (*stop)(void *data);   /* asked between two measurements: not 0 ends it early, and OPF_OK it is. NULL: nobody stops it */
    void *stop_data;
} opf_tune_options;
opf_status opf_model_tune(opf_model *model, const opf_array *inputs, const opf_tune_options *options, char **report);

/* The database as text, and from such text: the faster of two for one kernel, CPU and number of threads stays. */
opf_status opf_schedules_export(opf_context *context, const char *path);
opf_status opf_schedules_import(opf_context *context, const char *path, char **report);

#ifdef __cplusplus
}
#endif
#endif
