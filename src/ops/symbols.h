/* The symbols of a graph's inputs, and what is known to be equal among them. For type.c alone. */
#ifndef OPF_OPS_SYMBOLS_H
#define OPF_OPS_SYMBOLS_H

#include "ops/op.h"

typedef struct opf_bindings {
    opf_module *module;
    int count;                 /* symbols of the pool that may be replaced */
    const opf_expr **by_index; /* what a symbol stands for, NULL for itself; free of replaced symbols */
    bool *named;               /* declared with a name: kept before others */
} opf_bindings;

/* Gives each graph input without dims its dims, symbols where the file gives no size, and binds what pins say. Problems
 * are reported. */
opf_status opf_symbols_inputs(opf_bindings *bindings, opf_module *module, const opf_pin *pins, size_t n_pins);
/* Draws conclusions from the module's guards; true where a symbol was replaced that was free before. */
bool opf_symbols_unify(opf_bindings *bindings);
/* Puts the bindings into the dims of the graph's inputs. */
void opf_symbols_apply(const opf_bindings *bindings);

#endif
