/* Einsum: operands are contracted from left to right, one stage a pair, each over the labels that neither the result nor a
 * later operand needs any more. */
#include <ctype.h>

#include "ops/families.h"
#include "ops/index.h"

enum { LETTERS = 52, LABELS = LETTERS + OPF_MAX_RANK, MOST_OPERANDS = 64 }; /* labels 52 + k: axis k of the ellipsis from the right */

/* The labels of a tensor's axes. */
typedef struct term {
    int count;
    int labels[OPF_MAX_RANK];
} term;

typedef struct einsum {
    int n_operands;
    term operands[MOST_OPERANDS], output;
    int last_use[LABELS];          /* last operand that has the label, n_operands where the output has it */
    int times[LABELS];             /* in the operands' texts */
    int ellipsis;                  /* axes that the longest ellipsis stands for */
    opf_dim extents[LABELS];       /* NULL: label unused */
} einsum;

static int label_of(char c) { return islower((unsigned char)c) ? c - 'a' + 26 : c - 'A'; }

static const char *label_name(opf_call *call, int label) {
    if (label >= LETTERS) return opf_arena_printf(call->arena, "e%d", label - LETTERS);
    return opf_arena_printf(call->arena, "%c", label < 26 ? 'A' + label : 'a' + label - 26);
}

static bool push_label(opf_call *call, term *t, int label) {
    if (t->count < OPF_MAX_RANK) {
        t->labels[t->count++] = label;
        return true;
    }
    opf_call_error(call, "attribute", "a term of the equation has more than %d labels", OPF_MAX_RANK);
    return false;
}

/* Reads one term up to ',' or '-' or the end. `ellipsis_rank`: axes that "..." stands for; -1: as many as `rank` leaves. */
static bool read_term(opf_call *call, const char **text, int rank, int ellipsis_rank, term *out, int *ellipsis) {
    int letters = 0;
    const char *start = *text;
    for (const char *c = start; *c && *c != ',' && *c != '-'; c++) letters += isalpha((unsigned char)*c) != 0;
    int covered = ellipsis_rank >= 0 ? ellipsis_rank : rank - letters;
    *out = (term){0};
    *ellipsis = -1;
    for (; **text && **text != ',' && **text != '-'; (*text)++) {
        char c = **text;
        if (c == ' ') continue;
        if (isalpha((unsigned char)c)) {
            if (!push_label(call, out, label_of(c))) return false;
        } else if (c == '.' && (*text)[1] == '.' && (*text)[2] == '.' && *ellipsis < 0) {
            *text += 2;
            *ellipsis = covered;
            for (int k = covered - 1; k >= 0; k--)
                if (!push_label(call, out, LETTERS + k)) return false;
        } else {
            opf_call_error(call, "attribute", "the equation has an unexpected '%c' at column %d", c, (int)(*text - start) + 1);
            return false;
        }
    }
    return true;
}

/* Joins a label's extent in one operand with what is known of it: equal, or one of them 1. */
static void join_extent(opf_call *call, einsum *e, int label, opf_dim dim) {
    opf_dim known = e->extents[label];
    if (!known || opf_is_value(known, 1)) e->extents[label] = dim;
    else if (!opf_is_value(dim, 1)) e->extents[label] = opf_call_same(call, known, dim, opf_arena_printf(call->arena, "axes of label %s", label_name(call, label)));
}

static bool read_operands(opf_call *call, const char **text, einsum *e) {
    e->n_operands = call->node->n_inputs;
    if (e->n_operands > MOST_OPERANDS) {
        opf_call_error(call, "unsupported", "more than %d operands", MOST_OPERANDS);
        return false;
    }
    for (int k = 0; k < e->n_operands; k++) {
        if (!opf_call_input(call, k)) return opf_call_error(call, "arity", "operand %d is missing", k), false;
        if (!opf_call_check_same_type(call, 0, k)) return false;
        int ellipsis, rank = opf_call_rank(call, k);
        if (!read_term(call, text, rank, -1, &e->operands[k], &ellipsis)) return false;
        if (e->operands[k].count != rank) {
            opf_call_error(call, "shape", "the equation gives operand %d %d axes, and it has rank %d", k, e->operands[k].count, rank);
            return false;
        }
        if (ellipsis > e->ellipsis) e->ellipsis = ellipsis;
        for (int a = 0; a < rank; a++) {
            int label = e->operands[k].labels[a];
            join_extent(call, e, label, opf_call_dim(call, k, a));
            e->last_use[label] = k;
            e->times[label]++;
        }
        bool last = k == e->n_operands - 1;
        if (last == (**text == ',')) {
            opf_call_error(call, "attribute", "the equation does not have %d operands", e->n_operands);
            return false;
        }
        if (!last) (*text)++;
    }
    return true;
}

/* "->" and the output's labels; without them the ellipsis and then the labels that stand once, in alphabetical order. */
static bool read_output(opf_call *call, const char *text, einsum *e) {
    if (text[0] == '-' && text[1] == '>') {
        int ellipsis;
        text += 2;
        if (!read_term(call, &text, 0, e->ellipsis, &e->output, &ellipsis)) return false;
        if (*text) return opf_call_error(call, "attribute", "the equation goes on after its output"), false;
    } else if (*text) {
        return opf_call_error(call, "attribute", "the equation has '-' without '>'"), false;
    } else {
        for (int k = e->ellipsis - 1; k >= 0; k--)
            if (!push_label(call, &e->output, LETTERS + k)) return false;
        for (int label = 0; label < LETTERS; label++)
            if (e->times[label] == 1 && !push_label(call, &e->output, label)) return false;
    }
    for (int k = 0; k < e->output.count; k++) {
        int label = e->output.labels[k];
        if (!e->extents[label]) return opf_call_error(call, "attribute", "label %s of the output is in no operand", label_name(call, label)), false;
        if (e->last_use[label] == e->n_operands) return opf_call_error(call, "attribute", "label %s is twice in the output", label_name(call, label)), false;
        e->last_use[label] = e->n_operands;
    }
    return true;
}

static bool read_equation(opf_call *call, einsum *e) {
    const char *text = opf_node_string(call->node, "equation", NULL);
    if (!text) return opf_call_error(call, "attribute", "equation is missing"), false;
    return read_operands(call, &text, e) && read_output(call, text, e);
}

/* Element of a tensor whose axes have the labels of `t`, each label being variable position[label]. */
static const opf_expr *labelled_load(opf_call *call, const einsum *e, int tensor, const term *t, const int *position) {
    const opf_expr *indices[OPF_MAX_RANK];
    for (int k = 0; k < t->count; k++) {
        bool repeats = opf_is_value(opf_call_dim(call, tensor, k), 1) && !opf_is_value(e->extents[t->labels[k]], 1);
        indices[k] = repeats ? opf_call_int(call, 0) : opf_call_var(call, position[t->labels[k]]);
    }
    return opf_call_load(call, tensor, indices);
}

/* The stage's axes: `kept`, then every other label of the terms as reductions. */
typedef struct contraction {
    int n_axes, n_reduce;
    int position[LABELS]; /* variable of each label, -1: none */
    opf_dim extents[LABELS];
    const char *names[LABELS];
} contraction;

static void add_label(opf_call *call, const einsum *e, contraction *c, int label) {
    int at = c->n_axes + c->n_reduce;
    c->position[label] = at;
    c->extents[at] = e->extents[label];
    c->names[at] = label_name(call, label);
}

static contraction contraction_of(opf_call *call, const einsum *e, const term *kept, const term *const *terms, int n_terms) {
    contraction c = {0};
    for (int label = 0; label < LABELS; label++) c.position[label] = -1;
    for (int k = 0; k < kept->count; k++) {
        add_label(call, e, &c, kept->labels[k]);
        c.n_axes++;
    }
    for (int t = 0; t < n_terms; t++)
        for (int k = 0; k < terms[t]->count; k++) {
            if (c.position[terms[t]->labels[k]] >= 0) continue;
            add_label(call, e, &c, terms[t]->labels[k]);
            c.n_reduce++;
        }
    return c;
}

/* One stage: the product of one or two tensors, summed over the labels that are not kept. */
static int contract(opf_call *call, const einsum *e, const term *kept, int n, const int *tensors, const term *const *terms, opf_dtype dtype) {
    opf_dtype accumulator = opf_call_accumulator(opf_call_dtype(call, 0));
    contraction c = contraction_of(call, e, kept, terms, n);
    const opf_expr *body = NULL;
    for (int k = 0; k < n; k++) {
        const opf_expr *factor = labelled_load(call, e, tensors[k], terms[k], c.position);
        factor = opf_call_convert(call, accumulator, factor);
        body = body ? opf_binary(call->pool, OPF_OP_MUL, body, factor) : factor;
    }
    if (c.n_reduce == 0) {
        body = opf_call_convert(call, dtype, body);
        return opf_call_stage(call, "product", c.n_axes, 0, c.extents, c.names, OPF_COMBINE_NONE, dtype, dtype, body, NULL);
    }
    return opf_call_stage(call, "sum", c.n_axes, c.n_reduce, c.extents, c.names, OPF_COMBINE_SUM, dtype, accumulator, body, NULL);
}

/* Labels of both terms that are still needed after operand k. */
static bool needed_labels(opf_call *call, const einsum *e, int k, const term *left, const term *right, term *out) {
    bool seen[LABELS] = {false};
    const term *both[] = {left, right};
    *out = (term){0};
    for (int side = 0; side < 2; side++)
        for (int a = 0; a < both[side]->count; a++) {
            int label = both[side]->labels[a];
            if (seen[label] || e->last_use[label] <= k) continue;
            seen[label] = true;
            if (!push_label(call, out, label)) return false;
        }
    return true;
}

static opf_status build_einsum(opf_call *call) {
    opf_dtype dtype = opf_call_input(call, 0) ? opf_call_dtype(call, 0) : OPF_NO_DTYPE;
    if (!opf_dtype_is_float(dtype) && !opf_dtype_is_integer(dtype)) return opf_call_error(call, "type", "the operands must be numbers");
    einsum *e = OPF_NEW(call->arena, einsum);
    if (!read_equation(call, e) || call->failed) return OPF_ERROR_INPUT;
    int tensor = 0;
    term labels = e->operands[0];
    for (int k = 1; k < e->n_operands; k++) {
        bool last = k == e->n_operands - 1;
        term kept = e->output;
        if (!last && !needed_labels(call, e, k, &labels, &e->operands[k], &kept)) return OPF_ERROR_UNSUPPORTED;
        tensor = contract(call, e, &kept, 2, (int[]){tensor, k}, (const term *const[]){&labels, &e->operands[k]}, last ? dtype : opf_call_accumulator(dtype));
        labels = kept;
    }
    if (e->n_operands == 1) tensor = contract(call, e, &e->output, 1, (int[]){0}, (const term *const[]){&labels}, dtype);
    opf_call_result(call, 0, tensor);
    return OPF_OK;
}

const opf_op opf_ops_einsum[] = {
    {"", "Einsum", 12, 1, -1, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_einsum, NULL},
};
const size_t opf_ops_einsum_count = OPF_COUNT(opf_ops_einsum);
