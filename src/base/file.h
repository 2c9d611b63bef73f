/* Files: mapped for reading, written beside and renamed. */
#ifndef OPF_BASE_FILE_H
#define OPF_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"
#include "base/text.h"

typedef struct opf_mapping {
    const unsigned char *data; /* NULL for an empty file */
    size_t size;
} opf_mapping;

/* Maps a regular file read-only and privately. Reports "io" and returns OPF_ERROR_SYSTEM (missing, unreadable, no
 * regular file). */
opf_status opf_file_map(opf_mapping *out, const char *path, opf_diags *diags);
void opf_file_unmap(opf_mapping *mapping);
/* Wishes to the system: these bytes of a mapping will be read now, all of them; whole pages of them leave memory until they are
 * read again. */
void opf_file_expect(const void *data, size_t size);
void opf_file_release(const void *data, size_t size);
/* Writes the whole file or nothing: a temporary file in the same folder, flushed, then renamed. */
opf_status opf_file_write(const char *path, const void *data, size_t size, opf_diags *diags);
/* The same of several pieces, one behind the other. */
typedef struct opf_bytes {
    const void *data;
    size_t size;
} opf_bytes;
opf_status opf_file_write_parts(const char *path, const opf_bytes *parts, size_t count, opf_diags *diags);
opf_status opf_folder_make(const char *path, opf_diags *diags); /* with parents; fine where it exists */
void opf_folder_remove(const char *path);                       /* recursively; silent */
bool opf_file_exists(const char *path);
/* A fresh private folder for scratch files under $TMPDIR or /tmp; path in `out` (arena). */
opf_status opf_folder_temporary(char **out, opf_arena *arena, opf_diags *diags);

#endif
