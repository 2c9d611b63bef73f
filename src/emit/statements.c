/* Statements as C: loops, stores, reductions. */
#include "emit/statements.h"

#include <stdarg.h>
#include <string.h>

/* ---- lines and expressions ---- */

static void begin_line(opf_statements *s) { opf_text_printf(s->out, "%*s", 4 * s->indent, ""); }

static void line(opf_statements *s, const char *format, ...) {
    va_list arguments;
    begin_line(s);
    va_start(arguments, format);
    opf_text_vprintf(s->out, format, arguments);
    va_end(arguments);
    opf_text_add(s->out, "\n");
}

static bool is_argument(const opf_nest_buffer *buffer) { return buffer->memory == OPF_MEMORY_INPUT || buffer->memory == OPF_MEMORY_RESULT; }

static void print_load(void *data, const opf_expr *load, opf_text *out);
static const char *run_text(opf_statements *s, const opf_run *run);
static bool print_load_code(void *data, const opf_expr *load, opf_text *out);
static void print_variable(void *data, int position, opf_text *out) { opf_text_add(out, ((opf_statements *)data)->variables[position]); }

static bool is_nonnegative(void *data, const opf_expr *e) {
    const opf_statements *s = data;
    return opf_expr_prove_le(s->nest->pool, opf_int(s->nest->pool, 0), e, opf_nest_domain(s->nest, e, NULL));
}

static opf_emit_scope scope_of(opf_statements *s) { return (opf_emit_scope){print_load, print_variable, s, is_nonnegative, print_load_code}; }

static void print(opf_statements *s, const opf_expr *e, opf_text *out) {
    opf_emit_scope scope = scope_of(s);
    opf_emit_expr(e, &scope, out);
}

static void print_operand(opf_statements *s, const opf_expr *e, opf_text *out) {
    opf_emit_scope scope = scope_of(s);
    opf_emit_operand(e, &scope, out);
}

static void print_place(opf_statements *s, int buffer, const opf_expr *offset, opf_text *out) {
    s->used[buffer] = true;
    opf_text_add(out, s->buffers[buffer]);
    if (!offset) return;
    opf_emit_scope scope = scope_of(s);
    opf_text_add(out, "[");
    opf_emit_index(offset, &scope, out);
    opf_text_add(out, "]");
}

/* Where the element at `offset` of a float16 argument is held as a float; NULL: it is not. */
static const opf_half_line *line_of(const opf_statements *s, int buffer, const opf_expr *offset, bool stores) {
    for (int k = 0; k < s->n_lines; k++)
        if (s->lines[k].buffer == buffer && s->lines[k].offset == offset && s->lines[k].stores == stores) return &s->lines[k];
    return NULL;
}

static void print_load(void *data, const opf_expr *load, opf_text *out) {
    opf_statements *s = data;
    const opf_half_line *half = load->n_args ? line_of(s, load->index, load->args[0], false) : NULL;
    if (half) {
        opf_text_printf(out, "%s[%s]", half->name, s->lane);
        return;
    }
    const opf_nest_buffer *buffer = &s->nest->buffers.data[load->index];
    if (!is_argument(buffer) || buffer->dtype == opf_dtype_held(buffer->dtype)) {
        print_place(s, load->index, load->n_args ? load->args[0] : NULL, out);
        return;
    }
    opf_emit_scope scope = scope_of(s);
    opf_text offset = {0};
    opf_emit_index(load->args[0], &scope, &offset);
    s->used[load->index] = true;
    opf_emit_element(buffer->dtype, s->buffers[load->index], opf_text_string(&offset), out);
    opf_text_free(&offset);
}

static bool print_load_code(void *data, const opf_expr *load, opf_text *out) {
    opf_statements *s = data;
    const opf_nest_buffer *buffer = &s->nest->buffers.data[load->index];
    if (!is_argument(buffer) || opf_dtype_is_packed(buffer->dtype)) return false;
    print_place(s, load->index, load->args[0], out);
    return true;
}

static const char *text_of(opf_statements *s, const opf_expr *e, bool operand) {
    opf_text text = {0};
    if (operand) print_operand(s, e, &text);
    else print(s, e, &text);
    const char *string = opf_arena_string(s->names.arena, opf_text_string(&text));
    opf_text_free(&text);
    return string;
}

/* ---- loops ---- */

static void declare(opf_statements *s, int variable) {
    s->variables[variable] = opf_names_take(&s->names, "i_", s->nest->variables.data[variable].name);
}

static void print_body(opf_statements *s, const opf_block *body) {
    s->indent++;
    opf_emit_block(s, body);
    s->indent--;
    line(s, "}");
}

/* ---- lines of float16 ---- */

enum { ELEMENTS_OF_LINE = 256, LINE_THAT_PAYS = 16 };

/* Is it float16 as memory holds it, and not as a float? */
static bool holds_codes(const opf_nest_buffer *buffer) { return buffer->dtype == OPF_FLOAT16 && is_argument(buffer); }

/* Floats in memory, such as are float16 numbers or are made some. */
static bool holds_floats(const opf_nest_buffer *buffer) {
    return buffer->dtype == OPF_FLOAT32 || (buffer->dtype == OPF_FLOAT16 && !is_argument(buffer));
}

/* Where the run begins that goes through `offset` as the loop's variable goes from its first value on; NULL where it is no run. */
static const opf_expr *begin_of_run(const opf_statements *s, const opf_code *loop, const opf_expr *offset) {
    const opf_expr *step, *rest;
    bool runs = offset && opf_expr_affine(s->nest->pool, offset, loop->variable, &step, &rest) && opf_is_value(step, 1);
    return runs ? opf_add(s->nest->pool, rest, loop->from) : NULL;
}

/* A loop that makes floats of float16 side by side, or the reverse, and nothing else: a call. */
static bool print_half_line(opf_statements *s, const opf_code *loop) {
    const opf_code *store = loop->body.list.count == 1 ? loop->body.list.data[0] : NULL;
    if (!store || store->kind != OPF_CODE_STORE || store->declares || loop->step != 1) return false;
    const opf_expr *value = store->value;
    if (value->kind == OPF_EXPR_CAST && opf_dtype_held((opf_dtype)value->args[0]->dtype) == OPF_FLOAT32) value = value->args[0];
    if (value->kind != OPF_EXPR_LOAD) return false;
    const opf_nest_buffer *to = &s->nest->buffers.data[store->buffer], *from = &s->nest->buffers.data[value->index];
    bool loads = holds_codes(from) && holds_floats(to), stores = holds_codes(to) && holds_floats(from);
    opf_run target = {store->buffer, begin_of_run(s, loop, store->offset)}, source = {value->index, begin_of_run(s, loop, value->n_args ? value->args[0] : NULL)};
    if ((!loads && !stores) || !target.offset || !source.offset) return false;
    line(s, "opf_%s_line_f16(%s, %s, %s);", loads ? "load" : "store", run_text(s, &target), run_text(s, &source), text_of(s, opf_sub(s->nest->pool, loop->to, loop->from), false));
    return true;
}

static bool take_line(opf_statements *s, const opf_code *loop, int buffer, const opf_expr *offset, bool stores) {
    if (!holds_codes(&s->nest->buffers.data[buffer]) || !begin_of_run(s, loop, offset) || line_of(s, buffer, offset, stores)) return true;
    if (s->n_lines == OPF_MOST_HALF_LINES) return false;
    s->lines[s->n_lines++] = (opf_half_line){buffer, offset, "", stores};
    return true;
}

/* Of the loads that an iteration makes in any case. False: too many, or one of what the loop may store. */
static bool take_loads(opf_statements *s, const opf_code *loop, const opf_expr *e) {
    if (e->kind == OPF_EXPR_LOAD) {
        const opf_nest_buffer *buffer = &s->nest->buffers.data[e->index];
        if (holds_codes(buffer) && buffer->memory == OPF_MEMORY_RESULT) return false;
        return !e->n_args || take_line(s, loop, e->index, e->args[0], false);
    }
    for (int k = 0; k < (e->kind == OPF_EXPR_SELECT ? 1 : e->n_args); k++)
        if (!take_loads(s, loop, e->args[k])) return false;
    return true;
}

static bool reads_result(const opf_statements *s, const opf_expr *e) {
    if (e->kind == OPF_EXPR_LOAD) return s->nest->buffers.data[e->index].memory == OPF_MEMORY_RESULT && holds_codes(&s->nest->buffers.data[e->index]);
    for (int k = 0; k < e->n_args; k++)
        if (reads_result(s, e->args[k])) return true;
    return false;
}

/* The lines of float16 that the loop walks along, if it does nothing but compute and store. */
static bool find_lines(opf_statements *s, const opf_code *loop) {
    int64_t length;
    if (s->n_lines || loop->step != 1 || (opf_is_int(opf_sub(s->nest->pool, loop->to, loop->from), &length) && length < LINE_THAT_PAYS)) return false;
    bool fine = true;
    for (size_t i = 0; i < loop->body.list.count && fine; i++) {
        const opf_code *store = loop->body.list.data[i];
        fine = store->kind == OPF_CODE_STORE && !reads_result(s, store->value) && take_loads(s, loop, store->value) &&
               (!store->offset || take_line(s, loop, store->buffer, store->offset, true));
    }
    if (!fine) s->n_lines = 0;
    return s->n_lines > 0;
}

static void print_lines(opf_statements *s, const opf_code *loop, const char *begin, const char *count, bool stores) {
    const char *variable = s->variables[loop->variable];
    s->variables[loop->variable] = begin;
    for (int k = 0; k < s->n_lines; k++) {
        opf_half_line *half = &s->lines[k];
        opf_run run = {half->buffer, half->offset};
        if (half->stores != stores) continue;
        int lines = s->n_lines;
        s->n_lines = 0; /* offsets may be read from memory themselves */
        const char *place = run_text(s, &run);
        s->n_lines = lines;
        if (stores) line(s, "opf_store_line_f16(%s, %s, %s);", place, half->name, count);
        else line(s, "opf_load_line_f16(%s, %s, %s);", half->name, place, count);
    }
    s->variables[loop->variable] = variable;
}

/* A loop over float16 goes in pieces: floats are made of the lines that it reads, it works on floats, and they are made float16 behind it. A loop of its own
 * conversions would go by as many elements as two bytes ask for, and take some thirty operations for each of them. */
static bool print_loop_of_lines(opf_statements *s, const opf_code *loop) {
    if (!find_lines(s, loop)) return false;
    size_t mark = opf_names_mark(&s->names);
    const char *from = text_of(s, loop->from, false), *to = text_of(s, loop->to, false), *to_operand = text_of(s, loop->to, true);
    const char *begin = opf_names_take(&s->names, "", "begin"), *count = opf_names_take(&s->names, "", "count");
    line(s, "for (int64_t %s = %s; %s < %s; %s += %d) {", begin, from, begin, to, begin, ELEMENTS_OF_LINE);
    s->indent++;
    line(s, "const int64_t %s = opf_min_i64(%s - %s, %d);", count, to_operand, begin, ELEMENTS_OF_LINE);
    for (int k = 0; k < s->n_lines; k++) {
        s->lines[k].name = opf_names_take(&s->names, "", "line");
        line(s, "_Alignas(64) float %s[%d];", s->lines[k].name, ELEMENTS_OF_LINE);
    }
    declare(s, loop->variable);
    const char *name = s->variables[loop->variable];
    print_lines(s, loop, begin, count, false);
    s->lane = opf_arena_printf(s->names.arena, "%s - %s", name, begin);
    if (loop->independent) line(s, "OPF_INDEPENDENT");
    line(s, "for (int64_t %s = %s; %s < %s + %s; %s++) {", name, begin, name, begin, count, name);
    print_body(s, &loop->body);
    print_lines(s, loop, begin, count, true);
    s->n_lines = 0;
    s->indent--;
    line(s, "}");
    opf_names_release(&s->names, mark);
    return true;
}

static void print_loop(opf_statements *s, const opf_code *code) {
    if (print_half_line(s, code) || print_loop_of_lines(s, code)) return;
    size_t mark = opf_names_mark(&s->names);
    const char *from = text_of(s, code->from, false), *to = text_of(s, code->to, false);
    declare(s, code->variable);
    const char *name = s->variables[code->variable];
    if (code->independent) line(s, "OPF_INDEPENDENT");
    if (code->step == 1) line(s, "for (int64_t %s = %s; %s < %s; %s++) {", name, from, name, to, name);
    else line(s, "for (int64_t %s = %s; %s < %s; %s += %lld) {", name, from, name, to, name, (long long)code->step);
    print_body(s, &code->body);
    opf_names_release(&s->names, mark);
}

static void print_share(opf_statements *s, const opf_code *code) {
    if (code->variable < 0) {
        line(s, "if (part == 0) {");
        print_body(s, &code->body);
        return;
    }
    s->uses_parts = true;
    const char *share = opf_names_take(&s->names, "", "share"); /* stays in scope with its block */
    const char *to = text_of(s, code->to, code->step > 1);
    long long step = (long long)code->step;
    if (step > 1) {
        const char *stop = opf_names_take(&s->names, "", "stop");
        line(s, "const opf_span %s = opf_share((%s + %lld) / %lld, part, parts);", share, to, step - 1, step);
        line(s, "const int64_t %s = opf_min_i64(%s, %s.end * %lld);", stop, to, share, step);
        size_t mark = opf_names_mark(&s->names);
        declare(s, code->variable);
        const char *name = s->variables[code->variable];
        line(s, "for (int64_t %s = %s.begin * %lld; %s < %s; %s++) {", name, share, step, name, stop, name);
        print_body(s, &code->body);
        opf_names_release(&s->names, mark);
        return;
    }
    line(s, "const opf_span %s = opf_share(%s, part, parts);", share, to);
    size_t mark = opf_names_mark(&s->names);
    declare(s, code->variable);
    const char *name = s->variables[code->variable];
    line(s, "for (int64_t %s = %s.begin; %s < %s.end; %s++) {", name, share, name, share, name);
    s->unit = name;
    s->share = share;
    print_body(s, &code->body);
    opf_names_release(&s->names, mark);
}

/* ---- stores ---- */

/* "a[i] += x" for a[i] = a[i] + x */
static const char *compound(const opf_code *code, const opf_expr **rest) {
    const opf_expr *value = code->value;
    bool binary = value->kind == OPF_EXPR_BINARY && opf_dtype_is_float((opf_dtype)value->dtype) && !opf_emit_is_narrow((opf_dtype)value->dtype);
    bool product = binary && value->op == OPF_OP_ACCUMULATE && value->args[1]->kind == OPF_EXPR_BINARY && value->args[1]->op == OPF_OP_MUL;
    if (!binary || product || (value->op != OPF_OP_ADD && value->op != OPF_OP_ACCUMULATE && value->op != OPF_OP_MUL)) return NULL;
    const opf_expr *old = value->args[0];
    if (old->kind != OPF_EXPR_LOAD || old->index != code->buffer) return NULL;
    if ((old->n_args ? old->args[0] : NULL) != code->offset) return NULL;
    *rest = value->args[1];
    return value->op == OPF_OP_MUL ? "*=" : "+=";
}

static const char *code_of(opf_statements *s, const opf_expr *e) {
    opf_emit_scope scope = scope_of(s);
    opf_text text = {0};
    opf_emit_code(e, &scope, &text);
    const char *string = opf_arena_string(s->names.arena, opf_text_string(&text));
    opf_text_free(&text);
    return string;
}

static void print_store(opf_statements *s, const opf_code *code) {
    const opf_nest_buffer *buffer = &s->nest->buffers.data[code->buffer];
    const opf_expr *rest = NULL;
    const char *how = code->declares ? NULL : compound(code, &rest);
    const opf_half_line *half = code->offset ? line_of(s, code->buffer, code->offset, true) : NULL;
    if (half) { /* rounded when the line is stored */
        line(s, "%s[%s] = %s;", half->name, s->lane, text_of(s, opf_emit_unrounded(code->value), false));
        return;
    }
    bool as_code = opf_emit_is_narrow(buffer->dtype) && is_argument(buffer);
    const char *value = as_code ? code_of(s, code->value) : text_of(s, rest ? rest : code->value, false);
    begin_line(s);
    if (code->declares) {
        s->buffers[code->buffer] = opf_names_take(&s->names, "", buffer->name);
        if (buffer->changes) opf_text_printf(s->out, "%s ", opf_emit_value_ctype(buffer->dtype));
        else opf_text_printf(s->out, "const %s ", opf_emit_local_ctype(buffer->dtype, code->value));
    }
    print_place(s, code->buffer, code->offset, s->out);
    opf_text_printf(s->out, " %s %s;\n", how ? how : "=", value);
}

static void print_array(opf_statements *s, const opf_code *code) {
    const opf_nest_buffer *buffer = &s->nest->buffers.data[code->buffer];
    const char *elements = text_of(s, buffer->elements, false);
    int64_t count;
    bool vectors = opf_is_int(buffer->elements, &count) && count * (int64_t)opf_dtype_bytes(buffer->dtype, 1) >= 64; /* none of them across two cache lines */
    s->buffers[code->buffer] = opf_names_take(&s->names, "", buffer->name);
    line(s, "%s%s %s[%s];", vectors ? "_Alignas(64) " : "", opf_emit_value_ctype(buffer->dtype), s->buffers[code->buffer], elements);
}

/* ---- reductions ---- */

typedef struct reducer { const char *function, *join, *compound; } reducer;
static const reducer reducers[OPF_COMBINE_COUNT] = {
    [OPF_COMBINE_SUM] = {"sum", "add", "+="},
    [OPF_COMBINE_PROD] = {"prod", "mul", "*="},
    [OPF_COMBINE_MIN] = {"min_reduce", "min", NULL},
    [OPF_COMBINE_MAX] = {"max_reduce", "max", NULL},
};

static const char *run_text(opf_statements *s, const opf_run *run) {
    s->used[run->buffer] = true;
    if (opf_is_value(run->offset, 0)) return s->buffers[run->buffer];
    return opf_arena_printf(s->names.arena, "%s + %s", s->buffers[run->buffer], text_of(s, run->offset, false));
}

/* `from`: the running value that it goes on from, NULL for none. */
static const char *reduction_text(opf_statements *s, const opf_code *code, const char *suffix, const char *from) {
    const char *count = text_of(s, code->to, false), *first = run_text(s, &code->operands[0]);
    opf_arena *arena = s->names.arena;
    const char *on = from ? "_on" : "", *start = from ? opf_arena_printf(arena, "%s, ", from) : "";
    if (code->running >= 0) return opf_arena_printf(arena, "opf_sum_behind_%s(%s, %s, %s)", suffix, s->buffers[code->running], first, count);
    if (code->n_operands == 1) return opf_arena_printf(arena, "opf_%s%s_%s(%s%s, %s)", reducers[code->combiner].function, on, suffix, start, first, count);
    const char *second = run_text(s, &code->operands[1]);
    if (strcmp(first, second) == 0) return opf_arena_printf(arena, "opf_sumsq%s_%s(%s%s, %s)", on, suffix, start, first, count);
    return opf_arena_printf(arena, "opf_dot%s_%s(%s%s, %s, %s)", on, suffix, start, first, second, count);
}

/* Sums that go on from the running value, term by term: opf_sum_on_f32(sum, x, n). */
static bool goes_on(const opf_statements *s, const opf_code *code, opf_dtype dtype) {
    bool ordered = code->combiner == OPF_COMBINE_SUM || code->combiner == OPF_COMBINE_PROD;
    return ordered && !code->declares && opf_dtype_is_float(dtype) && opf_group_is_exact(s->nest->group);
}

static void print_reduce(opf_statements *s, const opf_code *code) {
    const opf_nest_buffer *buffer = &s->nest->buffers.data[code->buffer];
    const reducer *row = &reducers[code->combiner];
    bool on = goes_on(s, code, buffer->dtype);
    const char *suffix = opf_emit_suffix(buffer->dtype), *value = reduction_text(s, code, suffix, on ? s->buffers[code->buffer] : NULL);
    if (on) {
        line(s, "%s = %s;", s->buffers[code->buffer], value);
        return;
    }
    if (code->declares) {
        s->buffers[code->buffer] = opf_names_take(&s->names, "", buffer->name);
        line(s, "const %s %s = %s;", opf_emit_value_ctype(buffer->dtype), s->buffers[code->buffer], value);
        return;
    }
    const char *name = s->buffers[code->buffer];
    if (row->compound && opf_dtype_is_float(buffer->dtype)) line(s, "%s %s %s;", name, row->compound, value);
    else line(s, "%s = opf_%s_%s(%s, %s);", name, row->join, suffix, name, value);
}

static void print_transpose(opf_statements *s, const opf_code *code) {
    opf_run to = {code->buffer, code->offset};
    const char *target = run_text(s, &to), *source = run_text(s, &code->operands[0]);
    s->stores_past |= code->past;
    line(s, "opf_transpose_%s%s%s(%s, %s, %s, %s, %s, %s);", code->gathered ? "gathered_" : "", code->past ? "past_" : "", opf_emit_suffix(s->nest->buffers.data[code->buffer].dtype), target, text_of(s, code->value, false),
         source, text_of(s, code->from, false), text_of(s, code->limit, false), text_of(s, code->to, false));
}

static void print_past(opf_statements *s, const opf_code *code) {
    opf_run to = {code->buffer, code->offset};
    const char *target = run_text(s, &to), *source = run_text(s, &code->operands[0]);
    s->stores_past = true;
    line(s, "opf_store_past(%s, %s, %s * %d);", target, source, text_of(s, code->to, true), (int)opf_dtype_bytes(s->nest->buffers.data[code->buffer].dtype, 1));
}

static void print_apart(opf_statements *s, const opf_code *code) {
    opf_run to = {code->buffer, code->offset};
    const char *even = run_text(s, &to), *odd = run_text(s, &code->operands[1]), *source = run_text(s, &code->operands[0]);
    line(s, "opf_take_apart(%s, %s, %s, %s);", even, odd, source, text_of(s, code->to, false));
}

static void print_ask(opf_statements *s, const opf_code *code) {
    int bytes = (int)opf_dtype_bytes(s->nest->buffers.data[code->operands[0].buffer].dtype, 1);
    line(s, "opf_ask_ahead(%s, %s * %d);", run_text(s, &code->operands[0]), text_of(s, code->to, true), bytes);
}

/* ---- blocks of rows ---- */

static void print_product(opf_statements *s, const opf_code *code) {
    opf_run to = {code->buffer, code->offset};
    const char *sums = run_text(s, &to), *a = run_text(s, &code->operands[0]), *b = run_text(s, &code->operands[1]);
    line(s, "opf_rows_%dx%d(%s, %s, %s, %s, %s, %s, %s, %s, %s);", code->height, code->width, text_of(s, code->to, false), text_of(s, code->columns, false),
         text_of(s, code->depth, false), a, text_of(s, code->from, false), b, text_of(s, code->limit, false), sums, text_of(s, code->value, false));
    if (code->zeros)
        line(s, "opf_zero_terms(%s, %s, %s, %s, %s, %s, %s, %s);", text_of(s, code->to, false), text_of(s, code->columns, false), text_of(s, code->depth, false),
             text_of(s, code->zeros, false), b, text_of(s, code->limit, false), sums, text_of(s, code->value, false));
}

static void print_fresh(opf_statements *s, const opf_code *code) {
    if (code->value) line(s, "if (%s == %s.begin || (%s)) {", s->unit, s->share, text_of(s, code->value, false));
    else line(s, "if (%s == %s.begin) {", s->unit, s->share);
    print_body(s, &code->body);
}

/* ---- all ---- */

static void print_note(opf_statements *s, const char *text) {
    if (!text) return;
    begin_line(s);
    opf_text_add(s->out, "/* ");
    opf_emit_comment(text, s->out);
    opf_text_add(s->out, " */\n");
}

static void print_code(opf_statements *s, const opf_code *code) {
    switch (code->kind) {
    case OPF_CODE_NOTE: print_note(s, code->text); break;
    case OPF_CODE_SHARE: print_share(s, code); break;
    case OPF_CODE_LOOP: print_loop(s, code); break;
    case OPF_CODE_IF:
        line(s, "if (%s) {", text_of(s, code->value, false));
        print_body(s, &code->body);
        break;
    case OPF_CODE_INDEX: {
        const char *value = text_of(s, code->value, false);
        declare(s, code->variable);
        line(s, "const int64_t %s = %s;", s->variables[code->variable], value);
        break;
    }
    case OPF_CODE_ARRAY: print_array(s, code); break;
    case OPF_CODE_CLEAR: line(s, "opf_clear_vectors(%s);", s->buffers[code->buffer]); break;
    case OPF_CODE_STORE: print_store(s, code); break;
    case OPF_CODE_REDUCE: print_reduce(s, code); break;
    case OPF_CODE_TRANSPOSE: print_transpose(s, code); break;
    case OPF_CODE_PRODUCT: print_product(s, code); break;
    case OPF_CODE_FRESH: print_fresh(s, code); break;
    case OPF_CODE_PAST: print_past(s, code); break;
    case OPF_CODE_APART: print_apart(s, code); break;
    case OPF_CODE_ASK: print_ask(s, code); break;
    }
}

void opf_emit_block(opf_statements *s, const opf_block *block) {
    size_t mark = opf_names_mark(&s->names);
    for (size_t i = 0; i < block->list.count; i++) print_code(s, block->list.data[i]);
    opf_names_release(&s->names, mark);
}

/* ---- declarations ---- */

static void declare_scratch(const opf_nest_buffer *buffer, const char *name, int indent, opf_text *out) {
    const char *type = opf_emit_value_ctype(buffer->dtype);
    opf_text_printf(out, "%*s%s *restrict %s = (%s *)(void *)(args->scratch + (size_t)part * args->scratch_stride", 4 * indent, "", type, name, type);
    if (!opf_is_value(buffer->offset, 0)) {
        opf_text_add(out, " + (size_t)");
        opf_emit_scope none = {.load = NULL};
        opf_emit_operand(buffer->offset, &none, out);
    }
    opf_text_add(out, ");\n");
}

void opf_emit_declarations(opf_statements *s, opf_text *out) {
    size_t n_inputs = s->nest->group->stages.inputs.count;
    for (size_t i = 0; i < s->nest->buffers.count; i++) {
        const opf_nest_buffer *buffer = &s->nest->buffers.data[i];
        if (!s->used[i]) continue;
        if (is_argument(buffer)) {
            bool input = buffer->memory == OPF_MEMORY_INPUT;
            size_t at = (size_t)buffer->index + (input ? 0 : n_inputs);
            opf_text_printf(out, "    %s%s *restrict %s = args->p[%zu];\n", input ? "const " : "", opf_emit_ctype(buffer->dtype), s->buffers[i], at);
        } else if (buffer->memory == OPF_MEMORY_SCRATCH) {
            declare_scratch(buffer, s->buffers[i], 1, out);
        }
    }
}

/* ---- fills ---- */

void opf_emit_fill(const opf_nest *fill, const char *result, const char *const *given, int indent, opf_text *out) {
    opf_arena *arena = opf_pool_arena(fill->pool);
    opf_text statements = {0};
    opf_statements s = {.nest = fill, .names = {.arena = arena}, .indent = indent, .out = &statements};
    s.variables = OPF_ARRAY(arena, const char *, fill->variables.count + 1);
    s.buffers = OPF_ARRAY(arena, const char *, fill->buffers.count + 1);
    s.used = OPF_ARRAY(arena, bool, fill->buffers.count + 1);
    for (size_t k = 0; k < fill->given.count; k++) {
        if (fill->given.data[k] >= 0) s.variables[fill->given.data[k]] = given[k];
        OPF_PUSH(arena, &s.names.taken, given[k]);
    }
    OPF_PUSH(arena, &s.names.taken, result);
    for (size_t b = 0; b < fill->buffers.count; b++) {
        const opf_nest_buffer *buffer = &fill->buffers.data[b];
        if (buffer->memory == OPF_MEMORY_INPUT) s.buffers[b] = opf_arena_printf(arena, "p%d", buffer->index);
        else if (buffer->memory == OPF_MEMORY_RESULT) s.buffers[b] = result;
        else if (buffer->memory == OPF_MEMORY_SCRATCH) s.buffers[b] = opf_names_take(&s.names, "", buffer->name);
    }
    opf_emit_block(&s, &fill->code);
    for (size_t b = 0; b < fill->buffers.count; b++)
        if (s.used[b] && fill->buffers.data[b].memory == OPF_MEMORY_SCRATCH) declare_scratch(&fill->buffers.data[b], s.buffers[b], indent, out);
    opf_text_add(out, opf_text_string(&statements));
    opf_text_free(&statements);
}
