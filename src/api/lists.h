/* Sequences and optionals at the border of the API: arrays with items ⇄ lists of the prelude. */
#ifndef OPF_API_LISTS_H
#define OPF_API_LISTS_H

#include "api/context.h"
#include "opf_abi.h"

/* How many elements the array has as a list: an optional tensor is a list of one. */
size_t opf_array_items(const opf_array *array);
/* The list, its elements put into `elements`, room for opf_array_items; shapes and data stay the array's. */
opf_list opf_array_list(const opf_array *array, opf_element *elements);
/* The reverse; `items` has room for the list's elements. `sequence`: it is one (or an optional one), else an optional tensor. */
opf_array opf_array_of_list(const opf_list *list, bool sequence, int dtype, opf_array *items);
/* Why the array cannot be given for this sequence or optional; NULL: it can. */
const char *opf_array_list_problem(const opf_value *value, const opf_array *array);
/* Any array as the evaluator and comparisons take it, in `arena`. `list`: for a sequence or optional, whatever it holds. */
opf_status opf_array_value(const opf_tensor **out, const opf_array *array, bool list, opf_arena *arena, opf_diags *diags);

#endif
