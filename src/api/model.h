/* A model as the API holds it: where it comes from, and the graph as read and typed. */
#ifndef OPF_API_MODEL_H
#define OPF_API_MODEL_H

#include "api/context.h"

/* Where a model's bytes are. Each pipeline reads them anew: passes change a graph in place. */
typedef struct opf_source {
    const char *path;          /* file, or the name of what lies in memory */
    const void *data;          /* NULL: a file */
    size_t size;
} opf_source;

struct opf_model {
    opf_context *context;
    opf_arena *arena;
    opf_source source;
    opf_module *module;        /* as read and typed, no pass has touched it; NULL while a pipeline has it */
    int64_t read_time, type_time; /* nanoseconds that reading and typing took */
    size_t n_inputs, n_outputs;
    opf_port *inputs, *outputs;
    const opf_tensor **values; /* per input: what it is bound to, or NULL; NULL: none is bound */
    const opf_pin *empty;      /* open axes that are empty in this model: pinned to 0 when it is typed */
    size_t n_empty;
    bool needs_values;         /* inputs are needed by value that are not bound: nothing can be compiled */
    opf_session *checked;      /* session of the last `verify`, kept for the next one; NULL: none */
    bool checked_all;          /* it has taps */
    opf_model *bound;          /* the last `verify` bound it so; NULL: none */
};

/* The module as read and typed, read again where a pipeline has taken it. */
opf_status opf_model_as_read(opf_module **out, opf_model *model);
/* Hands the module over to a pipeline, which may change it and frees it; NULL where one has it already. */
opf_module *opf_model_take(opf_model *model);

/* Reads; the nodes know the context's operators. */
opf_status opf_source_read(opf_module **out, const opf_source *source, const opf_context *context);
/* Types a module under the context's pins. */
opf_status opf_context_type(const opf_context *context, opf_module *module);
/* Reads the model's source anew and puts the bound values in; types such a module. */
opf_status opf_model_read(opf_module **out, const opf_model *model);
opf_status opf_model_type(const opf_model *model, opf_module *module);

/* Compares the outputs of a typed module with what the file declares of them: an error where a run would hand out another type, a
 * warning where it would hand out another shape. What waits for the value of an input is left out. (declared.c) */
opf_status opf_check_declared(const opf_module *module, opf_diags *diags);

opf_model *opf_model_new(opf_context *context, opf_source source); /* nothing read yet */
void opf_model_describe(opf_model *model);                         /* fills the ports from the module as read */

/* ---- bind.c ---- */

/* Reports each input whose value is needed and not bound; OPF_OK where there is none. */
opf_status opf_model_refuse_unbound(opf_model *model, const opf_module *module);
/* The model with those open axes of its inputs pinned that are empty in `inputs`, beside what is bound. Guards may hold for every size
 * but 0 (ops/index.h); where sizes are known nothing is guarded. */
opf_status opf_model_bind_empty(opf_model **out, opf_model *model, const opf_array *inputs);
/* Has `inputs` an empty axis that the model leaves open? */
bool opf_model_is_open_for_empty(const opf_model *model, const opf_array *inputs);
/* Is input `index` free, or bound to just this? All inputs, and all pinned axes empty? */
bool opf_model_holds(const opf_model *bound, size_t index, const opf_array *array);
bool opf_model_holds_all(const opf_model *bound, const opf_array *inputs);

/* Bound of an integer input's values, exclusive, from what they index: nominal sizes. 0 where they index nothing. */
int64_t opf_index_bound(opf_value *input);

#endif
