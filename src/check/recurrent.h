/* Recurrent layers (RNN, GRU, LSTM, DynamicQuantizeLSTM) step by step in double, beside the program's own results: each step begins
 * with the state that the program stored in Y, so that a step's error is its own and no bound grows from one to the next. */
#ifndef OPF_CHECK_RECURRENT_H
#define OPF_CHECK_RECURRENT_H

#include "ir/tensor.h"
#include "ops/library.h"

typedef struct opf_recurrent_reference {
    opf_tensor *expected[3], *bounds[3]; /* of Y, Y_h, Y_c: float64; NULL where the program has no such result */
} opf_recurrent_reference;

/* Is the kernel one of theirs? */
bool opf_is_recurrent(const opf_library_call *library);

/* in[k]: operand k of the call, NULL where absent; ints: its integers. got: the program's results. Without Y errors grow with the
 * steps, as they may in the program. (arena) */
void opf_recurrent_bound(opf_recurrent_reference *out, const opf_library_call *library, const int64_t *ints, const opf_tensor *const *in, const opf_tensor *const *got, opf_arena *arena);

#endif
