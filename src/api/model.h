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
    opf_session *checked;      /* session of the last `verify`, kept for the next one; NULL: none */
    bool checked_all;          /* it has taps */
};

/* The module as read and typed, read again where a pipeline has taken it. */
opf_status opf_model_as_read(opf_module **out, opf_model *model);
/* Hands the module over to a pipeline, which may change it and frees it; NULL where one has it already. */
opf_module *opf_model_take(opf_model *model);

opf_status opf_source_read(opf_module **out, const opf_source *source, opf_diags *diags);
/* Types a module under the context's pins. */
opf_status opf_context_type(const opf_context *context, opf_module *module);

/* Bound of an integer input's values, exclusive, from what they index: nominal sizes. 0 where they index nothing. */
int64_t opf_index_bound(opf_value *input);

#endif
