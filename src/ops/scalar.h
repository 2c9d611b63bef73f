/* Scalar operators: one line each in scalar.ops (docs/adding-an-operator.md gives the language). */
#ifndef OPF_OPS_SCALAR_H
#define OPF_OPS_SCALAR_H

#include "ops/build.h"

/* Build function of an entry of scalar.ops: call->op is one that opf_scalar_entry returned. */
opf_status opf_scalar_build(opf_call *call);

#endif
