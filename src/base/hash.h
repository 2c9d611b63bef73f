/* Content hash (XXH3-128), as text: names cache entries and kernels. */
#ifndef OPF_BASE_HASH_H
#define OPF_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct opf_hash { uint64_t low, high; } opf_hash;
typedef struct opf_hash_text { char text[33]; } opf_hash_text;

opf_hash opf_hash_bytes(const void *data, size_t size);
opf_hash opf_hash_combine(opf_hash a, opf_hash b);
/* Of much, which several threads (at most `threads`) read at once; their number does not show in the hash, which is another than that of opf_hash_bytes.
 * Pages of a mapped file are asked for piece by piece, and handed back where nobody needs them behind it. */
typedef enum opf_hash_pages { OPF_PAGES_OF_MEMORY, OPF_PAGES_KEPT, OPF_PAGES_RELEASED } opf_hash_pages;
opf_hash opf_hash_large(const void *data, size_t size, opf_hash_pages pages, int threads);
opf_hash_text opf_hash_print(opf_hash hash); /* 32 hexadecimal digits */

#endif
