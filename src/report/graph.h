/* Pictures of a graph, before and after fusion. */
#ifndef OPF_REPORT_GRAPH_H
#define OPF_REPORT_GRAPH_H

#include "fuse/fuse.h"

/* Adds to `out` the graph as DOT text ("dot") or laid out by Graphviz's dot ("svg"). fusion NULL: the nodes as they
 * stand; else its groups as clusters. Node colours are pattern kinds; edges carry the types of values.
 * OPF_ERROR_USAGE for another format; OPF_ERROR_SYSTEM, reported, where dot is missing or fails. */
opf_status opf_report_graph(const opf_graph *graph, const opf_fusion *fusion, const char *format, opf_text *out);

#endif
