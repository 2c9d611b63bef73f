/* The hash of much, by pieces: what limits it is how fast one core reads memory, so that several read. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/hash.h"

enum { PIECE = 1 << 20, MOST_THREADS = 4 };

typedef struct hashing {
    const unsigned char *data;
    size_t size, pieces;
    opf_hash_pages pages;
    opf_hash *hashes;          /* of the pieces */
    atomic_size_t next;
} hashing;

static void *hash_pieces(void *data) {
    hashing *h = data;
    for (size_t i; (i = atomic_fetch_add(&h->next, 1)) < h->pieces;) {
        const unsigned char *piece = h->data + i * PIECE;
        size_t size = i + 1 < h->pieces ? PIECE : h->size - i * PIECE;
        if (h->pages != OPF_PAGES_OF_MEMORY) opf_file_expect(piece, size);
        h->hashes[i] = opf_hash_bytes(piece, size);
        if (h->pages == OPF_PAGES_RELEASED) opf_file_release(piece, size);
    }
    return NULL;
}

opf_hash opf_hash_large(const void *data, size_t size, opf_hash_pages pages, int threads) {
    opf_hash whole = opf_hash_bytes(&size, sizeof size); /* before other threads are there: the library's first call finds out about the processor */
    hashing h = {.data = data, .size = size, .pieces = (size + PIECE - 1) / PIECE, .pages = pages};
    pthread_t helpers[MOST_THREADS];
    int started = 0;
    h.hashes = malloc((h.pieces + 1) * sizeof *h.hashes);
    if (!h.hashes) opf_out_of_memory();
    /* One that cannot be started is not needed. */
    while (started + 1 < threads && started + 1 < MOST_THREADS && (size_t)started + 1 < h.pieces && pthread_create(&helpers[started], NULL, hash_pieces, &h) == 0) started++;
    hash_pieces(&h);
    for (int i = 0; i < started; i++) pthread_join(helpers[i], NULL);
    whole = opf_hash_combine(whole, opf_hash_bytes(h.hashes, h.pieces * sizeof *h.hashes));
    free(h.hashes);
    return whole;
}
