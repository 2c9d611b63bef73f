/* The content-addressed cache. Below its folder:
 *   programs/HASH/   sources, `command` (flags and compiler), objects, program.so, `seal` (hashes of what was compiled); made
 *                    whole elsewhere and renamed
 *   packed/HASH      packed constants, a hash of their bytes, the name again
 *   images/HASH      what a session needs of a program (image.h)
 *   making/…         entries under way; what a killed process left there is cleared by a later one */
#ifndef OPF_RUN_CACHE_H
#define OPF_RUN_CACHE_H

#include "run/session.h"

/* The folder, made if it is not there. Reports "cache" where that is impossible. */
opf_status opf_cache_open(const char **out, const opf_compile_options *options, opf_arena *arena, opf_diags *diags);
/* A fresh folder for an entry under way, held by an open lock file `*lock` that its maker closes when done with it. */
opf_status opf_cache_begin(const char **out, int *lock, const char *cache, opf_arena *arena, opf_diags *diags);
/* Makes the folder the entry `entry`. Where another process was first, its entry stays. */
opf_status opf_cache_publish(const char *folder, const char *entry, opf_diags *diags);
/* Writes a file of an entry under way. */
opf_status opf_cache_write(const char *path, const void *data, size_t size, opf_diags *diags);
/* Does the file hold exactly these bytes? Quiet. */
bool opf_cache_holds(const char *path, const void *data, size_t size);
/* Writes folder/seal: the hashes of these files of the folder. */
opf_status opf_cache_seal(const char *folder, const char *const *names, size_t count, opf_diags *diags);
/* Is there a seal, and does every file that it names still hold what it held? Quiet. */
bool opf_cache_is_sealed(const char *folder);

#endif
