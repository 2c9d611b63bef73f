/* Context: options by name, diagnostics, texts. */
#include "api/context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/pipeline.h"

const char *opf_version(void) { return OPFUSE_VERSION; }

opf_context *opf_context_new(void) {
    opf_context *context = calloc(1, sizeof *context);
    if (!context) opf_out_of_memory();
    context->arena = opf_arena_new();
    context->texts = opf_arena_new();
    context->diags = opf_diags_new();
    context->operators = opf_user_ops_new(context->arena);
    context->patterns = opf_patterns_new(context->arena);
    context->options = (opf_options){.fuse = "best", .policy = OPF_POLICY_BEST};
    opf_rule_settings_init(&context->options.rules);
    return context;
}

void opf_context_free(opf_context *context) {
    if (!context) return;
    opf_diags_free(context->diags);
    opf_arena_free(context->texts);
    opf_arena_free(context->arena);
    free(context);
}

/* ---- options ---- */

static opf_status misuse(opf_context *context, const char *option, const char *value, const char *wanted) {
    opf_diag_add(context->diags, OPF_ERROR, "usage", OPF_NO_PLACE, "option %s: '%s' is not %s", option, value, wanted);
    return OPF_ERROR_USAGE;
}

static bool whole_number(const char *text, int64_t low, int64_t high, int64_t *out) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < low || value > high) return false;
    *out = value;
    return true;
}

static opf_status set_fuse(opf_context *context, const char *option, const char *value) {
    opf_options *options = &context->options;
    options->groups_file = NULL;
    for (int policy = OPF_POLICY_NONE; policy <= OPF_POLICY_BEST; policy++) {
        if (strcmp(value, opf_policy_name((opf_policy)policy)) != 0) continue;
        options->policy = (opf_policy)policy;
        options->fuse = opf_policy_name((opf_policy)policy);
        return OPF_OK;
    }
    if (!opf_file_exists(value)) return misuse(context, option, value, "none, tvm, best or a file with groups");
    options->fuse = options->groups_file = opf_arena_string(context->arena, value);
    options->policy = opf_groups_file_passes(value, OPF_POLICY_TVM); /* by hand: groups name nodes of the graph as read */
    return OPF_OK;
}

static opf_status set_cache(opf_context *context, const char *option, const char *value) {
    if (!*value) return misuse(context, option, value, "a folder");
    context->options.cache = opf_arena_string(context->arena, value);
    return OPF_OK;
}

static opf_status set_database(opf_context *context, const char *option, const char *value) {
    if (!*value) return misuse(context, option, value, "a file, or none");
    context->options.database = opf_arena_string(context->arena, value);
    return OPF_OK;
}

static opf_status set_schedule(opf_context *context, const char *option, const char *value) {
    if (!opf_file_exists(value)) return misuse(context, option, value, "a file of schedules");
    context->options.schedule_file = opf_arena_string(context->arena, value);
    return OPF_OK;
}

static opf_status set_machine(opf_context *context, const char *option, const char *value) {
    (void)option;
    opf_machine machine;
    opf_status status = opf_machine_choose(&machine, value, context->arena, context->diags);
    if (status == OPF_OK) context->options.machine = opf_arena_string(context->arena, value);
    return status;
}

static opf_status set_accuracy(opf_context *context, const char *option, const char *value) {
    static const struct { const char *name; opf_accuracy accuracy; } names[] = {
        {"normal", OPF_ACCURACY_NORMAL}, {"tight", OPF_ACCURACY_TIGHT}, {"exact", OPF_ACCURACY_EXACT}};
    for (size_t i = 0; i < OPF_COUNT(names); i++)
        if (strcmp(names[i].name, value) == 0) {
            context->options.accuracy = names[i].accuracy;
            return OPF_OK;
        }
    return misuse(context, option, value, "normal, tight or exact");
}

static opf_status add_wide_sums(opf_context *context, const char *option, const char *value) {
    if (!*value) return misuse(context, option, value, "the name of a node, or all");
    if (strcmp(value, "all") == 0) context->options.wide_sums.all = true;
    else OPF_PUSH(context->arena, &context->options.wide_sums.nodes, opf_arena_string(context->arena, value));
    return OPF_OK;
}

static opf_status set_threads(opf_context *context, const char *option, const char *value) {
    int64_t n;
    if (!whole_number(value, 1, 1024, &n)) return misuse(context, option, value, "a number of threads from 1 to 1024");
    context->options.threads = (int)n;
    return OPF_OK;
}

static opf_status set_seed(opf_context *context, const char *option, const char *value) {
    int64_t n;
    if (!whole_number(value, 0, INT64_MAX, &n)) return misuse(context, option, value, "a whole number, 0 or more");
    context->options.seed = (uint64_t)n;
    return OPF_OK;
}

static opf_status set_max_depth(opf_context *context, const char *option, const char *value) {
    int64_t n;
    if (!whole_number(value, 1, 1000000, &n)) return misuse(context, option, value, "a number of nodes, 1 or more");
    context->options.max_depth = (int)n;
    return OPF_OK;
}

/* NAME=N; NAME may hold '=' itself. */
static opf_status add_named_size(opf_context *context, const char *option, const char *value, bool nominal_only) {
    const char *equals = strrchr(value, '=');
    int64_t size;
    if (!equals || equals == value || !whole_number(equals + 1, 0, (int64_t)1 << 40, &size)) return misuse(context, option, value, "NAME=N");
    opf_pin pin = {.axis = -1, .size = size, .nominal_only = nominal_only};
    pin.symbol = opf_arena_string_n(context->arena, value, (size_t)(equals - value));
    OPF_PUSH(context->arena, &context->options.pins, pin);
    return OPF_OK;
}

static opf_status add_dim(opf_context *context, const char *option, const char *value) { return add_named_size(context, option, value, false); }
static opf_status add_hint(opf_context *context, const char *option, const char *value) { return add_named_size(context, option, value, true); }

/* NAME=D,D,…; `?` leaves an axis open; NAME= is a scalar. */
static opf_status add_sizes(opf_context *context, const char *option, const char *value, bool nominal_only) {
    static const char wanted[] = "NAME=D,D,... with sizes, or ? for an open one";
    const char *equals = strrchr(value, '=');
    if (!equals || equals == value) return misuse(context, option, value, wanted);
    const char *input = opf_arena_string_n(context->arena, value, (size_t)(equals - value));
    const char *at = equals + 1;
    int axis = 0;
    for (; *at; axis++) {
        size_t length = strcspn(at, ",");
        int64_t size = 0;
        const char *number = opf_arena_string_n(context->arena, at, length);
        bool open = strcmp(number, "?") == 0;
        if (axis >= OPF_MAX_RANK || (!open && !whole_number(number, 0, (int64_t)1 << 40, &size))) return misuse(context, option, value, wanted);
        opf_pin pin = {.input = input, .axis = axis, .size = size, .nominal_only = nominal_only};
        if (!open) OPF_PUSH(context->arena, &context->options.pins, pin);
        at += length;
        if (*at == ',' && !*++at) return misuse(context, option, value, wanted);
    }
    opf_pin rank = {.input = input, .axis = OPF_PIN_RANK, .size = axis, .nominal_only = nominal_only};
    OPF_PUSH(context->arena, &context->options.pins, rank);
    return OPF_OK;
}

static opf_status add_shape(opf_context *context, const char *option, const char *value) { return add_sizes(context, option, value, false); }
static opf_status add_hint_shape(opf_context *context, const char *option, const char *value) { return add_sizes(context, option, value, true); }

/* A whole text file, in the context's arena. */
static opf_status read_text(const char **out, opf_context *context, const char *option, const char *path) {
    opf_mapping file;
    opf_status status = opf_file_map(&file, path, context->diags);
    if (status != OPF_OK) return status;
    if (file.size && memchr(file.data, '\0', file.size)) {
        opf_diag_add(context->diags, OPF_ERROR, option, (opf_place){.file = path, .index = -1}, "this is no text: it holds a zero byte");
        status = OPF_ERROR_INPUT;
    } else {
        *out = opf_arena_string_n(context->arena, (const char *)file.data, file.size);
    }
    opf_file_unmap(&file);
    return status;
}

static opf_status add_operators(opf_context *context, const char *option, const char *value) {
    const char *text;
    opf_status status = read_text(&text, context, option, value);
    return status == OPF_OK ? opf_user_ops_add(context->operators, text, value, context->diags) : status;
}

static opf_status add_patterns(opf_context *context, const char *option, const char *value) {
    const char *text;
    opf_status status = read_text(&text, context, option, value);
    return status == OPF_OK ? opf_patterns_add(context->patterns, text, value, context->diags) : status;
}

opf_status opf_register_pattern(opf_context *context, const char *text) { return opf_patterns_add(context->patterns, text, "pattern text", context->diags); }

static opf_status add_rules(opf_context *context, const char *option, const char *value) {
    const char *text;
    opf_status status = read_text(&text, context, option, value);
    return status == OPF_OK ? opf_rule_settings_read(&context->options.rules, text, value, context->arena, context->diags) : status;
}

opf_status opf_register_operator(opf_context *context, const char *text) {
    return opf_user_ops_add(context->operators, text, "operator text", context->diags);
}

static opf_status set_dump_after(opf_context *context, const char *option, const char *value) {
    if (!opf_pipeline_has(value)) return misuse(context, option, value, opf_pipeline_names(context->arena));
    context->options.dump_after = opf_arena_string(context->arena, value);
    return OPF_OK;
}

static opf_status set_stop_after(opf_context *context, const char *option, const char *value) {
    if (!opf_pipeline_has(value)) return misuse(context, option, value, opf_pipeline_names(context->arena));
    context->options.stop_after = opf_arena_string(context->arena, value);
    return OPF_OK;
}

static opf_status set_flag(opf_context *context, const char *option, const char *value, bool *flag) {
    if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0) return misuse(context, option, value, "0 or 1");
    *flag = *value == '1';
    return OPF_OK;
}
static opf_status set_time_passes(opf_context *context, const char *option, const char *value) { return set_flag(context, option, value, &context->options.time_passes); }
static opf_status set_verbose(opf_context *context, const char *option, const char *value) { return set_flag(context, option, value, &context->options.verbose); }

static const struct {
    const char *name;
    opf_status (*set)(opf_context *context, const char *option, const char *value);
} table[] = {
    {"fuse", set_fuse},          {"cache", set_cache},           {"machine", set_machine}, {"threads", set_threads},
    {"seed", set_seed},          {"dim", add_dim},               {"hint", add_hint},       {"shape", add_shape},
    {"hint-shape", add_hint_shape}, {"dump-after", set_dump_after}, {"stop-after", set_stop_after}, {"time-passes", set_time_passes},
    {"verbose", set_verbose},    {"max-depth", set_max_depth},   {"operators", add_operators}, {"rules", add_rules}, {"patterns", add_patterns},
    {"accuracy", set_accuracy},  {"wide-sums", add_wide_sums}, {"db", set_database},           {"schedule", set_schedule},
};

opf_status opf_context_set(opf_context *context, const char *option, const char *value) {
    for (size_t i = 0; i < OPF_COUNT(table); i++)
        if (strcmp(table[i].name, option) == 0) return table[i].set(context, option, value);
    opf_diag_add(context->diags, OPF_ERROR, "usage", OPF_NO_PLACE, "there is no option '%s'", option);
    return OPF_ERROR_USAGE;
}

opf_compile_options opf_context_compile_options(opf_context *context) {
    return (opf_compile_options){.cache = context->options.cache, .level = context->level, .progress = opf_context_progress, .progress_data = context};
}

int opf_context_threads(const opf_context *context) { return context->options.threads ? context->options.threads : opf_cores(); }

/* ---- messages ---- */

size_t opf_context_messages(const opf_context *context) { return opf_diags_count(context->diags); }

opf_message opf_context_message(const opf_context *context, size_t index) {
    if (index >= opf_diags_count(context->diags)) return (opf_message){.severity = OPF_NOTE, .node_index = -1};
    const opf_diag *diag = opf_diags_at(context->diags, index);
    opf_text text = {0};
    opf_diag_print(diag, &text);
    opf_message message = {.severity = diag->severity, .code = diag->code, .file = diag->place.file, .node = diag->place.node,
                           .op = diag->place.op, .message = diag->message, .hint = diag->hint, .node_index = diag->place.index};
    message.text = opf_arena_string(context->texts, opf_text_string(&text));
    opf_text_free(&text);
    return message;
}

void opf_context_clear_messages(opf_context *context) {
    opf_diags_clear(context->diags);
    opf_arena_free(context->texts);
    context->texts = opf_arena_new();
}

/* ---- texts ---- */

void opf_context_on_text(opf_context *context, void (*write)(void *data, opf_text_kind kind, const char *text), void *data) {
    context->on_text = write;
    context->text_data = data;
}

void opf_context_on_progress(opf_context *context, void (*progress)(void *data, const char *what, int done, int total), void *data) {
    context->on_progress = progress;
    context->progress_data = data;
}

void opf_context_say(opf_context *context, opf_text_kind kind, const char *text) {
    if (context->on_text) context->on_text(context->text_data, kind, text);
}

void opf_context_progress(void *data, const char *what, int done, int total) {
    opf_context *context = data;
    if (context->on_progress) context->on_progress(context->progress_data, what, done, total);
}

char *opf_text_take(opf_text *text) {
    char *string = strdup(opf_text_string(text));
    if (!string) opf_out_of_memory();
    opf_text_free(text);
    return string;
}

void opf_string_free(char *string) { free(string); }

opf_status opf_context_no_format(opf_context *context, const char *format) {
    opf_diag_add(context->diags, OPF_ERROR, "usage", OPF_NO_PLACE, "there is no format '%s'", format);
    return OPF_ERROR_USAGE;
}

opf_status opf_context_format(opf_context *context, const char *format, bool *json) {
    *json = strcmp(format, "json") == 0;
    return *json || strcmp(format, "text") == 0 ? OPF_OK : opf_context_no_format(context, format);
}
