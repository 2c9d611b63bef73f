/* How much memory a single object may ask for. */
#ifndef OPF_BASE_MEMORY_H
#define OPF_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* False where the machine (its free memory and swap, or the process's control group) cannot hold that many bytes more. The
 * system hands out such memory all the same and ends the process when it is written: sizes that come from files or from a
 * user are asked about first. Small sizes always fit. */
bool opf_memory_fits(size_t bytes);

#endif
