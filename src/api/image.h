/* Warm starts: the key under which a session's image (run/image.h) is stored, and what it is compared by. */
#ifndef OPF_API_IMAGE_H
#define OPF_API_IMAGE_H

#include "api/session.h"

/* Everything that the compiled program of this model depends on: this build of opfuse, options, machine, compiler, the bytes of the
 * model's files, bound values. False where it depends on more than that, or somebody wants to see how it is made. The module
 * is the model's, as read. */
bool opf_session_image_key(opf_hash *out, const opf_session *session, const opf_module *module);
/* Types of the graph's inputs and outputs. */
opf_hash opf_session_types(const opf_session *session);

#endif
