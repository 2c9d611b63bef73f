/* Pictures of graphs as data: boxes with places and lines with points, in pixels, for a page that draws them itself. */
#ifndef OPF_REPORT_PICTURE_H
#define OPF_REPORT_PICTURE_H

#include <jansson.h>

#include "fuse/fuse.h"

/* {"boxes": [{"kind": "node|input|output", "name", "op", "pattern"?, "type"?, "x", "y", "w", "h"}],
 *  "lines": [{"from", "to", "value", "type", "bytes", "points": [x, y, …]}], "width", "height"}
 * x and y are middles, points those of a row of cubic Bézier curves. Without Graphviz there are no x, y, points, width and
 * height, and *laid_out is false. The caller owns the reference. */
json_t *opf_picture_of_nodes(const opf_graph *graph, bool *laid_out);
/* The same of the groups: kind "group" with "id" (first_id + its own), "step" and "lines" of text. Folded groups are not drawn. */
json_t *opf_picture_of_groups(const opf_fusion *fusion, int first_id, bool *laid_out);

#endif
