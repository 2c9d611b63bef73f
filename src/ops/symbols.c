/* Symbols of graph inputs: their names, pins and hints, equalities. */
#include "ops/symbols.h"

#include "ops/facts.h"
#include "ops/lists.h"

#include <ctype.h>
#include <string.h>

enum { NOMINAL_LEADING = 1, NOMINAL_OTHER = 64 };

/* ---- names ---- */

static bool is_keyword(const char *name) {
    static const char *const keywords[] = {
        "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float", "for",
        "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof", "static", "struct",
        "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "main",
    };
    for (size_t k = 0; k < OPF_COUNT(keywords); k++)
        if (strcmp(keywords[k], name) == 0) return true;
    return false;
}

static char *identifier(opf_arena *arena, const char *name) {
    bool prefix = !(isalpha((unsigned char)name[0]) || name[0] == '_');
    char *result = opf_arena_printf(arena, "%s%s%s", prefix ? "d" : "", name, is_keyword(name) ? "_" : "");
    for (char *c = result; *c; c++)
        if (!isalnum((unsigned char)*c)) *c = '_';
    return result;
}

/* Placeholders that some exporters write for "unknown" ("?", "-1") are no names: two axes that have one need not agree. */
static const char *declared_name(const opf_value *value, int axis) {
    const char *name = value->declared_names && axis < value->declared_rank ? value->declared_names[axis] : NULL;
    for (const char *c = name; c && *c; c++)
        if (isalpha((unsigned char)*c) || (unsigned char)*c >= 0x80) return name;
    return NULL;
}

/* The size that the file gives, -1 where it gives none. */
static int64_t declared_size(const opf_value *value, int axis) {
    return value->declared_dims && axis < value->declared_rank && !declared_name(value, axis) ? value->declared_dims[axis] : -1;
}

/* ---- pins ---- */

static bool pin_names(const opf_pin *pin, const opf_value *value, int axis) {
    const char *name = declared_name(value, axis);
    if (pin->input) return pin->axis == axis && strcmp(pin->input, value->name) == 0;
    if (name) return strcmp(pin->symbol, name) == 0;
    return strncmp(pin->symbol, value->name, strlen(value->name)) == 0 &&
           strcmp(pin->symbol + strlen(value->name), opf_arena_printf(value->graph->module->arena, "_%d", axis)) == 0;
}

/* Does the pin speak of this dim, directly or through another axis that has the same declared name? */
static bool pin_reaches(const opf_pin *pin, const opf_graph *graph, const opf_value *value, int axis) {
    if (pin_names(pin, value, axis)) return true;
    const char *name = declared_name(value, axis);
    if (!name || !pin->input) return false;
    for (size_t k = 0; k < graph->inputs.count; k++) {
        const opf_value *other = graph->inputs.data[k];
        for (int a = 0; a < other->declared_rank; a++) {
            const char *other_name = declared_name(other, a);
            if (other_name && strcmp(other_name, name) == 0 && pin_names(pin, other, a)) return true;
        }
    }
    return false;
}

static int pinned_rank(const opf_value *value, const opf_pin *pins, size_t n_pins) {
    int rank = -1;
    for (size_t k = 0; k < n_pins; k++) {
        if (!pins[k].input || strcmp(pins[k].input, value->name) != 0) continue;
        int least = pins[k].axis == OPF_PIN_RANK ? (int)pins[k].size : pins[k].axis + 1;
        if (least > rank && least <= OPF_MAX_RANK) rank = least;
    }
    return rank;
}

static const opf_pin *rank_pin(const char *input, const opf_pin *pins, size_t n_pins) {
    for (size_t k = 0; k < n_pins; k++)
        if (pins[k].input && pins[k].axis == OPF_PIN_RANK && strcmp(pins[k].input, input) == 0) return &pins[k];
    return NULL;
}

static bool check_rank_pin(opf_module *module, const opf_pin *pin) {
    opf_place place = {.file = module->path, .index = -1};
    for (size_t i = 0; i < module->graph->inputs.count; i++) {
        const opf_value *value = module->graph->inputs.data[i];
        if (strcmp(value->name, pin->input) != 0) continue;
        if ((value->list ? value->list->rank : value->rank) == pin->size) return true;
        opf_text type = {0};
        opf_value_print_type(value, &type);
        opf_diag_add(module->diags, OPF_ERROR, "usage", place, "the shape given for input '%s' has rank %lld; the input is %s", pin->input, (long long)pin->size, opf_text_string(&type));
        opf_text_free(&type);
        return false;
    }
    opf_diag_add(module->diags, OPF_ERROR, "usage", place, "the model has no input '%s'", pin->input);
    return false;
}

static opf_status check_pins(opf_module *module, const opf_pin *pins, size_t n_pins) {
    opf_status status = OPF_OK;
    opf_place place = {.file = module->path, .index = -1};
    for (size_t k = 0; k < n_pins; k++) {
        const opf_pin *rank = pins[k].input ? rank_pin(pins[k].input, pins, n_pins) : NULL;
        bool found = rank && rank != &pins[k]; /* one word is enough */
        if (rank == &pins[k]) {
            if (!check_rank_pin(module, rank)) status = OPF_ERROR_USAGE;
            continue;
        }
        for (size_t i = 0; i < module->graph->inputs.count; i++) {
            const opf_value *value = module->graph->inputs.data[i];
            for (int axis = 0; axis < (value->list ? value->list->rank : value->rank); axis++) found = found || pin_names(&pins[k], value, axis);
        }
        if (found) continue;
        if (pins[k].input) opf_diag_add(module->diags, OPF_ERROR, "usage", place, "the model has no input '%s' with an axis %d", pins[k].input, pins[k].axis);
        else opf_diag_add(module->diags, OPF_ERROR, "usage", place, "no input of the model has a size named '%s'", pins[k].symbol);
        status = OPF_ERROR_USAGE;
    }
    return status;
}

/* ---- inputs ---- */

typedef struct input_typing {
    opf_bindings *bindings;
    opf_module *module;
    const opf_pin *pins;
    size_t n_pins;
    opf_map by_name; /* interned declared name → its symbol's expression */
    opf_status status;
} input_typing;

static int64_t nominal_size(const input_typing *typing, const opf_value *value, int axis) {
    for (size_t k = 0; k < typing->n_pins; k++)
        if (typing->pins[k].nominal_only && pin_reaches(&typing->pins[k], typing->module->graph, value, axis)) return typing->pins[k].size;
    return axis == 0 ? NOMINAL_LEADING : NOMINAL_OTHER;
}

static opf_dim new_symbol(const input_typing *typing, const opf_value *value, int axis) {
    const char *name = declared_name(value, axis);
    opf_arena *arena = typing->module->arena;
    const char *text = identifier(arena, name ? name : opf_arena_printf(arena, "%s_%d", value->name, axis));
    return opf_sym(typing->module->pool, opf_symbol_new(typing->module->pool, text, 0, INT64_MAX, nominal_size(typing, value, axis)));
}

static opf_dim symbol_of(input_typing *typing, const opf_value *value, int axis) {
    const char *name = declared_name(value, axis);
    if (!name) return new_symbol(typing, value, axis);
    const char *key = opf_intern(typing->module->names, name);
    opf_dim known = opf_map_get(&typing->by_name, key);
    if (!known) {
        known = new_symbol(typing, value, axis);
        opf_map_set(&typing->by_name, key, (void *)known);
    }
    return known;
}

static void type_input(input_typing *typing, opf_value *value) {
    value->dtype = value->declared_dtype;
    value->rank = value->declared_rank >= 0 ? value->declared_rank : pinned_rank(value, typing->pins, typing->n_pins);
    if (value->rank < 0) {
        opf_place place = {.file = typing->module->path, .index = -1};
        opf_diag *diag = opf_diag_add(typing->module->diags, OPF_ERROR, "shape", place, "graph input '%s' has no declared shape", value->name);
        opf_diag_hint(typing->module->diags, diag, "give it one: --shape %s=D,D,…", value->name);
        typing->status = OPF_ERROR_INPUT;
        return;
    }
    value->dims = OPF_ARRAY(typing->module->arena, opf_dim, value->rank + 1);
    for (int axis = 0; axis < value->rank; axis++) {
        int64_t size = declared_size(value, axis);
        value->dims[axis] = size >= 0 ? opf_int(typing->module->pool, size) : symbol_of(typing, value, axis);
    }
}

/* A sequence or optional: its length is a size; those of its elements are known where they are declared or pinned. */
static void type_list_input(input_typing *typing, opf_value *value) {
    opf_module *module = typing->module;
    const opf_list_type *declared = value->declared ? opf_list_declared(module, value->declared) : NULL;
    if (!declared || !value->declared_dtype) {
        opf_text type = {0};
        opf_value_print_type(value, &type);
        opf_diag *diag = opf_diag_add(module->diags, OPF_ERROR, "unsupported", (opf_place){.file = module->path, .index = -1}, "graph input '%s' is %s; tensors, and sequences and optionals of tensors are supported", value->name, opf_text_string(&type));
        if (value->declared && opf_type_holds_map(value->declared)) opf_diag_hint(module->diags, diag, "make the tensor that DictVectorizer or CastMap makes of it before the model runs, and let that be the input");
        opf_text_free(&type);
        typing->status = OPF_ERROR_UNSUPPORTED;
        return;
    }
    opf_list_type *list = opf_arena_copy(module->arena, declared, sizeof *list);
    if (list->rank < 0) list->rank = pinned_rank(value, typing->pins, typing->n_pins);
    for (size_t k = 0; k < typing->n_pins; k++)
        if (typing->pins[k].input && !typing->pins[k].nominal_only && strcmp(typing->pins[k].input, value->name) == 0 && typing->pins[k].axis >= 0 && typing->pins[k].axis < list->rank)
            list->dims[typing->pins[k].axis] = opf_int(module->pool, typing->pins[k].size);
    value->dtype = value->declared_dtype;
    value->rank = 1;
    value->dims = OPF_ARRAY(module->arena, opf_dim, 1);
    value->dims[0] = new_symbol(typing, value, 0);
    value->list = list;
}

static void apply_pin(input_typing *typing, const opf_pin *pin, const opf_value *value, int axis) {
    opf_module *module = typing->module;
    opf_dim dim = value->dims[axis];
    int64_t known = -1;
    if (dim->kind == OPF_EXPR_SYMBOL) {
        const opf_expr **bound = &typing->bindings->by_index[dim->symbol->index];
        if (!*bound) *bound = opf_int(module->pool, pin->size);
        dim = *bound;
    }
    if (!opf_is_int(dim, &known) || known == pin->size) return;
    opf_place place = {.file = module->path, .index = -1};
    opf_diag_add(module->diags, OPF_ERROR, "usage", place, "axis %d of input '%s' cannot be both %lld and %lld", axis, value->name, (long long)known, (long long)pin->size);
    typing->status = OPF_ERROR_USAGE;
}

static void apply_pins(input_typing *typing) {
    opf_graph *graph = typing->module->graph;
    for (size_t k = 0; k < typing->n_pins; k++)
        for (size_t i = 0; i < graph->inputs.count && !typing->pins[k].nominal_only; i++) {
            const opf_value *value = graph->inputs.data[i];
            for (int axis = 0; axis < value->rank && !value->list; axis++)
                if (pin_names(&typing->pins[k], value, axis)) apply_pin(typing, &typing->pins[k], value, axis);
        }
}

static void new_bindings(opf_bindings *bindings, opf_module *module) {
    bindings->module = module;
    bindings->count = opf_pool_symbols(module->pool);
    bindings->by_index = OPF_ARRAY(module->arena, const opf_expr *, bindings->count + 1);
    bindings->named = OPF_ARRAY(module->arena, bool, bindings->count + 1);
    for (size_t k = 0; k < module->graph->inputs.count; k++) {
        const opf_value *value = module->graph->inputs.data[k];
        for (int axis = 0; axis < value->rank; axis++)
            if (value->dims[axis]->kind == OPF_EXPR_SYMBOL && declared_name(value, axis)) bindings->named[value->dims[axis]->symbol->index] = true;
    }
}

opf_status opf_symbols_inputs(opf_bindings *bindings, opf_module *module, const opf_pin *pins, size_t n_pins) {
    input_typing typing = {.bindings = bindings, .module = module, .pins = pins, .n_pins = n_pins, .by_name = opf_map_new(module->arena)};
    for (size_t k = 0; k < module->graph->inputs.count; k++) {
        opf_value *value = module->graph->inputs.data[k];
        if (value->kind == OPF_VALUE_TENSOR && !value->dims) type_input(&typing, value);
        if (value->kind != OPF_VALUE_TENSOR && !value->dims) type_list_input(&typing, value);
    }
    new_bindings(bindings, module);
    opf_status status = check_pins(module, pins, n_pins);
    apply_pins(&typing);
    opf_symbols_apply(bindings);
    return typing.status != OPF_OK ? typing.status : status;
}

/* ---- equalities ---- */

static opf_dim bound(const opf_bindings *bindings, opf_dim dim) {
    return opf_expr_bind_symbols(bindings->module->pool, dim, bindings->count, bindings->by_index);
}

void opf_symbols_apply(const opf_bindings *bindings) {
    const opf_graph *graph = bindings->module->graph;
    for (size_t k = 0; k < graph->inputs.count; k++) {
        opf_value *value = graph->inputs.data[k];
        for (int axis = 0; axis < value->rank; axis++) value->dims[axis] = bound(bindings, value->dims[axis]);
    }
}

/* How dear a side is to keep, the cheapest first: numbers, declared names, other symbols, anything else by age. */
typedef struct worth { int class; uint32_t age; } worth;

static worth worth_of(const opf_bindings *bindings, opf_dim dim) {
    if (dim->kind == OPF_EXPR_INT) return (worth){0, 0};
    if (dim->kind != OPF_EXPR_SYMBOL) return (worth){opf_dim_is_atom(dim) ? 4 : 3, dim->id};
    int index = dim->symbol->index;
    return (worth){index < bindings->count && bindings->named[index] ? 1 : 2, (uint32_t)index};
}

static bool is_better(worth a, worth b) { return a.class != b.class ? a.class < b.class : a.age < b.age; }

static bool may_become(const opf_bindings *bindings, opf_dim from, opf_dim to) {
    return opf_dim_is_atom(from) && !opf_dim_holds(bindings->module, to, from);
}

/* `from` is `to` from now on: a symbol in the inputs' own dims, which a run compares anyway; anything else by a fact, whose
 * guard stays. */
static void set_equal(opf_bindings *bindings, opf_dim from, opf_dim to, const char *why) {
    if (from->kind != OPF_EXPR_SYMBOL || from->symbol->index >= bindings->count) {
        opf_facts_add(bindings->module, from, to, why);
        return;
    }
    bindings->by_index[from->symbol->index] = to;
    for (int k = 0; k < bindings->count; k++)
        if (bindings->by_index[k]) bindings->by_index[k] = bound(bindings, bindings->by_index[k]);
    opf_facts_bind(bindings->module, bindings->count, bindings->by_index);
}

bool opf_symbols_unify(opf_bindings *bindings) {
    opf_module *module = bindings->module;
    bool changed = false;
    for (size_t k = 0; k < module->guards.count; k++) {
        opf_guard guard = module->guards.data[k];
        if (guard.kind != OPF_GUARD_EQ || guard.inside) continue;
        opf_dim left = opf_dim_canonical(module, bound(bindings, guard.left)), right = opf_dim_canonical(module, bound(bindings, guard.right));
        if (left == right) continue;
        bool right_stays = is_better(worth_of(bindings, right), worth_of(bindings, left));
        opf_dim first = right_stays ? left : right, second = right_stays ? right : left;
        if (may_become(bindings, first, second)) set_equal(bindings, first, second, guard.why);
        else if (may_become(bindings, second, first)) set_equal(bindings, second, first, guard.why);
        else continue;
        changed = true;
    }
    return changed;
}
