/* Content hash: XXH3 with 128 bits. On x86 the library chooses the widest vectors that the processor has, where it was built for that: the
 * usual two-lane ones take 1.4 times as long. */
#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <xxhash.h>
#ifdef OPF_HASH_DISPATCH
#include <xxh_x86dispatch.h>
#endif

opf_hash opf_hash_bytes(const void *data, size_t size) {
    XXH128_hash_t hash = XXH3_128bits(size ? data : "", size);
    return (opf_hash){hash.low64, hash.high64};
}

opf_hash opf_hash_combine(opf_hash a, opf_hash b) {
    uint64_t words[4] = {a.low, a.high, b.low, b.high};
    return opf_hash_bytes(words, sizeof words);
}

opf_hash_text opf_hash_print(opf_hash hash) {
    opf_hash_text result;
    snprintf(result.text, sizeof result.text, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
    return result;
}
