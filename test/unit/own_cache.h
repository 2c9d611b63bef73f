/* A cache of a test's own: group fixtures for tests that compile. Behind cmocka.h. */
#ifndef TEST_OWN_CACHE_H
#define TEST_OWN_CACHE_H

#include "base/arena.h"
#include "base/file.h"

static char *cache;
static opf_arena *arena;

static int make_cache(void **state) {
    (void)state;
    arena = opf_arena_new();
    opf_diags *diags = opf_diags_new();
    opf_status status = opf_folder_temporary(&cache, arena, diags);
    opf_diags_free(diags);
    return status == OPF_OK ? 0 : 1;
}

static int remove_cache(void **state) {
    (void)state;
    opf_folder_remove(cache);
    opf_arena_free(arena);
    return 0;
}

#endif
