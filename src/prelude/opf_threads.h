/* A small pool of threads behind opf_hook. Workers spin briefly between kernels (a sleeping barrier costs tens of
 * microseconds, a spinning one a tenth of one), then sleep. */
#ifndef OPF_THREADS_H
#define OPF_THREADS_H

#ifndef OPF_ABI_H
#include "opf_abi.h"
#endif

typedef struct opf_pool_threads opf_threads;

/* A pool in which `threads` threads work, the caller among them; NULL for threads <= 1 or where none can be started. */
opf_threads *opf_threads_new(int threads);
void opf_threads_free(opf_threads *pool); /* NULL is fine; no call may be running */
int opf_threads_count(const opf_threads *pool); /* 1 for NULL */

/* opf_hook.parallel: runs kernel(args, 0 … parts-1, parts) and returns when all are done. Runs everything in the caller
 * where the pool is NULL, is busy with another caller's kernel, or the call comes from inside a kernel. */
void opf_threads_parallel(void *pool, opf_kernel kernel, const opf_args *args, int parts);

/* Processors that this process may use at once: affinity and the control group's CPU limit. At least 1. */
int opf_threads_available(void);

#endif
