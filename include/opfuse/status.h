/* Status codes and severities shared by the public API and every internal module. */
#ifndef OPFUSE_STATUS_H
#define OPFUSE_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* What a call came to. Few codes, each one a caller can act on; the details go to the diagnostic sink. */
typedef enum opf_status {
    OPF_OK = 0,
    OPF_ERROR_USAGE,       /* the call's own arguments are wrong (exit status 2) */
    OPF_ERROR_INPUT,       /* a file or tensor given by the user is malformed or does not fit */
    OPF_ERROR_UNSUPPORTED, /* valid, but not supported: the diagnostics name every node */
    OPF_ERROR_SYSTEM,      /* the machine refused: no file, no space, no memory, no compiler */
    OPF_ERROR_MISMATCH,    /* a check ran and does not hold (exit status 3) */
    OPF_ERROR_INTERNAL     /* a defect of opfuse itself */
} opf_status;

typedef enum opf_severity { OPF_NOTE, OPF_WARNING, OPF_ERROR } opf_severity;

#ifdef __cplusplus
}
#endif
#endif
