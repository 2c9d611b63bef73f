/* Nests → kernels: nests of equal text share one, named after their operators and their text. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "plan/planner.h"

enum { MOST_OPERATORS = 4 };

static void add_lower(opf_text *out, const char *name) {
    for (; *name; name++) {
        char c = isalnum((unsigned char)*name) ? (char)tolower((unsigned char)*name) : '_';
        opf_text_add_n(out, &c, 1);
    }
}

/* "conv_add_relu", "mul_add_div_and_9": operators in order, runs of one operator once. */
static void operator_names(const opf_group *group, opf_text *out) {
    const char *last = NULL;
    int named = 0;
    size_t left = 0;
    for (size_t i = 0; i < group->nodes.count; i++) {
        const char *op = group->nodes.data[i]->op;
        if (last && strcmp(op, last) == 0) continue;
        last = op;
        if (named == MOST_OPERATORS) {
            left++;
            continue;
        }
        if (named++) opf_text_add(out, "_");
        add_lower(out, op);
    }
    if (left) opf_text_printf(out, "_and_%zu", left);
    if (!named) opf_text_add(out, "pack");
}

/* Unique, a C identifier, and the same wherever the text is the same. */
static const char *kernel_name(opf_planner *planner, const opf_nest *nest, const char *body, size_t length) {
    opf_text text = {0};
    operator_names(nest->group, &text);
    opf_text_printf(&text, "_%.8s", opf_hash_print(opf_hash_bytes(body, length)).text);
    size_t stem = text.length;
    const char *name = opf_intern(planner->program->module->names, opf_text_string(&text));
    for (int i = 2; opf_map_has(&planner->names, name); i++) {
        text.length = stem;
        opf_text_printf(&text, "_%d", i);
        name = opf_intern(planner->program->module->names, opf_text_string(&text));
    }
    opf_map_set(&planner->names, name, planner);
    opf_text_free(&text);
    return name;
}

int opf_planner_kernel(opf_planner *planner, const opf_nest *nest) {
    opf_text text = {0};
    if (planner->options->kernel_body(nest, &text) != OPF_OK) {
        planner->failed = true;
        opf_text_free(&text);
        return -1;
    }
    if (!opf_nest_is_usual(nest, planner->program->machine)) /* equal text, other code */
        opf_text_printf(&text, "/* %d lanes, compiler %d */", nest->machine->lanes, (int)nest->chosen.at[OPF_KNOB_COMPILER]);
    const char *body = opf_intern_n(planner->program->module->names, opf_text_string(&text), text.length);
    size_t known = (size_t)opf_map_get(&planner->kernels, body);
    if (!known) {
        opf_program_kernel kernel = {.nest = nest, .body = body, .name = kernel_name(planner, nest, body, text.length)};
        const opf_symbol *const *symbols = NULL;
        kernel.n_symbols = opf_nest_symbols(nest, &symbols);
        kernel.symbols = symbols;
        OPF_PUSH(planner->arena, &planner->program->kernels, kernel);
        known = planner->program->kernels.count;
        opf_map_set(&planner->kernels, body, (void *)known);
    }
    opf_text_free(&text);
    return (int)known - 1;
}
