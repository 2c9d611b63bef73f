/* Monotonic time in nanoseconds. */
#ifndef OPF_BASE_CLOCK_H
#define OPF_BASE_CLOCK_H

#include <stdint.h>

int64_t opf_clock_now(void);

#endif
