/* The functions of a program's main file that deal in sizes: solve, output_dims, slots, workspace_bytes. */
#include "base/checked.h"
#include "emit/main.h"
#include "ops/counts.h"

/* ---- dims in arithmetic that saturates ---- */

static bool is_simple(opf_dim dim) { return dim->kind == OPF_EXPR_INT || dim->kind == OPF_EXPR_SYMBOL; }

static void size_call(const char *function, opf_dim dim, opf_text *out) {
    opf_text_printf(out, "%s(", function);
    opf_emit_size(dim->args[0], out);
    opf_text_add(out, ", ");
    opf_emit_size(dim->args[1], out);
    opf_text_add(out, ")");
}

void opf_emit_size(opf_dim dim, opf_text *out) {
    if (dim->kind == OPF_EXPR_BINARY && dim->op == OPF_OP_MUL) size_call("opf_times", dim, out);
    else if (dim->kind == OPF_EXPR_BINARY && dim->op == OPF_OP_ADD) size_call("opf_plus", dim, out);
    else if (dim->kind == OPF_EXPR_BINARY && dim->op == OPF_OP_MAX) size_call("opf_larger", dim, out);
    else if (dim->kind == OPF_EXPR_BINARY && dim->op == OPF_OP_MIN) size_call("opf_smaller", dim, out);
    else if (dim->kind == OPF_EXPR_BINARY && dim->op == OPF_OP_FLOORDIV) size_call("opf_floordiv_i64", dim, out);
    else {
        if (!is_simple(dim)) opf_text_add(out, "(");
        opf_emit_dim(dim, out);
        if (!is_simple(dim)) opf_text_add(out, ")");
    }
}

/* ---- solve ---- */

void opf_emit_guard(const opf_program *program, size_t index, opf_text *out) {
    const opf_condition *check = &program->checks.data[index];
    opf_text_add(out, "if (");
    if (check->guard) {
        opf_emit_size(check->guard->left, out);
        opf_text_add(out, check->guard->kind == OPF_GUARD_EQ ? " != " : " < ");
        opf_emit_size(check->guard->right, out);
    } else {
        opf_text_printf(out, "dims[%d][%d] != ", check->input, check->axis);
        opf_emit_size(check->want, out);
    }
    opf_text_printf(out, ") return %zu;", index + 1);
    if (check->guard && check->guard->why) opf_text_add(out, " // ");
    if (check->guard && check->guard->why) opf_emit_comment(check->guard->why, out);
    opf_text_add(out, "\n");
}

static opf_dim largest_count(const opf_program *program, size_t symbol) {
    opf_dim most = program->module->counts.data[program->sources[symbol].axis].most;
    if (!most || opf_dim_is_unbounded(program->module, most)) return opf_int(program->module->pool, 0); /* not known before it is found */
    return opf_dim_most(program->module, program->module->counts.data[program->sources[symbol].axis].most);
}

/* Symbols may all be sizes that steps find, and guards may speak of nothing else. */
static bool looks_at_inputs(const opf_program *program) {
    for (size_t i = 0; i < program->n_symbols; i++)
        if (program->sources[i].input >= 0) return true;
    for (size_t i = 0; i < program->checks.count; i++)
        if (!program->checks.data[i].counted && !program->checks.data[i].guard) return true;
    return false;
}

static void emit_solve(const opf_program *program, opf_text *out) {
    opf_mentions mentions = opf_mentions_new(program, program->module->arena);
    for (size_t i = 0; i < program->checks.count; i++) {
        const opf_condition *check = &program->checks.data[i];
        if (check->counted) continue;
        opf_mentions_add(&mentions, check->want);
        if (check->guard) opf_mentions_add(&mentions, check->guard->left);
        if (check->guard) opf_mentions_add(&mentions, check->guard->right);
    }
    opf_text_add(out, "static int solve(const int64_t *const *dims, int64_t *symbols) {\n");
    if (!program->n_symbols) opf_text_add(out, "    (void)symbols;\n");
    if (!looks_at_inputs(program)) opf_text_add(out, "    (void)dims;\n");
    for (size_t i = 0; i < program->n_symbols; i++) {
        if (program->sources[i].input < 0) opf_mentions_add(&mentions, largest_count(program, i));
        else opf_text_printf(out, "    symbols[%zu] = dims[%d][%d]; // %s\n", i, program->sources[i].input, program->sources[i].axis, program->sources[i].symbol->name);
    }
    opf_mentions_print(&mentions, "symbols", out);
    for (size_t i = 0; i < program->checks.count; i++) {
        if (program->checks.data[i].counted) continue;
        opf_text_add(out, "    ");
        opf_emit_guard(program, i, out);
    }
    for (size_t i = 0; i < program->n_symbols; i++) {
        if (program->sources[i].input >= 0) continue;
        opf_text_printf(out, "    symbols[%zu] = ", i);
        opf_emit_size(largest_count(program, i), out);
        opf_text_printf(out, "; // at most: %s\n", program->sources[i].symbol->name);
    }
    opf_text_add(out, "    return 0;\n}\n\n");
}

/* ---- output_dims ---- */

/* `most`: the largest shapes, else those that the symbols say. */
static opf_dim output_dim(const opf_program *program, const opf_value *value, int axis, bool most) {
    return most ? opf_dim_most(program->module, value->dims[axis]) : value->dims[axis];
}

static void emit_output_dims(const opf_program *program, bool most, opf_text *out) {
    opf_mentions mentions = opf_mentions_new(program, program->module->arena);
    int axes = 0;
    for (size_t i = 0; i < program->outputs.count; i++) {
        const opf_value *value = program->outputs.data[i];
        for (int k = 0; k < value->rank; k++, axes++) opf_mentions_add(&mentions, output_dim(program, value, k, most));
    }
    opf_text_printf(out, "static void %s(const int64_t *symbols, int output, int64_t *dims) {\n    (void)symbols;\n", most ? "most_of_output" : "dims_of_output");
    if (!axes) opf_text_add(out, "    (void)dims;\n");
    opf_mentions_print(&mentions, "symbols", out);
    opf_text_add(out, "    switch (output) {\n");
    for (size_t i = 0; i < program->outputs.count; i++) {
        const opf_value *value = program->outputs.data[i];
        opf_text_printf(out, "    case %zu: // ", i);
        opf_emit_comment(value->name, out);
        opf_text_add(out, "\n");
        for (int k = 0; k < value->rank; k++) {
            opf_text_printf(out, "        dims[%d] = ", k);
            opf_emit_size(output_dim(program, value, k, most), out);
            opf_text_add(out, ";\n");
        }
        opf_text_add(out, "        break;\n");
    }
    opf_text_add(out, "    default: break;\n    }\n}\n\n");
}

bool opf_program_has_counts(const opf_program *program) {
    for (size_t i = 0; i < program->n_symbols; i++)
        if (program->sources[i].input < 0) return true;
    return false;
}

/* ---- workspace ---- */

bool opf_step_finds_scratch(const opf_program *program, const opf_step *step) { return step->nest && opf_dim_is_unbounded(program->module, step->nest->scratch_bytes); }

bool opf_program_takes_memory(const opf_program *program) {
    for (size_t i = 0; i < program->buffers.count; i++)
        if (program->buffers.data[i].found) return true;
    for (size_t i = 0; i < program->steps.count; i++)
        if ((program->steps.data[i].library && program->steps.data[i].library->takes_memory) || opf_step_finds_scratch(program, &program->steps.data[i])) return true;
    return false;
}

bool opf_program_has_scratch(const opf_program *program) {
    for (size_t i = 0; i < program->steps.count; i++)
        if (program->steps.data[i].nest && !opf_is_value(program->steps.data[i].nest->scratch_bytes, 0) && !opf_step_finds_scratch(program, &program->steps.data[i])) return true;
    return false;
}

static void emit_slot(const opf_slot *slot, opf_text *out) {
    for (size_t i = 0; i + 1 < slot->sizes.count; i++) opf_text_add(out, "opf_larger(");
    for (size_t i = 0; i < slot->sizes.count; i++) {
        if (i) opf_text_add(out, ", ");
        opf_emit_size(slot->sizes.data[i], out);
        if (i) opf_text_add(out, ")");
    }
}

/* To whole lines; false where there is no such number. */
static bool pad(int64_t *bytes) {
    if (*bytes < 0 || !opf_checked_add(*bytes, 63, bytes)) return false;
    *bytes = *bytes / 64 * 64;
    return true;
}

/* What a slot takes where all of its sizes are known. */
static bool has_known_bytes(const opf_program *program, size_t index, int64_t *bytes) {
    const opf_slot *slot = &program->slots.data[index];
    int64_t size;
    *bytes = 0;
    for (size_t i = 0; i < slot->sizes.count && opf_slot_used(program, index); i++) {
        if (!opf_is_int(slot->sizes.data[i], &size) || size < 0) return false;
        if (size > *bytes) *bytes = size;
    }
    return pad(bytes);
}

/* `slots` gives the offset of each slot, of the scratch behind them, and the whole without scratch. */
static void emit_slots(const opf_program *program, opf_text *out) {
    opf_mentions mentions = opf_mentions_new(program, program->module->arena);
    for (size_t s = 0; s < program->slots.count; s++)
        for (size_t i = 0; i < program->slots.data[s].sizes.count; i++) opf_mentions_add(&mentions, program->slots.data[s].sizes.data[i]);
    opf_text_add(out, "/* Offsets of the workspace's slots, then of the scratch behind them; 0 where sizes overflow. */\n"
                      "static int slots(const int64_t *symbols, int64_t *at) {\n    (void)symbols;\n");
    opf_mentions_print(&mentions, "symbols", out);
    opf_text_add(out, "    at[0] = 0;\n");
    int64_t so_far = 0, bytes;
    bool known = true;
    for (size_t s = 0; s < program->slots.count; s++) {
        bool own = has_known_bytes(program, s, &bytes);
        known = known && own && opf_checked_add(so_far, bytes, &so_far);
        if (known) opf_text_printf(out, "    at[%zu] = %lld;\n", s + 1, (long long)so_far);
        else if (own) opf_text_printf(out, "    at[%zu] = opf_plus(at[%zu], %lld);\n", s + 1, s, (long long)bytes);
        else {
            opf_text_printf(out, "    at[%zu] = opf_plus(at[%zu], opf_pad64(", s + 1, s);
            emit_slot(&program->slots.data[s], out);
            opf_text_add(out, "));\n");
        }
    }
    opf_text_printf(out, "    return opf_fits(at[%zu]);\n}\n\n", program->slots.count);
}

static void emit_scratch(const opf_program *program, opf_text *out) {
    opf_mentions mentions = opf_mentions_new(program, program->module->arena);
    for (size_t i = 0; i < program->steps.count; i++)
        if (program->steps.data[i].nest && !opf_step_finds_scratch(program, &program->steps.data[i])) opf_mentions_add(&mentions, opf_dim_most(program->module, program->steps.data[i].nest->scratch_bytes));
    opf_text open = {0};
    int64_t largest = 0;
    opf_map seen = opf_map_new(program->module->arena);
    for (size_t i = 0; i < program->steps.count; i++) {
        const opf_nest *nest = program->steps.data[i].nest;
        int64_t bytes;
        if (!nest || opf_is_value(nest->scratch_bytes, 0) || opf_step_finds_scratch(program, &program->steps.data[i]) || opf_map_has(&seen, nest->scratch_bytes)) continue;
        opf_map_set(&seen, nest->scratch_bytes, (void *)nest);
        opf_dim most = opf_dim_most(program->module, nest->scratch_bytes);
        if (opf_is_int(most, &bytes)) {
            largest = bytes > largest ? bytes : largest;
            continue;
        }
        opf_text_add(&open, "    most = opf_larger(most, ");
        opf_emit_size(most, &open);
        opf_text_add(&open, ");\n");
    }
    opf_text_add(out, "/* Scratch of one part: as much as the neediest step. */\nstatic int64_t scratch_bytes(const int64_t *symbols) {\n    (void)symbols;\n");
    if (open.length) {
        opf_text_printf(out, "    int64_t most = %lld;%s\n", (long long)largest, largest ? " // of those whose sizes are fixed" : "");
        opf_mentions_print(&mentions, "symbols", out);
        opf_text_printf(out, "%s    return opf_pad64(most);\n}\n\n", opf_text_string(&open));
    } else {
        opf_text_printf(out, "    return %lld;\n}\n\n", (long long)(pad(&largest) ? largest : INT64_MAX));
    }
    opf_text_free(&open);
}

static void emit_workspace_bytes(const opf_program *program, opf_text *out) {
    opf_text_add(out, "static size_t workspace_bytes(const int64_t *symbols, int threads) {\n");
    opf_text_printf(out, "    int64_t at[%zu], total;\n    if (!slots(symbols, at)) return 0;\n", program->slots.count + 1);
    if (opf_program_has_scratch(program))
        opf_text_printf(out, "    total = opf_plus(at[%zu], opf_times(scratch_bytes(symbols), threads > 1 ? threads : 1));\n", program->slots.count);
    else
        opf_text_printf(out, "    (void)threads;\n    total = at[%zu];\n", program->slots.count);
    opf_text_add(out, "    return opf_fits(total) ? (size_t)total + 64 : 0; // never 0, so that 0 can mean overflow\n}\n\n");
}

void opf_emit_main_sizes(const opf_program *program, opf_text *out) {
    emit_solve(program, out);
    emit_output_dims(program, false, out);
    if (opf_program_has_counts(program)) emit_output_dims(program, true, out);
    else opf_text_add(out, "static void most_of_output(const int64_t *symbols, int output, int64_t *dims) { dims_of_output(symbols, output, dims); }\n\n");
    emit_slots(program, out);
    if (opf_program_has_scratch(program)) emit_scratch(program, out);
    emit_workspace_bytes(program, out);
}
