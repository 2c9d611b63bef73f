/* Policy best: TVM's rules on the graph that the passes have left. */
#include "fuse/fuser.h"

void opf_policy_best(opf_fuser *fuser) { opf_policy_tvm(fuser); }
