/* The constants of a build as one block of bytes. Versions share what is equal: weights that they read as the model has them, and
 * packed constants where their layouts are the same. */
#include <string.h>

#include "api/build.h"
#include "base/hash.h"

typedef struct stored { opf_hash hash; size_t offset, bytes; } stored;

typedef struct gathering {
    opf_building *b;
    OPF_VEC(stored) list;
} gathering;

static void align_data(opf_text *data) {
    static const char zeros[OPF_WORKSPACE_ALIGN];
    opf_text_add_n(data, zeros, (OPF_WORKSPACE_ALIGN - data->length % OPF_WORKSPACE_ALIGN) % OPF_WORKSPACE_ALIGN);
}

/* What has been added behind `offset`, or the same bytes of before, which then take its place. */
static int64_t keep_or_share(gathering *g, size_t offset) {
    opf_text *data = &g->b->data;
    stored new = {.offset = offset, .bytes = data->length - offset};
    new.hash = opf_hash_bytes(data->data + offset, new.bytes);
    for (size_t i = 0; i < g->list.count; i++) {
        const stored *old = &g->list.data[i];
        if (old->bytes != new.bytes || memcmp(&old->hash, &new.hash, sizeof new.hash) != 0 || memcmp(data->data + old->offset, data->data + offset, new.bytes) != 0) continue;
        data->length = offset;
        return (int64_t)old->offset;
    }
    OPF_PUSH(g->b->arena, &g->list, new);
    return (int64_t)offset;
}

static int64_t add_weight(gathering *g, const opf_weight *weight) {
    if (!weight->read_by_steps || weight->tensor->dtype == OPF_STRING) return -1;
    align_data(&g->b->data);
    size_t offset = g->b->data.length;
    if (!weight->tensor->bytes) return (int64_t)offset;
    opf_tensor_copy(weight->tensor, opf_text_add_room(&g->b->data, weight->tensor->bytes));
    return keep_or_share(g, offset);
}

static void add_version(gathering *g, opf_build_version *version) {
    opf_text *data = &g->b->data;
    const opf_program *program = version->session->pipeline.program;
    size_t before = data->length;
    version->data_offsets = OPF_ARRAY(g->b->arena, int64_t, program->weights.count + 1);
    for (size_t i = 0; i < program->weights.count; i++) version->data_offsets[i] = add_weight(g, &program->weights.data[i]);
    align_data(data);
    const void *packed = opf_runner_packed(version->session->runner);
    version->packed_offset = (int64_t)data->length;
    if (packed) opf_text_add_n(data, packed, (size_t)program->packed_bytes);
    if (packed && program->packed_bytes) version->packed_offset = keep_or_share(g, (size_t)version->packed_offset);
    version->own_bytes = (int64_t)(data->length - before);
}

void opf_build_gather(opf_building *b) {
    gathering g = {.b = b};
    for (size_t v = 0; v < b->n_versions; v++) add_version(&g, &b->versions[v]);
    b->library.data_bytes = (int64_t)b->data.length;
}
