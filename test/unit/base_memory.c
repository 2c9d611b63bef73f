/* Arenas, vectors, strings, interning, maps, hashes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"

static void arena_gives_zeroed_aligned_memory(void **state) {
    (void)state;
    opf_arena *arena = opf_arena_new();
    static const size_t sizes[] = {0, 1, 15, 16, 17, 1000, 5000, 100000, 3000000, 8};
    for (size_t round = 0; round < 50; round++) {
        size_t size = sizes[round % OPF_COUNT(sizes)];
        unsigned char *bytes = opf_arena_alloc(arena, size);
        assert_int_equal((uintptr_t)bytes % 16, 0);
        for (size_t i = 0; i < size; i++) assert_int_equal(bytes[i], 0);
        memset(bytes, 0xff, size); /* must not show up in a later allocation */
    }
    assert_true(opf_arena_bytes(arena) >= 5 * 3106057);
    opf_arena_free(arena);
    opf_arena_free(NULL);
}

static void arena_copies_text(void **state) {
    (void)state;
    opf_arena *arena = opf_arena_new();
    assert_string_equal(opf_arena_string_n(arena, "abcdef", 3), "abc");
    assert_string_equal(opf_arena_string(arena, ""), "");
    assert_string_equal(opf_arena_printf(arena, "%s-%d-%0500d", "x", 7, 1) + 500, "0001");
    opf_arena_free(arena);
}

static void vectors_grow(void **state) {
    (void)state;
    opf_arena *arena = opf_arena_new();
    OPF_VEC(int) numbers = {0};
    for (int i = 0; i < 1000; i++) OPF_PUSH(arena, &numbers, i);
    assert_int_equal(numbers.count, 1000);
    for (int i = 0; i < 1000; i++) assert_int_equal(numbers.data[i], i);
    opf_arena_free(arena);
}

static void text_grows_and_terminates(void **state) {
    (void)state;
    opf_text text = {0};
    assert_string_equal(opf_text_string(&text), "");
    for (int i = 0; i < 1000; i++) opf_text_printf(&text, "%d,", i);
    assert_int_equal(strlen(text.data), text.length);
    assert_memory_equal(text.data, "0,1,2,", 6);
    opf_text_clear(&text);
    assert_string_equal(opf_text_string(&text), "");
    char *longer = malloc(100001);
    memset(longer, 'a', 100000);
    longer[100000] = '\0';
    opf_text_printf(&text, "<%s>", longer);
    assert_int_equal(text.length, 100002);
    assert_int_equal(text.data[100001], '>');
    opf_text_add_n(&text, "xyz", 2);
    assert_string_equal(text.data + 100002, "xy");
    free(longer);
    opf_text_free(&text);
    assert_null(text.data);
}

static void equal_text_is_one_pointer(void **state) {
    (void)state;
    opf_interner *interner = opf_interner_new();
    const char *first[2000];
    char name[32];
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "name_%d", i);
        first[i] = opf_intern(interner, name);
        assert_string_equal(first[i], name);
    }
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "name_%d", i);
        assert_ptr_equal(opf_intern(interner, name), first[i]);
    }
    assert_ptr_equal(opf_intern_n(interner, "name_12345", 7), first[12]);
    assert_ptr_equal(opf_intern(interner, ""), opf_intern_n(interner, "x", 0));
    opf_interner_free(interner);
}

static void maps_hold_what_was_set(void **state) {
    (void)state;
    opf_arena *arena = opf_arena_new();
    opf_map map = opf_map_new(arena);
    static int keys[5000];
    assert_null(opf_map_get(&map, &keys[0]));
    assert_false(opf_map_has(&map, &keys[0]));
    for (int i = 0; i < 5000; i++) opf_map_set(&map, &keys[i], &keys[(i * 7) % 5000]);
    for (int i = 0; i < 5000; i++) opf_map_set(&map, &keys[i], &keys[(i * 3) % 5000]);
    assert_int_equal(map.count, 5000);
    for (int i = 0; i < 5000; i++) assert_ptr_equal(opf_map_get(&map, &keys[i]), &keys[(i * 3) % 5000]);
    opf_map_set(&map, NULL, &keys[1]); /* NULL is a key, and a value */
    assert_ptr_equal(opf_map_get(&map, NULL), &keys[1]);
    opf_map_set(&map, &keys[9], NULL);
    assert_true(opf_map_has(&map, &keys[9]));
    assert_null(opf_map_get(&map, &keys[9]));
    opf_arena_free(arena);
}

static void hashes_tell_content(void **state) {
    (void)state;
    /* Published XXH3-128 value of the empty input, seed 0. */
    assert_string_equal(opf_hash_print(opf_hash_bytes(NULL, 0)).text, "99aa06d3014798d86001c324468d497f");
    opf_hash a = opf_hash_bytes("a", 1), b = opf_hash_bytes("b", 1);
    assert_string_not_equal(opf_hash_print(a).text, opf_hash_print(b).text);
    assert_string_not_equal(opf_hash_print(opf_hash_combine(a, b)).text, opf_hash_print(opf_hash_combine(b, a)).text);
}

/* Neither the number of threads nor where the pages come from shows; every flipped bit and every byte more does. */
static void much_is_hashed_by_pieces(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 1 << 20, (1 << 20) + 1, (7 << 20) + 12345};
    unsigned char *bytes = calloc((8 << 20) + 1, 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < 8 << 20; i++) bytes[i] = (unsigned char)(i * 2654435761u >> 13);
    for (size_t k = 0; k < OPF_COUNT(sizes); k++) {
        opf_hash want = opf_hash_large(bytes, sizes[k], OPF_PAGES_OF_MEMORY, 1), longer = opf_hash_large(bytes, sizes[k] + 1, OPF_PAGES_OF_MEMORY, 1);
        assert_memory_not_equal(&want, &longer, sizeof want);
        for (int threads = 0; threads < 9; threads++) {
            opf_hash got = opf_hash_large(bytes, sizes[k], OPF_PAGES_KEPT, threads);
            assert_memory_equal(&got, &want, sizeof want);
        }
        for (size_t at = 0; at < sizes[k]; at += 1 + sizes[k] / 5) {
            bytes[at] ^= 16;
            opf_hash got = opf_hash_large(bytes, sizes[k], OPF_PAGES_OF_MEMORY, 3);
            assert_memory_not_equal(&got, &want, sizeof want);
            bytes[at] ^= 16;
        }
    }
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_gives_zeroed_aligned_memory), cmocka_unit_test(arena_copies_text), cmocka_unit_test(vectors_grow),
        cmocka_unit_test(text_grows_and_terminates), cmocka_unit_test(equal_text_is_one_pointer), cmocka_unit_test(maps_hold_what_was_set),
        cmocka_unit_test(much_is_hashed_by_pieces), cmocka_unit_test(hashes_tell_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
