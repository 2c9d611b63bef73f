/* A contraction that hands its lines to the pool behind it, as C: a function that computes the lines of a band, called for one
 * band after the other, and the windows that are taken from these (loop/relay.h). */
#include "loop/relay.h"

#include "base/hash.h"
#include "emit/spelling.h"
#include "emit/statements.h"
#include "emit/tile.h"

/* "opf_lines_" and the hash of its text: kernels of equal fronts share one. */
static opf_status front_name(const opf_nest *nest, const char **out) {
    opf_text body = {0};
    opf_status status = opf_emit_kernel_body(nest->relay->front, &body);
    *out = opf_arena_printf(opf_pool_arena(nest->pool), "%.8s", opf_hash_print(opf_hash_bytes(opf_text_string(&body), body.length)).text);
    opf_text_free(&body);
    return status;
}

opf_status opf_emit_relay_functions(const opf_nest *nest, opf_text *out) {
    const opf_nest *front = nest->relay->front;
    const char *name;
    opf_status status = front_name(nest, &name);
    if (status != OPF_OK) return status;
    opf_emit_tile_functions(front, out);
    opf_text_printf(out, "#ifndef OPF_LINES_%s\n#define OPF_LINES_%s\n", name, name);
    opf_text_printf(out, "/* The lines of one band: %s. */\n", front->schedule);
    opf_text_printf(out, "static void opf_lines_%s(const opf_args *args, int part, int parts) {\n", name);
    opf_emit_tile_statements(front, out);
    opf_text_add(out, "}\n#endif\n");
    return OPF_OK;
}

typedef struct usage { bool *used; size_t n; } usage;

static bool visit_use(const opf_expr *e, void *data) {
    const usage *u = data;
    if (e->kind == OPF_EXPR_LOAD && (size_t)e->index < u->n) u->used[e->index] = true;
    return true;
}

/* Those inputs that the windows read, beside the lines. */
static void print_inputs(const opf_nest *nest, opf_text *out) {
    const opf_group *fill = nest->relay->fill->group;
    size_t n = nest->group->stages.inputs.count;
    usage u = {OPF_ARRAY(opf_pool_arena(nest->pool), bool, n + 1), n};
    for (size_t s = 0; s < fill->stages.list.count; s++) opf_expr_visit(nest->pool, fill->stages.list.data[s]->body, visit_use, &u);
    for (size_t i = 0; i < n; i++)
        if (u.used[i]) opf_text_printf(out, "    const %s *restrict p%zu = args->p[%zu];\n", opf_emit_ctype(fill->stages.inputs.data[i]->dtype), i, i);
}

/* What the front reads and writes: the kernel's own inputs, the lines in place of its result, its packed constants. */
static void print_arguments(const opf_nest *nest, opf_text *out) {
    size_t n = nest->group->stages.inputs.count;
    opf_text_add(out, "    void *const front_p[] = {");
    for (size_t i = 0; i < n; i++) opf_text_printf(out, "args->p[%zu], ", i);
    opf_text_add(out, "scratch");
    for (size_t i = 0; i < nest->packed.count; i++) opf_text_printf(out, ", args->p[%zu]", n + 1 + i);
    opf_text_add(out, "};\n");
}

/* Given variables stand for bands: a nest may be without one. */
static void print_windows(const opf_relay *relay, opf_text *out) {
    if (relay->inner) {
        opf_text_printf(out, "        if (%lld <= i_band && i_band < %lld) { /* no window reaches beyond the lines */\n", (long long)relay->inner_begin, (long long)relay->inner_end);
        if (relay->inner->given.data[0] >= 0) opf_text_printf(out, "            const int64_t i_inner = i_band - %lld;\n", (long long)relay->inner_begin);
        opf_emit_fill(relay->inner, "result", (const char *const[]){"i_inner"}, 3, out);
        opf_text_add(out, "            continue;\n        }\n");
    }
    opf_emit_fill(relay->fill, "result", (const char *const[]){"i_band"}, 2, out);
}

opf_status opf_emit_relay(const opf_nest *nest, opf_text *out) {
    const opf_relay *relay = nest->relay;
    size_t n = nest->group->stages.inputs.count;
    const opf_symbol *const *symbols;
    bool knows = opf_nest_symbols(relay->front, &symbols) > 0;
    const char *name;
    opf_status status = front_name(nest, &name);
    if (status != OPF_OK) return status;
    opf_text windows = {0};
    print_windows(relay, &windows);
    opf_emit_limits(opf_text_string(&windows), out);
    print_inputs(nest, out);
    opf_text_add(out, "    char *scratch = args->scratch + (size_t)part * args->scratch_stride;\n");
    opf_text_printf(out, "    const float *restrict p%zu = (const float *)(const void *)scratch; /* lines of a band */\n", n);
    print_arguments(nest, out);
    opf_text_printf(out, "    const opf_span span = opf_share(%lld, part, parts);\n", (long long)relay->bands);
    opf_text_add(out, "    for (int64_t i_band = span.begin; i_band < span.end; i_band++) {\n");
    if (knows) opf_text_add(out, "        const int64_t front_d[] = {i_band};\n");
    opf_text_printf(out, "        const opf_args front = {front_p, %s, scratch + %lld, 0};\n", knows ? "front_d" : "NULL", (long long)relay->lines_bytes);
    opf_text_printf(out, "        opf_lines_%s(&front, 0, 1);\n", name);
    opf_text_printf(out, "        float *restrict result = (float *)args->p[%zu] + i_band * %lld;\n", n, (long long)relay->step);
    opf_text_add(out, opf_text_string(&windows));
    opf_text_free(&windows);
    opf_text_add(out, "    }\n");
    return OPF_OK;
}
