/* Content hash (XXH3-128), as text: names cache entries and kernels. */
#ifndef OPF_BASE_HASH_H
#define OPF_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct opf_hash { uint64_t low, high; } opf_hash;
typedef struct opf_hash_text { char text[33]; } opf_hash_text;

opf_hash opf_hash_bytes(const void *data, size_t size);
opf_hash opf_hash_combine(opf_hash a, opf_hash b);
opf_hash_text opf_hash_print(opf_hash hash); /* 32 hexadecimal digits */

#endif
