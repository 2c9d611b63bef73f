/* Contractions by register tiles as C. Private to src/emit. */
#ifndef OPF_EMIT_TILE_H
#define OPF_EMIT_TILE_H

#include "emit/emit.h"
#include "loop/tile.h"

/* The functions that a tile's kernel calls, to stand before it: each inside an #ifndef of its own, so that kernels of one
 * file share them. */
void opf_emit_tile_functions(const opf_nest *nest, opf_text *out);
/* The statements of the kernel's body, behind the locals of its symbols; indented by one level. */
void opf_emit_tile(const opf_nest *nest, opf_text *out);

/* The same with the locals of its symbols. */
void opf_emit_tile_statements(const opf_nest *nest, opf_text *out);

/* A relay (loop/relay.h): the functions that its kernel calls, its front among them, and the statements of its body. */
opf_status opf_emit_relay_functions(const opf_nest *nest, opf_text *out);
opf_status opf_emit_relay(const opf_nest *nest, opf_text *out);

/* The functions of the products in a nest in blocks of rows, in the same way. */
void opf_emit_product_functions(const opf_nest *nest, opf_text *out);

#endif
