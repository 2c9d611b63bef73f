/* Sessions of a model that has inputs bound by value, or of one whose open axes are empty: one for each set of values met, or of empty axes, the latest
 * ones kept. */
#ifndef OPF_API_VARIANTS_H
#define OPF_API_VARIANTS_H

#include "api/model.h"

typedef struct opf_variants opf_variants;

opf_variants *opf_variants_new(opf_model *model, opf_policy policy, bool tap_all, bool silent);
/* For inputs with empty axes (opf_model_bind_empty): silent, since the model has said already what there is to say. */
opf_variants *opf_variants_new_empty(opf_model *model, opf_policy policy, bool tap_all);
void opf_variants_free(opf_variants *variants); /* NULL is fine */
/* The session for these inputs, made where it is not there yet. It belongs to the table until it is the one that has not
 * been used for longest and room is needed. NULL where --stop-after stops. */
opf_status opf_variants_find(opf_session **out, opf_variants *variants, const opf_array *inputs);

#endif
