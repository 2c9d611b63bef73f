/* The table of options: what they are called, which verbs take them, what they set. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/tool.h"

typedef struct option option;
struct option {
    const char *name;          /* "--input"; one letter with one dash */
    const char *argument;      /* NULL: takes none */
    unsigned groups;
    const char *help;
    /* false: the argument does not fit. NULL: an option of the context (its name behind the dashes). */
    bool (*set)(tool *t, const char *argument);
};

/* ---- setters ---- */

static bool add_input(tool *t, const char *argument) {
    const char *equals = strrchr(argument, '=');
    if (!equals || !equals[1]) return false;
    const char **grown = realloc(t->inputs, (t->n_inputs + 1) * sizeof *grown);
    if (!grown) return false;
    t->inputs = grown;
    t->inputs[t->n_inputs++] = argument;
    return true;
}

static bool set_number(double *out, const char *argument) {
    char *end;
    *out = strtod(argument, &end);
    return end != argument && !*end && *out >= 0;
}

static bool set_count(int *out, const char *argument, long least) {
    char *end;
    errno = 0;
    long value = strtol(argument, &end, 10);
    if (errno || end == argument || *end || value < least || value > 10000000) return false;
    *out = (int)value;
    return true;
}

static bool one_of(const char *argument, const char *const *choices) {
    for (; *choices; choices++)
        if (strcmp(argument, *choices) == 0) return true;
    return false;
}

static bool set_format(tool *t, const char *argument) {
    t->format = argument;
    return one_of(argument, (const char *const[]){"npy", "pb", NULL});
}
static bool set_tolerance(tool *t, const char *argument) {
    t->tolerance = argument;
    return one_of(argument, (const char *const[]){"fp32", "fp16", "int8", NULL});
}
static bool set_diag(tool *t, const char *argument) {
    t->diag_json = strcmp(argument, "json") == 0;
    return one_of(argument, (const char *const[]){"json", "text", NULL});
}
static bool set_data(tool *t, const char *argument) { return *(t->data = argument) != '\0'; }
static bool set_output(tool *t, const char *argument) { return *(t->output = argument) != '\0'; }
static bool set_rtol(tool *t, const char *argument) { return set_number(&t->rtol, argument); }
static bool set_atol(tool *t, const char *argument) { return set_number(&t->atol, argument); }
static bool set_warmup(tool *t, const char *argument) { return set_count(&t->warmup, argument, 0); }
static bool set_suite(tool *t, const char *argument) { return *(t->suite = argument) != '\0'; }
static bool set_junit(tool *t, const char *argument) { return *(t->junit = argument) != '\0'; }
static bool set_exceptions(tool *t, const char *argument) { return *(t->exceptions = argument) != '\0'; }
static bool set_jobs(tool *t, const char *argument) { return set_count(&t->jobs, argument, 1); }
static bool set_runs(tool *t, const char *argument) { return set_count(&t->runs, argument, 1); }
/* Bytes, or with K, M or G behind them. */
static bool set_max_ram(tool *t, const char *argument) {
    static const char units[] = "KMG";
    char *end;
    errno = 0;
    long long value = strtoll(argument, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (errno || end == argument || (*end && (!unit || end[1])) || value < 1 || value > INT64_MAX >> shift) return false;
    t->max_ram = (int64_t)value << shift;
    return true;
}
/* Seconds, or minutes with m behind them. */
static bool set_budget(tool *t, const char *argument) {
    char *end;
    t->budget = strtod(argument, &end);
    if (end == argument || !(t->budget > 0 && t->budget < 1e7)) return false;
    if (*end == 'm') t->budget *= 60;
    return !*end || ((*end == 's' || *end == 'm') && !end[1]);
}
static bool set_export(tool *t, const char *argument) { return *(t->export_to = argument) != '\0'; }
static bool set_import(tool *t, const char *argument) { return *(t->import_from = argument) != '\0'; }
static bool set_schedules(tool *t, const char *argument) { (void)argument; return t->schedules = true; }
static bool set_embed_weights(tool *t, const char *argument) { (void)argument; return t->embed_weights = true; }
static bool set_time_passes(tool *t, const char *argument) { (void)argument; return opf_context_set(t->context, "time-passes", "1") == OPF_OK; }
static bool set_verbose(tool *t, const char *argument) { (void)argument; return (t->verbose = opf_context_set(t->context, "verbose", "1") == OPF_OK); }
static bool set_json(tool *t, const char *argument) { (void)argument; return t->json = true; }
static bool set_markdown(tool *t, const char *argument) { (void)argument; return t->markdown = true; }
static bool set_all(tool *t, const char *argument) { (void)argument; return t->all = true; }
static bool set_bounds(tool *t, const char *argument) { (void)argument; return t->bounds = true; }
static bool set_bisect(tool *t, const char *argument) { (void)argument; return t->bisect = true; }
static bool set_against(tool *t, const char *argument) { return *(t->against = argument) != '\0'; }
static bool set_targets(tool *t, const char *argument) { return *(t->targets = argument); }
static bool set_check(tool *t, const char *argument) { (void)argument; return t->check_groups = true; }
static bool set_profile(tool *t, const char *argument) { (void)argument; return t->profile = true; }
static bool set_before(tool *t, const char *argument) { (void)argument; return t->before = true; }
static bool set_after(tool *t, const char *argument) { (void)argument; return t->after = true; }
static bool set_trace(tool *t, const char *argument) { (void)argument; return t->trace = true; }
static bool set_try_decompose(tool *t, const char *argument) { (void)argument; return t->try_decompose = true; }
static bool set_memory(tool *t, const char *argument) { (void)argument; return t->memory = true; }
static bool set_diff(tool *t, const char *argument) { return *(t->diff = argument) != '\0'; }
static bool set_why_a(tool *t, const char *argument) { return *(t->why_a = argument) != '\0'; }
static bool set_why_b(tool *t, const char *argument) { return *(t->why_b = argument) != '\0'; }
static bool set_quiet(tool *t, const char *argument) { (void)argument; return t->quiet = true; }
static bool set_help(tool *t, const char *argument) { (void)argument; return t->help = true; }
static bool set_version(tool *t, const char *argument) { (void)argument; return t->version = true; }

/* ---- the table ---- */

static const option options[] = {
    {"--input", "NAME=WHAT", FOR_INPUTS, "an input: FILE.npy, FILE.pb, zeros, ones or uniform:LOW:HIGH", add_input},
    {"--data", "DIR", FOR_INPUTS, "a data set (input_0.pb, …, output_0.pb, …), or a folder of test_data_set_*", set_data},
    {"--shape", "NAME=D,D,…", FOR_INPUTS, "the shape of an input; ? leaves an axis open", NULL},
    {"--dim", "NAME=N", FOR_INPUTS, "pins a named size; the code is made for it", NULL},
    {"--hint", "NAME=N", FOR_INPUTS, "what costs and made-up inputs assume for a named size", NULL},
    {"--seed", "N", FOR_INPUTS, "seed of made-up inputs (0)", NULL},
    {"--threads", "N", FOR_INPUTS, "threads (the cores that the process may use)", NULL},
    {"-o", "PATH", FOR_RUN | FOR_BUILD | FOR_GRAPH | FOR_PROFILE | FOR_REPORT, "where results are written", set_output},
    {"--format", "npy|pb", FOR_RUN, "of the files below -o (npy)", set_format},
    {"--json", NULL, FOR_JSON, "results as JSON", set_json},
    {"--markdown", NULL, FOR_OPS, "the table as the documents have it", set_markdown},
    {"--all", NULL, FOR_VERIFY, "compares every value stored between kernels, not only outputs", set_all},
    {"--bounds", NULL, FOR_VERIFY, "each group on the evaluator's own inputs: its error beside a bound computed from its stages", set_bounds},
    {"--bisect", NULL, FOR_VERIFY, "the same, and names the group, operator and property at fault", set_bisect},
    {"--tol", "fp32|fp16|int8", FOR_VERIFY, "a rule for the tolerance in place of --rtol and --atol", set_tolerance},
    {"--rtol", "R", FOR_VERIFY | FOR_DIFF, "relative tolerance (1e-3)", set_rtol},
    {"--atol", "A", FOR_VERIFY | FOR_DIFF, "absolute tolerance (1e-5)", set_atol},
    {"--suite", "DIR", FOR_VERIFY, "in place of a model: every folder in it with model.onnx and test_data_set_*, under none and best", set_suite},
    {"--jobs", "N", FOR_VERIFY, "processes at once for --suite (the cores that the process may use)", set_jobs},
    {"--junit", "FILE", FOR_VERIFY, "writes the results of --suite as JUnit's XML", set_junit},
    {"--exceptions", "FILE", FOR_VERIFY, "cases of --suite that are known to fail: NAME REASON, a line each", set_exceptions},
    {"--max-depth", "N", FOR_EXPLAIN, "most nodes of a group", NULL},
    {"--why", "A B", FOR_EXPLAIN, "why these two nodes are or are not one kernel, and what would change it", set_why_a},
    {"--trace", NULL, FOR_EXPLAIN, "how the groups came to be, step by step", set_trace},
    {"--memory", NULL, FOR_EXPLAIN, "the workspace over time, and what each fusion saved", set_memory},
    {"--try-decompose", NULL, FOR_EXPLAIN, "what would be gained if operators of refused uses were written out in smaller ones", set_try_decompose},
    {"--diff", "OLD.json", FOR_EXPLAIN, "what has changed since an earlier `explain --json`; status 3 where a fusion was lost", set_diff},
    {"--schedules", NULL, FOR_EXPLAIN, "every choice of every kernel's schedule, as --schedule reads it", set_schedules},
    {"--target", "NAME[,NAME]...", FOR_BUILD, "rows of the machine table to build for, the best first, of which the processor takes one at run time; or a file", set_targets},
    {"--embed-weights", NULL, FOR_BUILD, "plain C: the weights go into the object", set_embed_weights},
    {"--check", NULL, FOR_BUILD, "runs every group on seeded and special values beside the evaluator; takes apart what is beyond its bound", set_check},
    {"--max-ram", "N[K|M|G]", FOR_BUILD, "fails where workspace, inputs and outputs take more bytes", set_max_ram},
    {"--profile", NULL, FOR_REPORT, "runs the model too: times, limits and a roofline plot, as `opfuse profile` measures them", set_profile},
    {"--warmup", "W", FOR_BENCH | FOR_PROFILE | FOR_REPORT, "runs before those that count (3)", set_warmup},
    {"--runs", "R", FOR_BENCH | FOR_PROFILE | FOR_REPORT, "runs that count (20)", set_runs},
    {"--budget", "N[s|m]", FOR_TUNE, "how long the search may take (60s)", set_budget},
    {"--export", "FILE", FOR_TUNE, "writes the database as text", set_export},
    {"--import", "FILE", FOR_TUNE, "takes such text into the database; the faster of two schedules stays", set_import},
    {"--db", "FILE|none", FOR_COMPILING, "database of schedules (schedules.db in the cache's folder)", NULL},
    {"--schedule", "FILE", FOR_COMPILING, "pinned schedules, before the database's (docs/tuning.md)", NULL},
    {"--against", "none|tvm|best|FILE", FOR_DIFF, "fusion policy of the second side (that of the first)", set_against},
    {"--before", NULL, FOR_GRAPH, "the graph as read", set_before},
    {"--after", NULL, FOR_GRAPH, "its kernels as clusters (default)", set_after},
    {"--fuse", "none|tvm|best|FILE", FOR_ALL, "fusion policy (best), or groups from an earlier `explain --json`", NULL},
    {"--operators", "FILE", FOR_ALL, "operators of your own, a line each (docs/adding-an-operator.md)", NULL},
    {"--patterns", "FILE", FOR_ALL, "patterns of your own: nodes that become one kernel, stay apart, or run your C (docs/patterns.md)", NULL},
    {"--rules", "FILE", FOR_ALL, "switches rules of fusion off, sets thresholds (docs/fusion-rules.md)", NULL},
    {"--cache", "DIR", FOR_ALL, "folder of compiled programs", NULL},
    {"--machine", "NAME|FILE", FOR_ALL, "row of the machine table, or a file (the row of this CPU)", NULL},
    {"--accuracy", "normal|tight|exact", FOR_ALL, "what sums may give up for speed (normal): docs/numerics.md", NULL},
    {"--wide-sums", "NODE|all", FOR_ALL, "sums of this node, of float32 and half types, run in float64; repeatable", NULL},
    {"--dump-after", "STAGE", FOR_ALL, "prints what a stage of the pipeline has made", NULL},
    {"--stop-after", "STAGE", FOR_ALL, "goes no further than this stage", NULL},
    {"--time-passes", NULL, FOR_ALL, "prints how long each stage took", set_time_passes},
    {"-q", NULL, FOR_ALL, "no notes, no progress", set_quiet},
    {"-v", NULL, FOR_ALL, "says more", set_verbose},
    {"--diag", "text|json", FOR_ALL, "form of messages; json: one object a line", set_diag},
    {"--help", NULL, FOR_ALL, "this text", set_help},
    {"-h", NULL, FOR_ALL, "the same", set_help},
    {"--version", NULL, FOR_ALL, "the version", set_version},
};
static const size_t n_options = sizeof options / sizeof *options;

/* ---- reading ---- */

/* The option that an argument names, and its value behind '='; NULL where there is none. */
static const option *find(const char *argument, const char **value) {
    const char *equals = strchr(argument, '=');
    size_t length = equals ? (size_t)(equals - argument) : strlen(argument);
    *value = equals ? equals + 1 : NULL;
    for (size_t i = 0; i < n_options; i++)
        if (strlen(options[i].name) == length && strncmp(options[i].name, argument, length) == 0) return &options[i];
    return NULL;
}

static int apply(tool *t, const option *o, const char *value) {
    if (!o->set) {
        opf_status status = opf_context_set(t->context, o->name + 2, value);
        tell(t);
        return exit_status(status);
    }
    if (o->set(t, value)) return 0;
    if (o->argument) complain(t, "usage", "option %s %s: '%s' does not fit; it takes: %s", o->name, o->argument, value, o->help);
    return EXIT_USAGE;
}

static int misuse(const tool *t, const char *what, const char *name) {
    complain(t, "usage", "%s '%s'; opfuse %s --help lists the options", what, name, t->verb->name);
    return EXIT_USAGE;
}

/* Options that take two arguments: what the second one sets. */
static bool (*second_of(const option *o))(tool *t, const char *argument) { return o->set == set_why_a ? set_why_b : NULL; }

static int read_option(tool *t, int *at, int count, char **arguments) {
    const char *value;
    const option *o = find(arguments[*at], &value);
    if (!o) return misuse(t, "there is no option", arguments[*at]);
    if (!(o->groups & t->verb->groups)) return misuse(t, "this verb has no option", o->name);
    if (!o->argument && value) return misuse(t, "no value belongs to option", o->name);
    if (o->argument && !value) {
        if (*at + 1 >= count) return misuse(t, "a value is missing behind option", o->name);
        value = arguments[++*at];
    }
    bool (*set_second)(tool *t, const char *argument) = second_of(o);
    if (set_second && *at + 1 >= count) return misuse(t, "a second value is missing behind option", o->name);
    if (set_second && !set_second(t, arguments[++*at])) return misuse(t, "an empty value stands behind option", o->name);
    return apply(t, o, value);
}

void options_read_diag(tool *t, int count, char **arguments) {
    for (int i = 0; i < count; i++)
        if (strcmp(arguments[i], "--diag=json") == 0 || (strcmp(arguments[i], "--diag") == 0 && i + 1 < count && strcmp(arguments[i + 1], "json") == 0)) t->diag_json = true;
}

int options_read(tool *t, int count, char **arguments) {
    bool only_positional = false;
    for (int i = 0; i < count; i++) {
        const char *argument = arguments[i];
        int status = 0;
        if (!only_positional && strcmp(argument, "--") == 0) only_positional = true;
        else if (!only_positional && argument[0] == '-' && argument[1]) status = read_option(t, &i, count, arguments);
        else if (t->model && !t->second && t->verb->groups & FOR_DIFF) t->second = argument;
        else if (t->model || !t->verb->arguments[0]) status = misuse(t, "there is no place for the argument", argument);
        else t->model = argument;
        if (status) return status;
    }
    if (t->help || t->version || !t->verb->arguments[0]) return 0;
    if (t->suite && t->model) return misuse(t, "with --suite there is no place for the model", t->model);
    if (t->suite || t->model || t->export_to || t->import_from) return 0;
    complain(t, "usage", "usage: opfuse %s %s; the model is missing", t->verb->name, t->verb->arguments);
    return EXIT_USAGE;
}

/* ---- help ---- */

bool options_at(size_t index, option_text *out) {
    if (index >= n_options) return false;
    *out = (option_text){options[index].name, options[index].argument, options[index].help, options[index].groups};
    return true;
}

static void help_options(unsigned groups) {
    for (size_t i = 0; i < n_options; i++) {
        const option *o = &options[i];
        char left[64];
        if (!(o->groups & groups)) continue;
        snprintf(left, sizeof left, "%s%s%s", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
        printf_out("  %-28s %s\n", left, o->help);
    }
}

void options_help(const verb *v) {
    if (v) {
        printf_out("usage: opfuse %s %s [OPTIONS]\n%s\n\noptions:\n", v->name, v->arguments, v->summary);
        help_options(v->groups);
        return;
    }
    print("usage: opfuse VERB [ARGUMENTS] [OPTIONS]\n\nFuses the operators of an ONNX model into kernels of C, and proves that the numbers stay right.\n\nverbs:\n");
    for (size_t i = 0; i < n_verbs; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", verbs[i].name, verbs[i].arguments);
        printf_out("  %-28s %s\n", left, verbs[i].summary);
    }
    print("\noptions everywhere (opfuse VERB --help lists the others):\n");
    help_options(FOR_ALL);
    print("\nexit status: 0 done and true, 1 error, 2 wrong usage, 3 the check does not hold\n");
}
