/* What the system says of its memory. */
#include "base/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { SMALL = 64 << 20 }; /* not worth a look at /proc */

/* Free memory and swap; SIZE_MAX where the system does not tell. */
static size_t of_machine(void) {
    FILE *file = fopen("/proc/meminfo", "re");
    if (!file) return SIZE_MAX;
    char line[128];
    unsigned long long sum = 0, kib;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu", &kib) == 1 || sscanf(line, "SwapFree: %llu", &kib) == 1) sum += kib;
    fclose(file);
    return sum ? (size_t)sum * 1024 : SIZE_MAX;
}

static size_t number_in(const char *path, size_t otherwise) {
    FILE *file = fopen(path, "re");
    unsigned long long value;
    bool found = file && fscanf(file, "%llu", &value) == 1;
    if (file) fclose(file);
    return found ? (size_t)value : otherwise;
}

/* As a container sees its own control group, version 2 and 1. */
static size_t of_group(void) {
    static const char *const files[][2] = {
        {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
        {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t most = number_in(files[i][0], SIZE_MAX), used = number_in(files[i][1], 0);
        if (most != SIZE_MAX) return most > used ? most - used : 0;
    }
    return SIZE_MAX;
}

bool opf_memory_fits(size_t bytes) {
    if (bytes <= SMALL) return true;
    return bytes <= of_machine() && bytes <= of_group();
}
