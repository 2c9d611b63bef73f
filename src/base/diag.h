/* Diagnostics: all that opfuse tells a user beside its results. Collected in a sink; the API's owner prints them.
 *
 * Printed form (stable, tested):
 *   resnet.onnx: node 'layer1.0/add' (Add, #17): error[shape]: cannot broadcast [1,64] with [1,32]
 *       input 0  'conv2_out'  float32[1,64]  from 'layer1.0/conv2' (Conv)
 *       hint: axis 1 is 64 and 32; both must match or one be 1
 * Parts that a place lacks are left out. A message reported n > 1 times stands once, with " (n times)" at its end.
 */
#ifndef OPF_BASE_DIAG_H
#define OPF_BASE_DIAG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/text.h"
#include "opfuse/status.h"

/* Where a problem is. Any field may be NULL or negative. */
typedef struct opf_place {
    const char *file;      /* model file or other input */
    const char *node;      /* node name */
    const char *op;        /* operator, "Conv" or "com.microsoft::Gelu" */
    int index;             /* node index in the model, -1 where there is none */
} opf_place;

#define OPF_NO_PLACE ((opf_place){NULL, NULL, NULL, -1})

typedef struct opf_diag {
    opf_severity severity;
    const char *code;      /* short class: "shape", "type", "read", "unsupported", "io", "cache", … */
    opf_place place;
    const char *message;   /* one sentence */
    const char *details;   /* further lines without indentation, or NULL */
    const char *hint;      /* what to do, or NULL */
    int count;             /* how often this very message was reported */
} opf_diag;

typedef struct opf_diags opf_diags;

opf_diags *opf_diags_new(void);
void opf_diags_free(opf_diags *diags);
void opf_diags_clear(opf_diags *diags);

/* Adds one; the returned object lives in the sink, so that details and hint can be set on it:
 *   opf_diag_hint(diags, opf_diag_add(diags, OPF_ERROR, "shape", place, "..."), "make %s equal", name); */
opf_diag *opf_diag_add(opf_diags *diags, opf_severity severity, const char *code, opf_place place, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void opf_diag_detail(opf_diags *diags, opf_diag *diag, const char *format, ...) __attribute__((format(printf, 3, 4))); /* appends a line */
void opf_diag_hint(opf_diags *diags, opf_diag *diag, const char *format, ...) __attribute__((format(printf, 3, 4)));

size_t opf_diags_count(const opf_diags *diags);
size_t opf_diags_errors(const opf_diags *diags);
const opf_diag *opf_diags_at(const opf_diags *diags, size_t index);
void opf_diag_print(const opf_diag *diag, opf_text *out);

#endif
