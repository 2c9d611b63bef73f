/* The linker's note, found in memory among the notes of the object that this code is part of. */
#include "base/build_id.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

typedef struct finding {
    opf_hash hash;
    bool found;
} finding;

static bool holds_this_code(const struct dl_phdr_info *object) {
    uintptr_t here = (uintptr_t)opf_build_id;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && here - (object->dlpi_addr + part->p_vaddr) < part->p_memsz) return true;
    }
    return false;
}

/* Names and descriptions of notes fill whole multiples of four bytes. */
static size_t padded(size_t size) { return (size + 3) / 4 * 4; }

static void read_notes(finding *f, const unsigned char *at, size_t size) {
    while (size >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const void *)at;
        size_t name = padded(note->n_namesz), whole = sizeof *note + name + padded(note->n_descsz);
        if (whole > size) return;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof ELF_NOTE_GNU && memcmp(note + 1, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0) {
            f->hash = opf_hash_bytes(at + sizeof *note + name, note->n_descsz);
            f->found = true;
            return;
        }
        at += whole;
        size -= whole;
    }
}

static int look(struct dl_phdr_info *object, size_t size, void *data) {
    finding *f = data;
    (void)size;
    if (!holds_this_code(object)) return 0;
    for (int i = 0; i < object->dlpi_phnum && !f->found; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_NOTE) read_notes(f, (const unsigned char *)(uintptr_t)(object->dlpi_addr + part->p_vaddr), part->p_memsz);
    }
    return 1;
}

bool opf_build_id(opf_hash *out) {
    finding f = {0};
    dl_iterate_phdr(look, &f);
    *out = f.hash;
    return f.found;
}
