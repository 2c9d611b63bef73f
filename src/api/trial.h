/* A model fused under changed conditions: what would come of another policy, of a copy of a node, of one output less. */
#ifndef OPF_API_TRIAL_H
#define OPF_API_TRIAL_H

#include "api/model.h"
#include "fuse/explain.h"

typedef struct opf_trial {
    const char *what;          /* the change, in words */
    opf_policy policy;
    int max_depth;
    /* Changes the module as read and typed once; it is typed anew behind it. False: the change cannot be made. NULL: none. */
    bool (*change)(opf_module *module, const struct opf_trial *trial);
    const char *node, *user, *value; /* what `change` is about: names */
} opf_trial;

typedef struct opf_tried {
    opf_module *module;        /* for opf_module_free */
    opf_fusion *fusion;
    opf_parts parts;
    opf_totals totals;
} opf_tried;

/* Problems of the changed model are no problems of the model: nothing is reported, the status says whether it worked. */
opf_status opf_try(opf_tried *out, opf_model *model, const opf_trial *trial);

/* ---- changes ---- */

/* The output called `value` is none any more; false where it is the only one. */
bool opf_change_drop_output(opf_module *module, const opf_trial *trial);
/* `user` gets a copy of `node` for itself. */
bool opf_change_copy(opf_module *module, const opf_trial *trial);
/* `node` is written out in smaller operators (pass/decompose.h). */
bool opf_change_write_out(opf_module *module, const opf_trial *trial);

#endif
