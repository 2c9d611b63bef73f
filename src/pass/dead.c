/* Dead nodes, which would otherwise destroy the post-dominators of what feeds them. The walk over sub-graphs is the pass
 * table's, and harmless beside that of opf_graph_remove_dead itself. */
#include "pass/edit.h"

opf_status opf_pass_dead(opf_graph *graph) {
    opf_graph_remove_dead(graph);
    return OPF_OK;
}
