/* Operators that keep tables in attributes (the coefficients of a linear model, the keys of an encoder): before typing,
 * each table becomes a constant operand of its node, behind the node's own inputs, and is then like any weight. */
#ifndef OPF_OPS_TABLES_H
#define OPF_OPS_TABLES_H

#include "ir/graph.h"

/* Does so for all nodes of the graph and its sub-graphs; once is enough, more do no harm. */
void opf_tables_attach(opf_graph *graph);
/* The input that holds the node's table from attribute `name`; -1 where the attribute is absent or the operator has no
 * such table. */
int opf_table_input(const opf_node *node, const char *name);

#endif
