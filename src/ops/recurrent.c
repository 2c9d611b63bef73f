/* Recurrent layers: RNN, GRU, LSTM, DynamicQuantizeLSTM. */
#include <strings.h>
#include <string.h>

#include "ops/families.h"
#include "ops/index.h"
#include "ops/library.h"

#include "opf_lib_recurrent.h"

enum { MOST_ACTIVATIONS = 6 };

/* ---- activations ---- */

static const struct activation {
    const char *name;
    int code;
    bool has_alpha, has_beta;
    float alpha, beta; /* their defaults */
} known_activations[] = {
    {"Sigmoid", OPF_LIB_SIGMOID, false, false, 0, 0},
    {"Tanh", OPF_LIB_TANH, false, false, 0, 0},
    {"Relu", OPF_LIB_RELU, false, false, 0, 0},
    {"Affine", OPF_LIB_AFFINE, true, true, 1, 0},
    {"LeakyRelu", OPF_LIB_LEAKY_RELU, true, false, 0.01f, 0},
    {"ThresholdedRelu", OPF_LIB_THRESHOLDED_RELU, true, false, 1, 0},
    {"ScaledTanh", OPF_LIB_SCALED_TANH, true, true, 1, 1},
    {"HardSigmoid", OPF_LIB_HARD_SIGMOID, true, true, 0.2f, 0.5f},
    {"Elu", OPF_LIB_ELU, true, false, 1, 0},
    {"Softsign", OPF_LIB_SOFTSIGN, false, false, 0, 0},
    {"Softplus", OPF_LIB_SOFTPLUS, false, false, 0, 0},
};

static const struct activation *find_activation(const char *name) {
    for (size_t k = 0; k < OPF_COUNT(known_activations); k++)
        if (strcasecmp(known_activations[k].name, name) == 0) return &known_activations[k];
    return NULL;
}

/* The next of a list of parameters, for activations that have one. */
static double parameter(const opf_attr *list, size_t *next, bool has, float otherwise) {
    return has && list && *next < list->count ? (double)list->floats[(*next)++] : (double)otherwise;
}

/* A list attribute of this kind; NULL where it is absent, and, reported, where it is of another kind. */
static const opf_attr *list_of(opf_call *call, const char *name, opf_attr_kind kind) {
    const opf_attr *attr = opf_node_attr(call->node, name);
    if (!attr || attr->kind == kind) return attr;
    opf_call_error(call, "attribute", "%s is %s; it must be %s", name, opf_attr_kind_name(attr->kind), opf_attr_kind_name(kind));
    return NULL;
}

static void add_activations(opf_call *call, int count, const char *const *defaults, int each) {
    const opf_attr *given = list_of(call, "activations", OPF_ATTR_STRINGS);
    const opf_attr *alphas = list_of(call, "activation_alpha", OPF_ATTR_FLOATS), *betas = list_of(call, "activation_beta", OPF_ATTR_FLOATS);
    size_t next_alpha = 0, next_beta = 0;
    double numbers[2 * MOST_ACTIVATIONS];
    if (given && (int)given->count != count) {
        opf_call_error(call, "attribute", "activations has %zu entries and must have %d", given->count, count);
        return;
    }
    for (int k = 0; k < count; k++) {
        const char *name = given ? given->strings[k] : defaults[k % each];
        const struct activation *activation = find_activation(name);
        if (!activation) {
            opf_call_error(call, "unsupported", "activation '%s' is not supported", name);
            return;
        }
        opf_library_int(call, activation->code);
        numbers[2 * k] = parameter(alphas, &next_alpha, activation->has_alpha, activation->alpha);
        numbers[2 * k + 1] = parameter(betas, &next_beta, activation->has_beta, activation->beta);
    }
    opf_library_float(call, opf_node_float(call->node, "clip", 0));
    for (int k = 0; k < 2 * count; k++) opf_library_float(call, numbers[k]);
}

/* ---- shapes ---- */

typedef struct layer {
    const char *kernel;
    int n_inputs, n_outputs, gates, activations;
    const char *defaults[3];
    const char *special;   /* attribute */
    bool quantized;
} layer;

static int direction_of(opf_call *call) {
    const char *text = opf_node_string(call->node, "direction", "forward");
    if (strcmp(text, "forward") == 0) return 0;
    if (strcmp(text, "reverse") == 0) return 1;
    if (strcmp(text, "bidirectional") == 0) return 2;
    opf_call_error(call, "attribute", "direction '%s' is none of forward, reverse, bidirectional", text);
    return 0;
}

static void check_operand(opf_call *call, int input, int rank, const opf_dim *want, const char *what) {
    if (!opf_call_input(call, input) || !opf_call_check_rank(call, input, rank, rank, what)) return;
    for (int k = 0; k < rank; k++)
        if (want[k]) opf_call_same(call, opf_call_dim(call, input, k), want[k], what);
}

static void check_operands(opf_call *call, const layer *layer, opf_dim directions, opf_dim batch, opf_dim hidden, int layout) {
    opf_pool *pool = call->pool;
    opf_dim rows = opf_mul(pool, hidden, opf_call_int(call, layer->gates)), input = opf_call_dim(call, 0, 2);
    bool turned = layer->quantized;
    check_operand(call, 1, 3, (opf_dim[]){directions, turned ? input : rows, turned ? rows : input}, "the input weights");
    check_operand(call, 2, 3, (opf_dim[]){directions, turned ? hidden : rows, turned ? rows : hidden}, "the recurrent weights");
    check_operand(call, 3, 2, (opf_dim[]){directions, opf_mul(pool, rows, opf_call_int(call, 2))}, "the bias");
    check_operand(call, 4, 1, (opf_dim[]){batch}, "the sequence lengths");
    opf_dim state[] = {layout ? batch : directions, layout ? directions : batch, hidden};
    check_operand(call, 5, 3, state, "the initial state");
    if (layer->gates == 4) check_operand(call, 6, 3, state, "the initial cell state");
    if (layer->gates == 4) check_operand(call, 7, 2, (opf_dim[]){directions, opf_mul(pool, hidden, opf_call_int(call, 3))}, "the peepholes");
}

static bool check_types(opf_call *call, const layer *layer) {
    for (int k = 0; k < layer->n_inputs; k++) {
        bool integers = k == 4 || (layer->quantized && (k == 1 || k == 2 || k == 9 || k == 11));
        if (!opf_call_input(call, k) || integers || opf_call_dtype(call, k) == OPF_FLOAT32) continue;
        opf_call_error(call, "unsupported", "%s of %s is not supported, only of float32", call->node->op, opf_dtype_name(opf_call_dtype(call, k)));
        return false;
    }
    bool bytes = !layer->quantized || ((opf_call_dtype(call, 1) == OPF_INT8 || opf_call_dtype(call, 1) == OPF_UINT8) && opf_call_dtype(call, 1) == opf_call_dtype(call, 2));
    if (!bytes) opf_call_error(call, "type", "the weights must both be int8 or both uint8");
    return bytes;
}

/* ---- packed weights ---- */

static opf_dim whole_panels(opf_call *call, opf_dim columns) {
    opf_dim panel = opf_call_int(call, OPF_LIB_PANEL);
    return opf_mul(call->pool, opf_ceildiv(call->pool, columns, panel), panel);
}

/* Columns of all panels, and where GRU's third gate begins (opf_lib_gate_columns, opf_lib_third_gate). */
static opf_dim gate_columns(opf_call *call, const layer *layer, opf_dim hidden, opf_dim *third) {
    opf_dim two = whole_panels(call, opf_mul(call->pool, hidden, opf_call_int(call, 2)));
    *third = layer->gates == 3 ? two : NULL;
    return layer->gates == 3 ? opf_add(call->pool, two, whole_panels(call, hidden)) : whole_panels(call, opf_mul(call->pool, hidden, opf_call_int(call, layer->gates)));
}

/* Operand `input`, [direction][gates * hidden][depth], as panels. */
static void pack_weights(opf_call *call, const layer *layer, int input, opf_dim hidden) {
    opf_pool *pool = call->pool;
    opf_dim third, columns = gate_columns(call, layer, hidden, &third), panel = opf_call_int(call, OPF_LIB_PANEL), depth = opf_call_dim(call, input, 2);
    opf_dim extents[] = {opf_call_dim(call, input, 0), opf_floordiv(pool, columns, panel), depth, panel};
    static const char *const names[] = {"direction", "panel", "k", "column"};
    const opf_expr *column = opf_add(pool, opf_mul(pool, opf_var(pool, 1), panel), opf_var(pool, 3));
    opf_dim first_gates = opf_mul(pool, hidden, opf_call_int(call, third ? 2 : layer->gates));
    const opf_expr *zero = opf_real(pool, OPF_FLOAT32, 0), *index[] = {opf_var(pool, 0), column, opf_var(pool, 2)}, *body;
    body = opf_select(pool, opf_binary(pool, OPF_OP_LT, column, first_gates), opf_load(pool, OPF_FLOAT32, 0, 3, index), zero);
    if (third) {
        const opf_expr *within = opf_sub(pool, column, third);
        index[1] = opf_add(pool, first_gates, within);
        const opf_expr *last = opf_select(pool, opf_binary(pool, OPF_OP_LT, within, hidden), opf_load(pool, OPF_FLOAT32, 0, 3, index), zero);
        body = opf_select(pool, opf_binary(pool, OPF_OP_LT, column, third), body, last);
    }
    opf_library_pack(call, input, OPF_FLOAT32, "packed weights", 4, extents, names, body);
}

/* Quantised operand `input`, [direction][depth][gates * hidden], as panels of words along the depth. */
static void pack_bytes(opf_call *call, const layer *layer, int input, opf_dim hidden) {
    opf_pool *pool = call->pool;
    opf_dim third, columns = gate_columns(call, layer, hidden, &third), panel = opf_call_int(call, OPF_LIB_PANEL), four = opf_call_int(call, 4);
    opf_dim depth = opf_call_dim(call, input, 1), words = opf_ceildiv(pool, depth, four);
    opf_dim extents[] = {opf_call_dim(call, input, 0), opf_floordiv(pool, columns, panel), words, panel, four};
    static const char *const names[] = {"direction", "panel", "word", "column", "k"};
    const opf_expr *column = opf_add(pool, opf_mul(pool, opf_var(pool, 1), panel), opf_var(pool, 3));
    const opf_expr *k = opf_add(pool, opf_mul(pool, opf_var(pool, 2), four), opf_var(pool, 4));
    opf_dtype dtype = opf_call_dtype(call, input);
    const opf_expr *index[] = {opf_var(pool, 0), k, column}, *zero = opf_int_of(pool, dtype, 0);
    const opf_expr *inside = opf_select(pool, opf_binary(pool, OPF_OP_LT, k, depth), opf_load(pool, dtype, 0, 3, index), zero);
    opf_library_pack(call, input, dtype, "packed weights", 5, extents, names,
                     opf_select(pool, opf_binary(pool, OPF_OP_LT, column, opf_mul(pool, hidden, opf_call_int(call, layer->gates))), inside, zero));
}

static bool can_be_packed(const opf_call *call, int input) { return opf_call_input(call, input)->constant != NULL; }

/* As opf_lib_recurrent lays it out; weights that are no constants are packed in each run. */
static opf_dim scratch_bytes(opf_call *call, const layer *layer, opf_dim batch, opf_dim hidden) {
    opf_pool *pool = call->pool;
    opf_dim third, columns = gate_columns(call, layer, hidden, &third), steps = opf_mul(pool, batch, opf_call_int(call, OPF_LIB_STEPS));
    opf_dim floats = opf_mul(pool, steps, opf_add(pool, columns, opf_call_int(call, 2)));
    floats = opf_add(pool, floats, opf_mul(pool, columns, opf_add(pool, batch, opf_call_int(call, 1))));
    floats = opf_add(pool, floats, opf_mul(pool, hidden, opf_mul(pool, batch, opf_call_int(call, 3))));
    if (layer->quantized) {
        opf_dim depth = opf_binary(pool, OPF_OP_MAX, opf_call_dim(call, 0, 2), hidden), words = opf_ceildiv(pool, depth, opf_call_int(call, 4));
        floats = opf_add(pool, floats, opf_mul(pool, steps, opf_add(pool, words, opf_call_int(call, 1))));
        floats = opf_add(pool, floats, opf_add(pool, words, opf_mul(pool, columns, opf_call_int(call, 6))));
    }
    for (int input = 1; input <= 2; input++) {
        if (can_be_packed(call, input)) continue;
        opf_dim depth = opf_call_dim(call, input, layer->quantized ? 1 : 2);
        opf_dim each = layer->quantized ? opf_ceildiv(pool, depth, opf_call_int(call, 4)) : depth;
        floats = opf_add(pool, floats, opf_mul(pool, opf_mul(pool, opf_call_dim(call, input, 0), columns), each));
    }
    return opf_mul(pool, floats, opf_call_int(call, 4));
}

static void add_results(opf_call *call, const layer *layer, opf_dim steps, opf_dim batch, opf_dim directions, opf_dim hidden, int layout) {
    opf_dim all[] = {steps, directions, batch, hidden}, last[] = {directions, batch, hidden};
    opf_dim all_by_batch[] = {batch, steps, directions, hidden}, last_by_batch[] = {batch, directions, hidden};
    opf_library_result(call, 0, OPF_FLOAT32, 4, layout ? all_by_batch : all);
    for (int k = 1; k < layer->n_outputs; k++) opf_library_result(call, k, OPF_FLOAT32, 3, layout ? last_by_batch : last);
}

static opf_status recurrent(opf_call *call, const layer *layer) {
    if (!opf_call_check_rank(call, 0, 3, 3, "the input") || !opf_call_check_rank(call, 2, 3, 3, "the recurrent weights") || !check_types(call, layer)) return OPF_ERROR_INPUT;
    int direction = direction_of(call), layout = opf_node_int(call->node, "layout", 0) != 0, n_directions = direction == 2 ? 2 : 1;
    opf_dim steps = opf_call_dim(call, 0, layout), batch = opf_call_dim(call, 0, !layout), directions = opf_call_int(call, n_directions);
    opf_dim hidden = opf_call_dim(call, 2, layer->quantized ? 1 : 2);
    int64_t told = opf_node_int(call->node, "hidden_size", 0);
    if (told > 0) opf_call_same(call, hidden, opf_call_int(call, told), "hidden_size and the recurrent weights");
    check_operands(call, layer, directions, batch, hidden, layout);
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_library(call, layer->kernel, layer->n_inputs, layer->n_outputs);
    opf_library_int(call, direction);
    opf_library_int(call, layout);
    opf_library_int(call, layer->special ? opf_node_int(call->node, layer->special, 0) : 0);
    opf_library_dim(call, hidden);
    add_activations(call, n_directions * layer->activations, layer->defaults, layer->activations);
    for (int input = 1; input <= 2; input++)
        if (can_be_packed(call, input)) (layer->quantized ? pack_bytes : pack_weights)(call, layer, input, hidden);
    opf_library_scratch(call, scratch_bytes(call, layer, batch, hidden));
    add_results(call, layer, steps, batch, directions, hidden, layout);
    return call->failed ? OPF_ERROR_INPUT : OPF_OK;
}

static opf_status build_rnn(opf_call *call) {
    static const layer rnn = {"rnn", 6, 2, 1, 1, {"Tanh"}, NULL, false};
    return recurrent(call, &rnn);
}
static opf_status build_gru(opf_call *call) {
    static const layer gru = {"gru", 6, 2, 3, 2, {"Sigmoid", "Tanh"}, "linear_before_reset", false};
    return recurrent(call, &gru);
}
static opf_status build_lstm(opf_call *call) {
    static const layer lstm = {"lstm", 8, 3, 4, 3, {"Sigmoid", "Tanh", "Tanh"}, "input_forget", false};
    return recurrent(call, &lstm);
}
static opf_status build_dynamic_quantize_lstm(opf_call *call) {
    static const layer lstm = {"lstm_quantized", 12, 3, 4, 3, {"Sigmoid", "Tanh", "Tanh"}, "input_forget", true};
    return recurrent(call, &lstm);
}

const opf_op opf_ops_recurrent[] = {
    {"", "RNN", 7, 3, 6, 2, OPF_KIND_OPAQUE, OPF_OP_LIBRARY, build_rnn, NULL},
    {"", "GRU", 7, 3, 6, 2, OPF_KIND_OPAQUE, OPF_OP_LIBRARY, build_gru, NULL},
    {"", "LSTM", 7, 3, 8, 3, OPF_KIND_OPAQUE, OPF_OP_LIBRARY, build_lstm, NULL},
    {"com.microsoft", "DynamicQuantizeLSTM", 1, 3, 12, 3, OPF_KIND_OPAQUE, OPF_OP_LIBRARY, build_dynamic_quantize_lstm, NULL},
};
const size_t opf_ops_recurrent_count = OPF_COUNT(opf_ops_recurrent);
