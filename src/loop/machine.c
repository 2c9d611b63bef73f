/* The machine table. Sizes are those of a common server or desktop core of the kind; rates were measured on one core
 * (bench/tile.c prints the peak). A row describes a class of machines, not the one at hand: the same CPU features give the same
 * code everywhere. */
#include "loop/machine.h"

#include <jansson.h>
#include <string.h>

#include "base/file.h"
#include "base/vec.h"

enum { KIB = 1024, MIB = 1024 * 1024 };

/* -mtune: gcc gathers elements by their indices where it is told a processor for which that pays, and picks them one by one where it is told
 * none; other code is within 1 % of what it makes without (docs/decisions/0153-tables-of-bytes.md). */
static const opf_machine rows[] = {
    /* best first: the first that the CPU can run is chosen */
    {"x86-64-v4-vnni", "-march=x86-64-v4 -mavx512vnni -mtune=icelake-server -mprefer-vector-width=512", 16, 32, 4, 32 * KIB, 1 * MIB, 32 * MIB, 180e9, 400e9, 150e9, 40e9, 12e9},
    {"x86-64-v4", "-march=x86-64-v4 -mtune=skylake-avx512 -mprefer-vector-width=512", 16, 32, 2, 32 * KIB, 1 * MIB, 32 * MIB, 180e9, 400e9, 150e9, 40e9, 12e9},
    {"x86-64-v3", "-march=x86-64-v3 -mtune=haswell", 8, 16, 2, 32 * KIB, 512 * KIB, 32 * MIB, 100e9, 200e9, 98e9, 72e9, 20e9},
    {"aarch64", "", 4, 32, 1, 64 * KIB, 1 * MIB, 32 * MIB, 40e9, 100e9, 60e9, 40e9, 15e9},
    {"generic", "", 4, 16, 2, 32 * KIB, 256 * KIB, 8 * MIB, 25e9, 100e9, 50e9, 30e9, 10e9},
};

/* Every feature of a level that a compiler may use, by the names of __builtin_cpu_supports; CMPXCHG16B, LAHF and MOVBE come with all CPUs that
 * have the rest. */
#define V3_FEATURES(F) F(avx2) F(fma) F(bmi) F(bmi2) F(popcnt)
#define V4_FEATURES(F) V3_FEATURES(F) F(avx512f) F(avx512bw) F(avx512cd) F(avx512dq) F(avx512vl)
#define VNNI_FEATURES(F) V4_FEATURES(F) F(avx512vnni)
#define NAME(feature) #feature,
#define IS_THERE(feature) && __builtin_cpu_supports(#feature)

static const char *const v3_features[] = {V3_FEATURES(NAME) NULL}, *const v4_features[] = {V4_FEATURES(NAME) NULL};
static const char *const vnni_features[] = {VNNI_FEATURES(NAME) NULL}, *const no_features[] = {NULL};

const char *const *opf_machine_features(const opf_machine *machine) {
    if (strcmp(machine->name, "x86-64-v4-vnni") == 0) return vnni_features;
    if (strcmp(machine->name, "x86-64-v4") == 0) return v4_features;
    if (strcmp(machine->name, "x86-64-v3") == 0) return v3_features;
    return no_features;
}

const char *opf_machine_architecture(const opf_machine *machine) {
    if (strncmp(machine->name, "x86-64", 6) == 0) return "__x86_64__";
    return strcmp(machine->name, "aarch64") == 0 ? "__aarch64__" : NULL;
}

static bool runs_here(const opf_machine *row) {
#if defined(__x86_64__)
    if (strcmp(row->name, "x86-64-v4-vnni") == 0) return true VNNI_FEATURES(IS_THERE);
    if (strcmp(row->name, "x86-64-v4") == 0) return true V4_FEATURES(IS_THERE);
    if (strcmp(row->name, "x86-64-v3") == 0) return true V3_FEATURES(IS_THERE);
#endif
#if defined(__aarch64__)
    if (strcmp(row->name, "aarch64") == 0) return true;
#endif
    return strcmp(row->name, "generic") == 0;
}

size_t opf_machine_count(void) { return OPF_COUNT(rows); }
const opf_machine *opf_machine_at(size_t index) { return &rows[index]; }
bool opf_machine_runs(const opf_machine *machine) { return runs_here(machine); }

const opf_machine *opf_machine_named(const char *name) {
    for (size_t i = 0; i < OPF_COUNT(rows); i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}

bool opf_machine_is_foreign(const opf_machine *machine) {
    const opf_machine *row = opf_machine_named(machine->name);
    return row && strcmp(row->flags, machine->flags) == 0 && !runs_here(row);
}

/* The fields that a file may set, and where they go. */
typedef struct field {
    const char *name;
    enum { TEXT, INT, SIZE, RATE } type;
    size_t offset;
} field;
static const field fields[] = {
    {"name", TEXT, offsetof(opf_machine, name)},
    {"flags", TEXT, offsetof(opf_machine, flags)},
    {"lanes", INT, offsetof(opf_machine, lanes)},
    {"vectors", INT, offsetof(opf_machine, vectors)},
    {"products", INT, offsetof(opf_machine, products)},
    {"l1_bytes", SIZE, offsetof(opf_machine, l1_bytes)},
    {"l2_bytes", SIZE, offsetof(opf_machine, l2_bytes)},
    {"l3_bytes", SIZE, offsetof(opf_machine, l3_bytes)},
    {"flops_per_second", RATE, offsetof(opf_machine, flops_per_second)},
    {"l1_bandwidth", RATE, offsetof(opf_machine, l1_bandwidth)},
    {"l2_bandwidth", RATE, offsetof(opf_machine, l2_bandwidth)},
    {"l3_bandwidth", RATE, offsetof(opf_machine, l3_bandwidth)},
    {"dram_bandwidth", RATE, offsetof(opf_machine, dram_bandwidth)},
};

/* False where the value is not of the field's type or out of range. */
static bool set_field(opf_machine *machine, const field *field, const json_t *value, opf_arena *arena) {
    char *at = (char *)machine + field->offset;
    switch (field->type) {
    case TEXT:
        if (!json_is_string(value)) return false;
        *(const char **)(void *)at = opf_arena_string(arena, json_string_value(value));
        return true;
    case INT:
        if (!json_is_integer(value) || json_integer_value(value) < 1 || json_integer_value(value) > 256) return false;
        *(int *)(void *)at = (int)json_integer_value(value);
        return true;
    case SIZE:
        if (!json_is_integer(value) || json_integer_value(value) < 1024 || json_integer_value(value) > INT64_C(1) << 40) return false;
        *(int64_t *)(void *)at = json_integer_value(value);
        return true;
    default:
        if (!json_is_number(value) || !(json_number_value(value) > 0)) return false;
        *(double *)(void *)at = json_number_value(value);
        return true;
    }
}

static opf_status bad_file(opf_diags *diags, const char *path, const char *message, const char *detail) {
    opf_diag *diag = opf_diag_add(diags, OPF_ERROR, "machine", (opf_place){path, NULL, NULL, -1}, "%s%s", message, detail);
    opf_diag_hint(diags, diag, "a machine file is a JSON object with the fields of src/loop/machine.h; \"base\" names the row that fills the rest");
    return OPF_ERROR_INPUT;
}

static opf_status read_object(opf_machine *out, const char *path, json_t *object, opf_arena *arena, opf_diags *diags) {
    if (!json_is_object(object)) return bad_file(diags, path, "a machine file must hold a JSON object", "");
    const char *base = json_string_value(json_object_get(object, "base"));
    const opf_machine *row = opf_machine_named(base ? base : "generic");
    if (!row) return bad_file(diags, path, "no machine row is named ", base);
    *out = *row;
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) {
        const field *found = NULL;
        for (size_t i = 0; i < OPF_COUNT(fields); i++)
            if (strcmp(fields[i].name, key) == 0) found = &fields[i];
        if (!found && strcmp(key, "base") != 0) return bad_file(diags, path, "unknown field ", key);
        if (found && !set_field(out, found, value, arena)) return bad_file(diags, path, "no valid value for field ", key);
    }
    if (out->lanes != 4 && out->lanes != 8 && out->lanes != 16) return bad_file(diags, path, "lanes must be 4, 8 or 16", "");
    if (out->products != 1 && out->products != 2 && out->products != 4) return bad_file(diags, path, "products must be 1, 2 or 4", "");
    if (out->vectors != 16 && out->vectors != 32) return bad_file(diags, path, "vectors must be 16 or 32", "");
    return OPF_OK;
}

static opf_status read_file(opf_machine *out, const char *path, opf_arena *arena, opf_diags *diags) {
    opf_mapping mapping;
    opf_status status = opf_file_map(&mapping, path, diags);
    if (status) return status;
    json_error_t error;
    json_t *object = json_loadb((const char *)mapping.data, mapping.size, 0, &error);
    status = object ? read_object(out, path, object, arena, diags)
                    : bad_file(diags, path, "no JSON: ", opf_arena_printf(arena, "line %d: %s", error.line, error.text));
    json_decref(object);
    opf_file_unmap(&mapping);
    return status;
}

static opf_status no_machine(const char *name, opf_diags *diags) {
    opf_diag *diag = opf_diag_add(diags, OPF_ERROR, "machine", OPF_NO_PLACE, "'%s' is neither a row of the machine table nor a file", name);
    opf_text names = {0};
    for (size_t i = 0; i < OPF_COUNT(rows); i++) opf_text_printf(&names, "%s%s", i ? ", " : "", rows[i].name);
    opf_diag_hint(diags, diag, "the rows are %s", opf_text_string(&names));
    opf_text_free(&names);
    return OPF_ERROR_INPUT;
}

opf_status opf_machine_choose(opf_machine *out, const char *name_or_file, opf_arena *arena, opf_diags *diags) {
    if (name_or_file && *name_or_file && strcmp(name_or_file, "native") != 0) {
        const opf_machine *row = opf_machine_named(name_or_file);
        if (!row && !opf_file_exists(name_or_file)) return no_machine(name_or_file, diags);
        if (!row) return read_file(out, name_or_file, arena, diags);
        *out = *row;
        return OPF_OK;
    }
    for (size_t i = 0; i < OPF_COUNT(rows); i++)
        if (runs_here(&rows[i])) {
            *out = rows[i];
            return OPF_OK;
        }
    return OPF_ERROR_INTERNAL; /* the generic row runs everywhere */
}
