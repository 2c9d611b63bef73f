/* Hardware counters of the calling thread, by Linux's perf events. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run/measure.h"

static int open_one(uint64_t what, int group) {
    struct perf_event_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.size = sizeof attributes;
    attributes.config = what;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
}

void opf_counters_close(opf_counters *c) {
    const int open[] = {c->cycles, c->instructions, c->cache_misses};
    for (size_t i = 0; i < OPF_COUNT(open); i++)
        if (open[i] >= 0) close(open[i]);
}

const char *opf_counters_open(opf_counters *c) {
    *c = (opf_counters){-1, -1, -1};
    c->cycles = open_one(PERF_COUNT_HW_CPU_CYCLES, -1);
    if (c->cycles < 0) return errno == EACCES || errno == EPERM ? "the system does not allow it (perf_event_paranoid)" : "this processor or container shows none";
    c->instructions = open_one(PERF_COUNT_HW_INSTRUCTIONS, c->cycles);
    c->cache_misses = open_one(PERF_COUNT_HW_CACHE_MISSES, c->cycles);
    if (c->instructions >= 0 && c->cache_misses >= 0) return NULL;
    opf_counters_close(c);
    return "this processor or container shows too few";
}

static double value_of(int descriptor) {
    uint64_t value = 0;
    return read(descriptor, &value, sizeof value) == (ssize_t)sizeof value ? (double)value : 0;
}

void opf_counters_read(const opf_counters *c, opf_step_counters *out) {
    *out = (opf_step_counters){value_of(c->cycles), value_of(c->instructions), value_of(c->cache_misses)};
}
