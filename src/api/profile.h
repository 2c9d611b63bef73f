/* A session's runs, measured. */
#ifndef OPF_API_PROFILE_H
#define OPF_API_PROFILE_H

#include "api/session.h"
#include "report/profile.h"

/* The session has a program (one of opf_session_make without variants has). Everything is in the arena and points to the program. */
opf_status opf_session_profile(opf_profile *out, opf_session *session, const opf_array *inputs, int warmup, int runs, opf_arena *arena);

#endif
