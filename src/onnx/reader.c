/* The reader's state: problems, decoding, names. */
#include "onnx/reader.h"

void opf_reader_failed(opf_reader *reader, opf_status status) {
    /* What is malformed says more than what is unsupported, and that more than what the machine refused. */
    static const int weight[] = {[OPF_ERROR_SYSTEM] = 1, [OPF_ERROR_UNSUPPORTED] = 2, [OPF_ERROR_INPUT] = 3};
    if (reader->status == OPF_OK || weight[status] > weight[reader->status]) reader->status = status;
    reader->n_problems++;
}

bool opf_reader_error(opf_reader *reader, opf_status status, const char *code, const char *format, ...) {
    opf_reader_failed(reader, status);
    if (reader->n_problems > OPF_MAX_PROBLEMS) return false;
    opf_text message = {0};
    va_list arguments;
    va_start(arguments, format);
    opf_text_vprintf(&message, format, arguments);
    va_end(arguments);
    opf_diag_add(reader->diags, OPF_ERROR, code, reader->place, "%s", opf_text_string(&message));
    opf_text_free(&message);
    if (reader->n_problems == OPF_MAX_PROBLEMS) {
        opf_place place = {.file = reader->place.file, .index = -1};
        opf_diag_add(reader->diags, OPF_NOTE, "read", place, "more than %d problems; the others are not listed", OPF_MAX_PROBLEMS);
    }
    return false;
}

bool opf_reader_spend(opf_reader *reader, size_t bytes) {
    bool had = reader->allowance >= 0;
    reader->allowance = bytes > INT64_MAX / 4 ? -1 : reader->allowance - (int64_t)bytes;
    if (reader->allowance >= 0) return true;
    if (!had) return false;
    reader->place = (opf_place){.file = reader->place.file, .index = -1}; /* no one node is to blame */
    return opf_reader_error(reader, OPF_ERROR_UNSUPPORTED, "size", "the model expands to far more than its file holds (functions called by functions, or sparse tensors)");
}

void *opf_reader_decode(opf_reader *reader, const pb_msgdesc_t *type, size_t size, opf_span bytes, const char *what) {
    const char *why = "";
    void *message = opf_wire_decode(reader->scratch, type, size, bytes, &why);
    if (message) return message;
    size_t offset = bytes.data && reader->file.data ? (size_t)(bytes.data - reader->file.data) : 0;
    if (bytes.data == reader->file.data && bytes.size == reader->file.size) {
        opf_reader_error(reader, OPF_ERROR_INPUT, "read", "this is no ONNX file, or one that was cut short (%s)", why);
        return NULL;
    }
    opf_reader_error(reader, OPF_ERROR_INPUT, "read", "the file is damaged: the %s at byte %zu (%zu bytes long) cannot be decoded (%s)", what, offset, bytes.size, why);
    return NULL;
}

const char *opf_reader_name(opf_reader *reader, opf_span span, const char *what) {
    if (opf_span_is_text(span)) return opf_intern_n(reader->module->names, (const char *)span.data, span.size);
    opf_reader_error(reader, OPF_ERROR_INPUT, "read", "the %s at byte %zu is not UTF-8 text", what, (size_t)(span.data - reader->file.data));
    return NULL;
}
