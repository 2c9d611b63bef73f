/* Kernels' codes. */
#include "tune/code.h"

const char *opf_code_print(opf_hash code, opf_arena *arena) { return opf_arena_string_n(arena, opf_hash_print(code).text, OPF_CODE_DIGITS); }

opf_hash opf_code_of(const opf_nest *const *nests, int count, const opf_schedule *schedule) {
    int64_t more[] = {count, schedule->at[OPF_KNOB_COMPILER]};
    opf_hash code = opf_hash_bytes(more, sizeof more);
    for (int i = 0; i < count; i++) {
        opf_text text = {0};
        int64_t lanes = nests[i]->machine->lanes;
        opf_emit_whole_kernel(nests[i], &text);
        code = opf_hash_combine(code, opf_hash_bytes(&lanes, sizeof lanes));
        code = opf_hash_combine(code, opf_hash_bytes(opf_text_string(&text), text.length));
        opf_text_free(&text);
    }
    return code;
}

bool opf_code_of_default(opf_hash *out, const opf_group *group, const opf_machine *machine) {
    opf_nest *nest;
    if (opf_nest_schedule(&nest, group, machine) != OPF_OK) return false;
    *out = opf_code_of((const opf_nest *const[]){nest}, 1, &nest->chosen);
    return true;
}

bool opf_code_of_schedule(opf_hash *out, const opf_group *group, const opf_machine *machine, const opf_schedule *schedule) {
    opf_nest *nest;
    const char *why;
    if (!opf_nest_schedule_as(&nest, group, machine, schedule, &why)) return false;
    *out = opf_code_of((const opf_nest *const[]){nest}, 1, &nest->chosen);
    return true;
}
