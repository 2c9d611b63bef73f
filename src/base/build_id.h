/* Which build of the code runs: what it has derived and stored may be taken up again by the very same build. */
#ifndef OPF_BASE_BUILD_ID_H
#define OPF_BASE_BUILD_ID_H

#include <stdbool.h>

#include "base/hash.h"

/* A hash of the linker's build identifier (ELF note NT_GNU_BUILD_ID) of the program or shared object that holds this
 * function; false where the linker has left none. */
bool opf_build_id(opf_hash *out);

#endif
