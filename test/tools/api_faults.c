/* Plants faults and looks whether `verify --bisect` finds them: tool_api_faults COUNT SEED MODEL….
 *
 * Faults of all kinds in turn (../unit/planted.h), in operators and models by chance; what changes no number beyond its bound does not
 * count, and another is drawn in its stead. Prints a line a fault, then how many of each kind and of each model are traced to group and
 * operator and are given the right property. Exit status 1 where fewer than 95 in 100 are traced, or fewer than 80 in 100 have their
 * property. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/planted.h"

static uint64_t state;
static uint64_t next(uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

/* ---- one fault ---- */

/* A node of a group of several that this kind of fault has a place in, by chance; NULL where the model has none. */
static const char *choose_node(opf_model *model, planted_kind kind, opf_arena *arena) {
    opf_pipeline pipeline = {.model = model, .context = model->context, .policy = OPF_POLICY_BEST, .silent = true};
    const char *name = NULL;
    OPF_VEC(const opf_node *) nodes = {0};
    if (opf_pipeline_run(&pipeline, OPF_TO_GROUPS) == OPF_OK)
        for (size_t g = 0; g < pipeline.fusion->groups.count; g++) {
            const opf_group *group = pipeline.fusion->groups.data[g];
            for (size_t i = 0; group->step == OPF_STEP_KERNEL && group->nodes.count > 1 && i < group->stages.list.count; i++) {
                const opf_stage *stage = group->stages.list.data[i];
                if (stage->origin && planted_body(pipeline.module->pool, stage, kind) != stage->body) OPF_PUSH(arena, &nodes, stage->origin);
            }
        }
    if (nodes.count) name = opf_arena_string(arena, nodes.data[next(nodes.count)]->name);
    opf_pipeline_free(&pipeline);
    return name;
}

enum { ONNX_FLOAT = 1, FRUITLESS = 24 };

/* What shows the fault: numbers past 65504, NaN in one operand alone, halves. */
static void prepare_input(opf_array *input, size_t number, planted_kind kind, double scale, opf_arena *arena) {
    if (input->dtype != ONNX_FLOAT || (kind != PLANTED_HALF && kind != PLANTED_DROPPED_NAN && kind != PLANTED_HALVES_UP)) return;
    size_t count = 1;
    for (int k = 0; k < input->rank; k++) count *= (size_t)input->dims[k];
    float *data = opf_arena_copy(arena, input->data, count * sizeof *data);
    for (size_t k = 0; k < count; k++)
        if (kind == PLANTED_HALF) data[k] *= (float)scale;
        else if (kind == PLANTED_HALVES_UP) data[k] = roundf(data[k] * 8) / 8;
        else if (k % 7 == number % 7) data[k] = NAN;
    input->data = data;
}

typedef struct tally { int tried, traced, pairs, properties; } tally; /* pairs: to one of several operators, which does not count as traced */

static void add(tally *to, tally more) {
    to->tried += more.tried;
    to->traced += more.traced;
    to->pairs += more.pairs;
    to->properties += more.properties;
}

/* The line of the report that starts with this, "" where there is none; to be freed. */
static char *line_of(const char *report, const char *start) {
    const char *line = report ? strstr(report, start) : NULL;
    return line ? strndup(line + strlen(start), strcspn(line, "\n") - strlen(start)) : strdup("");
}

static bool is_property_of(planted_kind kind, const char *property) {
    for (int k = 0; k < 4; k++)
        if (planted_names[kind].properties[k] && strstr(property, planted_names[kind].properties[k])) return true;
    return false;
}

/* Does a list of names in a report hold this one? */
static bool has_name(const char *text, const char *name) {
    size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at++)
        if ((at == text || at[-1] == ' ') && strchr(" ,;", at[length])) return true; /* the end of the text too */
    return false;
}

/* What became of a fault; nothing where it changes no number beyond its bound. Prints it. */
static tally judge(const char *path, const planted *f, const char *report) {
    char *group = line_of(report, ", the group "), *operator = line_of(report, "  operator: "), *property = line_of(report, "  property: ");
    operator[strcspn(operator, ";,")] = 0; /* what it says of it */
    bool seen = *operator || *group, named = has_name(group, f->node) && has_name(operator, f->node), traced = named && !strstr(operator, " or "), right = traced && is_property_of(f->kind, property);
    printf("%s  %s: %s in %s%s", !seen ? "no effect" : !traced ? "MISSED   " : right ? "found    " : "PROPERTY ", path, planted_names[f->kind].name, f->node, f->joined ? " where it is fused" : "");
    if (seen && !traced) printf(": group %s, operator %s", group, operator);
    if (seen) printf(": %s", property);
    printf("\n");
    tally one = {seen, traced, named && !traced, right};
    free(group);
    free(operator);
    free(property);
    return one;
}

/* A model that cannot be verified tells nothing of faults. */
static void give_up(const opf_context *context, const char *path, const planted *f) {
    fprintf(stderr, "%s: %s in %s: `verify` fails\n", path, planted_names[f->kind].name, f->node);
    for (size_t i = 0; i < opf_context_messages(context); i++) fprintf(stderr, "%s\n", opf_context_message(context, i).text);
    exit(2);
}

/* False where the model has no place for a fault of this kind. */
static bool try_fault(const char *path, planted_kind kind, tally *out, opf_arena *arena) {
    opf_context *context = opf_context_new();
    opf_model *model = NULL;
    planted f = {.kind = kind, .joined = next(3) == 0, .arena = arena};
    *out = (tally){0};
    if (kind == PLANTED_REORDERED) opf_context_set(context, "accuracy", "exact");
    if (opf_model_load(&model, context, path) == OPF_OK && (f.node = choose_node(model, kind, arena))) {
        size_t n = opf_model_inputs(model);
        opf_array *inputs = calloc(n + 1, sizeof *inputs);
        for (size_t i = 0; i < n; i++) opf_model_make_input(&inputs[i], model, i, NULL);
        double scale = next(2) ? 0x1p20 : 1;
        for (size_t i = 0; i < n; i++) prepare_input(&inputs[i], i, kind, scale, arena);
        planted_begin(context, &f);
        char *report = NULL;
        opf_verify_options options = {.rtol = -1, .atol = -1, .bisect = 1};
        opf_status status = opf_model_verify(model, inputs, &options, &report);
        if (status != OPF_OK && status != OPF_ERROR_MISMATCH) give_up(context, path, &f);
        if (f.done) *out = judge(path, &f, report);
        opf_string_free(report);
        free(inputs);
    }
    opf_model_free(model);
    opf_context_free(context);
    fflush(stdout);
    return f.node != NULL;
}

static void print_tally(const char *name, tally t) { printf("%-52s %3d faults, %3d traced (%d more to one of several), %3d with their property\n", name, t.tried, t.traced, t.pairs, t.properties); }

int main(int count, char **arguments) {
    if (count < 4) return fprintf(stderr, "usage: tool_api_faults COUNT SEED MODEL…\n"), 2;
    int wanted = atoi(arguments[1]), models = count - 3;
    state = (uint64_t)atoll(arguments[2]) * 2654435761u + 1;
    opf_arena *arena = opf_arena_new();
    tally *of_model = OPF_ARRAY(arena, tally, models), of_kind[PLANTED_KINDS] = {0}, all = {0};
    bool *no_place = OPF_ARRAY(arena, bool, models * PLANTED_KINDS);
    int turn = 0, fruitless = 0;
    for (int draws = 0; all.tried < wanted && draws < 100 * wanted; draws++) {
        planted_kind kind = (planted_kind)(turn % PLANTED_KINDS);
        size_t model = next((uint64_t)models);
        tally one = {0};
        bool *without = &no_place[model * PLANTED_KINDS + kind];
        if (!*without) *without = !try_fault(arguments[3 + model], kind, &one, arena);
        add(&of_kind[kind], one);
        add(&of_model[model], one);
        add(&all, one);
        fruitless = one.tried ? 0 : fruitless + 1;
        if (one.tried || fruitless >= FRUITLESS) turn++, fruitless = 0;
    }
    for (int k = 0; k < PLANTED_KINDS; k++) print_tally(planted_names[k].name, of_kind[k]);
    for (int k = 0; k < models; k++) print_tally(arguments[3 + k], of_model[k]);
    printf("%d of %d faults beyond their bound are traced to their group and operator, %d with their property\n", all.traced, all.tried, all.properties);
    opf_arena_free(arena);
    return all.tried < wanted || all.traced * 100 < all.tried * 95 || all.properties * 100 < all.tried * 80;
}
