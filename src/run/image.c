/* Image files: a head, a row a constant, then the constants' bytes, each at a multiple of 64. They are written and read by one
 * and the same build (base/build_id.h is part of the key), so the head is a struct as it lies in memory. */
#include "run/image.h"

#include <string.h>

#include "run/cache.h"
#include "run/runner.h"

typedef struct head {
    char magic[16];
    opf_hash check;            /* of head (with this field zero) and rows */
    opf_hash types;
    opf_hash_text program, packed; /* names in the cache; packed: "" for none */
    int64_t file_bytes, n_weights, kernels, steps;
} head;

typedef struct row {
    int64_t file;              /* of the model; or one of the two below */
    int64_t offset, bytes;
    uint64_t check;            /* of what stands in the image */
} row;
enum { IN_IMAGE = -1, UNUSED = -2, ALIGNMENT = 64 };

static const char magic[16] = "opfuse image 1\n";

static size_t aligned(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static opf_hash check_of(const head *h, const row *rows) {
    head blank = *h;
    blank.check = (opf_hash){0, 0};
    return opf_hash_combine(opf_hash_bytes(&blank, sizeof blank), opf_hash_bytes(rows, (size_t)h->n_weights * sizeof *rows));
}

static const char *path_of(opf_hash key, const char *cache, opf_arena *arena) {
    return opf_arena_printf(arena, "%s/images/%s", cache, opf_hash_print(key).text);
}

/* ---- writing ---- */

typedef struct writing {
    const opf_runner *runner;
    opf_arena *arena;
    head head;
    row *rows;
    opf_bytes *parts;          /* head, rows, then constants with what fills up to the next multiple */
    size_t n_parts, length;
} writing;

static void add(writing *w, const void *data, size_t size) {
    static const char fill[ALIGNMENT];
    w->parts[w->n_parts++] = (opf_bytes){data, size};
    w->parts[w->n_parts++] = (opf_bytes){fill, aligned(size) - size};
    w->length += aligned(size);
}

/* False: its elements hold addresses. */
static bool add_weight(writing *w, size_t index) {
    const opf_weight *weight = &w->runner->program->weights.data[index];
    const opf_tensor *tensor = weight->tensor;
    row *r = &w->rows[index];
    *r = (row){.file = UNUSED};
    if (!weight->read_by_steps) return true;
    if (tensor->is_list || tensor->dtype == OPF_STRING) return false;
    if (tensor->file >= 0 && opf_tensor_is_plain(tensor)) {
        *r = (row){.file = tensor->file, .offset = (int64_t)tensor->offset, .bytes = (int64_t)tensor->bytes};
        return true;
    }
    const void *data = w->runner->weights[index];
    *r = (row){IN_IMAGE, (int64_t)w->length, (int64_t)tensor->bytes, opf_hash_bytes(data, tensor->bytes).low};
    add(w, data, tensor->bytes);
    return true;
}

static bool fill(writing *w, const opf_sources *sources, opf_hash types) {
    const opf_program *program = w->runner->program;
    size_t n = program->weights.count;
    w->rows = OPF_ARRAY(w->arena, row, n + 1);
    w->parts = OPF_ARRAY(w->arena, opf_bytes, 2 * n + 3);
    w->parts[w->n_parts++] = (opf_bytes){&w->head, sizeof w->head};
    w->length = sizeof w->head;
    w->parts[w->n_parts++] = (opf_bytes){w->rows, n * sizeof *w->rows};
    w->length += n * sizeof *w->rows;
    size_t gap = aligned(w->length) - w->length;
    w->parts[w->n_parts++] = (opf_bytes){opf_arena_alloc(w->arena, gap), gap};
    w->length += gap;
    for (size_t i = 0; i < n; i++)
        if (!add_weight(w, i)) return false;
    memset(&w->head, 0, sizeof w->head);
    memcpy(w->head.magic, magic, sizeof magic);
    w->head.types = types;
    w->head.program = sources->key;
    w->head.packed = w->runner->packed_name;
    w->head.file_bytes = (int64_t)w->length;
    w->head.n_weights = (int64_t)n;
    w->head.kernels = (int64_t)program->kernels.count;
    w->head.steps = (int64_t)program->steps.count;
    w->head.check = check_of(&w->head, w->rows);
    return true;
}

void opf_image_write(opf_hash key, const opf_runner *runner, const opf_sources *sources, opf_hash types, const opf_compile_options *options) {
    opf_arena *arena = opf_arena_new();
    opf_diags *quiet = opf_diags_new();
    writing w = {.runner = runner, .arena = arena};
    const char *cache;
    if (opf_cache_open(&cache, options, arena, quiet) == OPF_OK && opf_folder_make(opf_arena_printf(arena, "%s/images", cache), quiet) == OPF_OK &&
        fill(&w, sources, types))
        opf_file_write_parts(path_of(key, cache, arena), w.parts, w.n_parts, quiet);
    opf_diags_free(quiet);
    opf_arena_free(arena);
}

/* ---- opening ---- */

static const head *head_of(const opf_mapping *file) {
    const head *h = (const void *)file->data;
    if (file->size < sizeof *h || memcmp(h->magic, magic, sizeof magic) != 0 || (size_t)h->file_bytes != file->size) return NULL;
    if (h->n_weights < 0 || (size_t)h->n_weights > (file->size - sizeof *h) / sizeof(row)) return NULL;
    opf_hash check = check_of(h, (const row *)(h + 1));
    return memcmp(&check, &h->check, sizeof check) == 0 ? h : NULL;
}

bool opf_image_open(opf_image *out, opf_hash key, const opf_compile_options *options, opf_arena *arena) {
    *out = (opf_image){0};
    const char *cache;
    opf_diags *quiet = opf_diags_new();
    bool good = opf_cache_open(&cache, options, arena, quiet) == OPF_OK && opf_file_map(&out->file, path_of(key, cache, arena), quiet) == OPF_OK;
    opf_diags_free(quiet);
    const head *h = good ? head_of(&out->file) : NULL;
    good = h != NULL;
    if (good) {
        const char *entry = opf_arena_printf(arena, "%s/programs/%s", cache, h->program.text);
        out->object = opf_arena_printf(arena, "%s/program.so", entry);
        out->types = h->types;
        out->kernels = h->kernels;
        out->steps = h->steps;
        good = opf_cache_is_sealed(entry) && (!h->packed.text[0] || opf_packed_map(&out->packed, cache, &h->packed, arena));
    }
    if (!good) opf_image_close(out);
    return good;
}

void opf_image_close(opf_image *image) {
    opf_file_unmap(&image->file);
    opf_file_unmap(&image->packed);
}

/* ---- runners ---- */

static const void *weight_at(const opf_image *image, const row *r, const opf_mapping *files, size_t n_files) {
    if (r->file == UNUSED) return NULL;
    if (r->file >= 0 && (size_t)r->file >= n_files) return NULL;
    const opf_mapping *file = r->file == IN_IMAGE ? &image->file : &files[r->file];
    bool inside = r->offset >= 0 && r->bytes >= 0 && (size_t)r->offset <= file->size && (size_t)r->bytes <= file->size - (size_t)r->offset;
    bool whole = inside && (r->file != IN_IMAGE || opf_hash_bytes(file->data + r->offset, (size_t)r->bytes).low == r->check);
    return whole ? file->data + r->offset : NULL;
}

/* Everything that the entry wants, in order. */
static bool bind(opf_runner *runner, const opf_mapping *files, size_t n_files) {
    const head *h = (const void *)runner->image.file.data;
    const row *rows = (const row *)(h + 1);
    if (runner->entry->n_weights != h->n_weights || runner->entry->packed_bytes != opf_packed_size(&runner->image.packed)) return false;
    opf_runner_room_for_weights(runner, (size_t)h->n_weights);
    for (int64_t i = 0; i < h->n_weights; i++) {
        runner->weights[i] = weight_at(&runner->image, &rows[i], files, n_files);
        if (!runner->weights[i] && rows[i].file != UNUSED) return false;
    }
    runner->packed = (void *)(uintptr_t)runner->image.packed.data;
    return true;
}

opf_runner *opf_runner_of_image(opf_image *image, const opf_mapping *files, size_t n_files, int threads) {
    opf_runner *runner = opf_runner_blank(threads);
    runner->image = *image;
    *image = (opf_image){0};
    if (opf_runner_open(runner, runner->image.object, "opf_entry") && bind(runner, files, n_files)) return runner;
    opf_runner_free(runner);
    return NULL;
}
