/* How many threads a run takes by default. */
#include "opf_threads.h"
#include "run/session.h"

int opf_cores(void) { return opf_threads_available(); }
