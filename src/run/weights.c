/* Constants of a program: pointers into the mapped model, copies only of what the program cannot read as it stands there:
 * elements at odd addresses, elements with factors. */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/memory.h"
#include "run/runner.h"

enum { HUGE_PAGE = 2 << 20 };

void *opf_runner_memory(size_t bytes) {
    size_t alignment = bytes >= HUGE_PAGE ? HUGE_PAGE : OPF_WORKSPACE_ALIGN;
    if (bytes > SIZE_MAX - alignment || !opf_memory_fits(bytes)) return NULL;
    void *memory = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment + (bytes ? 0 : alignment));
    if (memory && bytes >= HUGE_PAGE) madvise(memory, bytes, MADV_HUGEPAGE); /* a wish: fewer page faults and TLB misses */
    return memory;
}

static opf_status copy(opf_runner *runner, size_t index) {
    const opf_tensor *tensor = runner->program->weights.data[index].tensor;
    runner->copies[index] = opf_runner_memory(tensor->bytes);
    if (!runner->copies[index]) {
        opf_diag_add(runner->program->module->diags, OPF_ERROR, "memory", OPF_NO_PLACE, "no memory for constant '%s' (%zu bytes)",
                     runner->program->weights.data[index].value->name, tensor->bytes);
        return OPF_ERROR_SYSTEM;
    }
    opf_tensor_copy(tensor, runner->copies[index]);
    opf_tensor_release(tensor);
    runner->weights[index] = runner->copies[index];
    return OPF_OK;
}

void opf_runner_room_for_weights(opf_runner *runner, size_t count) {
    runner->weights = calloc(count + 1, sizeof *runner->weights);
    runner->copies = calloc(count + 1, sizeof *runner->copies);
    if (!runner->weights || !runner->copies) opf_out_of_memory();
}

opf_status opf_runner_bind_weights(opf_runner *runner) {
    opf_runner_room_for_weights(runner, runner->program->weights.count);
    opf_status status = OPF_OK;
    for (size_t i = 0; i < runner->program->weights.count && status == OPF_OK; i++) {
        const opf_weight *weight = &runner->program->weights.data[i];
        runner->weights[i] = weight->tensor->data;
        if (weight->read_by_steps && !opf_tensor_is_plain(weight->tensor)) status = copy(runner, i);
    }
    return status;
}

opf_status opf_runner_lend_weight(opf_runner *runner, size_t index) {
    return runner->copies[index] || opf_tensor_is_plain(runner->program->weights.data[index].tensor) ? OPF_OK : copy(runner, index);
}

void opf_runner_return_weight(opf_runner *runner, size_t index) {
    const opf_weight *weight = &runner->program->weights.data[index];
    if (weight->read_by_steps) return;
    opf_tensor_release(weight->tensor);
    free(runner->copies[index]);
    runner->copies[index] = NULL;
    runner->weights[index] = weight->tensor->data;
}
