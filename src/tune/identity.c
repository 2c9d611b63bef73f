/* Which CPU this is. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "tune/tuning.h"

/* x86 says "model name"; ARM has numbers instead. */
static const char *const fields[] = {"model name", "CPU part", "cpu model", "uarch", "isa"};

static const char *value_of(const char *line, const char *field, opf_arena *arena) {
    size_t length = strlen(field);
    const char *colon = strchr(line, ':');
    if (strncmp(line, field, length) != 0 || !colon || strspn(line + length, " \t") != (size_t)(colon - line) - length) return NULL;
    const char *value = colon + 1 + strspn(colon + 1, " \t");
    return opf_arena_string_n(arena, value, strcspn(value, "\n"));
}

const char *opf_cpu_identity(opf_arena *arena) {
    const char *found[OPF_COUNT(fields)] = {NULL};
    char line[512];
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && fgets(line, sizeof line, file))
        for (size_t i = 0; i < OPF_COUNT(fields); i++)
            if (!found[i]) found[i] = value_of(line, fields[i], arena);
    if (file) fclose(file);
    for (size_t i = 0; i < OPF_COUNT(fields); i++)
        if (found[i] && *found[i]) return found[i];
    struct utsname name;
    return uname(&name) == 0 ? opf_arena_string(arena, name.machine) : "unknown";
}
