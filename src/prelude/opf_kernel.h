/* How a kernel finds its share of the work; what compilers are told about kernels. */
#ifndef OPF_KERNEL_H
#define OPF_KERNEL_H

#include <stdint.h>

/* OPF_INDEPENDENT stands before loops whose iterations touch nothing that others of them write.
 * A file uses some of the prelude. Conditions on elements are joined by & and |: both sides are computed anyway, and a branch would keep a loop from becoming
 * vector code. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wunknown-warning-option"
#pragma clang diagnostic ignored "-Wunused-function"
#pragma clang diagnostic ignored "-Wbitwise-instead-of-logical"
#pragma clang diagnostic ignored "-Wpass-failed"
#define OPF_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define OPF_INDEPENDENT _Pragma("GCC ivdep") _Pragma("GCC unroll 1") /* unrolled early, short loops become scalar code */
#else
#define OPF_INDEPENDENT
#endif

/* Apart: a function that is not to be printed into its callers. They may be many; or, where it takes all vector registers, what stands around it would
 * take some of them. */
#if defined(__GNUC__)
#define OPF_APART __attribute__((noinline, unused)) static
#else
#define OPF_APART static
#endif

/* A string as kernels move it: a pointer to terminated text, which they do not look at. */
#if defined(__GNUC__)
typedef uint64_t __attribute__((may_alias)) opf_string;
#else
typedef uint64_t opf_string;
#endif

typedef struct opf_span { int64_t begin, end; } opf_span;

/* Part `part` of `parts` of the units 0 … count-1: the first count % parts parts get one more. */
static inline opf_span opf_share(int64_t count, int part, int parts) {
    int64_t each = count / parts, more = count % parts;
    int64_t begin = part * each + (part < more ? part : more);
    return (opf_span){begin, begin + each + (part < more)};
}

#endif
