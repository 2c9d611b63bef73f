/* The schedules that a program is planned with: pinned ones first, then those of the database.
 *
 * One database gives one program, whatever the number of threads of the run decides in it may not change a bit of the results:
 * where rows of several numbers of threads differ in a choice that decides bits, the one of the fewest threads serves all. */
#ifndef OPF_TUNE_CATALOG_H
#define OPF_TUNE_CATALOG_H

#include "tune/database.h"

typedef struct opf_catalog opf_catalog;

typedef struct opf_catalog_options {
    const char *database;      /* file; NULL: none. One that is not there is empty */
    bool must_work;            /* the user named it: trouble is an error, not a warning */
    const char *pins;          /* file of pinned schedules; NULL: none */
    int threads;
    bool one_file;             /* all kernels are compiled as one file: lanes and compilers of their own are left out */
    void (*say)(void *data, const char *text); /* remarks; NULL: none are wanted */
    void *say_data;
} opf_catalog_options;

/* All that programs planned with such a catalog depend on, as text; nothing where it has no schedules. False where it cannot be told. */
bool opf_catalog_stamp(const opf_catalog_options *options, opf_text *out);

opf_status opf_catalog_open(opf_catalog **out, const opf_catalog_options *options, opf_diags *diags);
void opf_catalog_close(opf_catalog *catalog); /* NULL is fine */
/* For opf_plan: looks each group up. Valid as long as the catalog. */
const opf_schedule_source *opf_catalog_source(opf_catalog *catalog);
/* Nodes of the group that are a kernel of their own by its schedule; 0: it stays whole. */
int64_t opf_catalog_cut(opf_catalog *catalog, const opf_group *group, const opf_machine *machine);
/* Once all is planned: what was used, as a remark; pins that no kernel has are an error. */
opf_status opf_catalog_finish(opf_catalog *catalog, const char *model);

#endif
