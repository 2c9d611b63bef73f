/* Images: what a runner needs of a program that has been compiled before, in one file of the cache, so that a warm start
 * neither fuses nor prints anything. An image names the compiled object and the packed constants and holds, or says where in
 * the model's files they are, the other constants. Where more is asked (a failing guard in the model's words, names of steps)
 * the program is made after all: opf_runner_attach. */
#ifndef OPF_RUN_IMAGE_H
#define OPF_RUN_IMAGE_H

#include "base/file.h"
#include "run/session.h"

typedef struct opf_image {
    opf_mapping file;
    const char *object;        /* path; its seal holds */
    opf_mapping packed;        /* with its name behind it; no data where nothing is packed */
    opf_hash types;            /* as given when it was written */
    int64_t kernels, steps;
} opf_image;

/* Finds the image of this key. False, quietly, where there is none that is whole, or what it names is not. */
bool opf_image_open(opf_image *out, opf_hash key, const opf_compile_options *options, opf_arena *arena);
void opf_image_close(opf_image *image); /* what a runner has not taken over */

/* Stores the image of a program that `runner` has loaded; `types` is what whoever opens it compares. Quiet: without an image the
 * next start is slower. Programs with constants that hold pointers (strings, sequences) get none. */
void opf_image_write(opf_hash key, const opf_runner *runner, const opf_sources *sources, opf_hash types, const opf_compile_options *options);

/* A runner without its program, which takes over the image. `files`: the model's, as module->files. NULL where it cannot be
 * loaded. */
opf_runner *opf_runner_of_image(opf_image *image, const opf_mapping *files, size_t n_files, int threads);
/* From here on failures are reported in the terms of this program. Until then the functions of a runner without program fail
 * silently. False: it is another program. */
bool opf_runner_attach(opf_runner *runner, const opf_program *program);

#endif
