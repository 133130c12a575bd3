/* Names and texts of the error taxonomy. */
#include "tlmalloc/base/status.h"

#include "escape.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *text;
} statuses[TLA_STATUS_COUNT] = {
    [TLA_OK] = {"TLA_OK", "done"},
    [TLA_EXHAUSTED] = {"TLA_EXHAUSTED", "out of memory"},
    [TLA_FRAGMENTED] = {"TLA_FRAGMENTED", "no free block is large enough, though enough bytes are free"},
    [TLA_INVALID_ARGUMENT] = {"TLA_INVALID_ARGUMENT", "an argument is out of range"},
    [TLA_OUT_OF_RANGE] = {"TLA_OUT_OF_RANGE", "the address is outside the region"},
    [TLA_NOT_ALLOCATED] = {"TLA_NOT_ALLOCATED", "not allocated"},
    [TLA_SIZE_MISMATCH] = {"TLA_SIZE_MISMATCH", "the size differs from the allocation's size"},
    [TLA_OVERLAP] = {"TLA_OVERLAP", "the range is already in use"},
    [TLA_UNMAPPED] = {"TLA_UNMAPPED", "the virtual address is not mapped"},
    [TLA_PERMISSION] = {"TLA_PERMISSION", "the mapping does not permit this access"},
    [TLA_BAD_COMMAND] = {"TLA_BAD_COMMAND", "invalid command descriptor"},
    [TLA_MISDIRECTED] = {"TLA_MISDIRECTED", "the command is for another kind of target"},
    [TLA_BUSY] = {"TLA_BUSY", "busy: retry later"},
    [TLA_LIMIT] = {"TLA_LIMIT", "a configured limit is reached"},
    [TLA_SYNTAX] = {"TLA_SYNTAX", "the text has invalid syntax"},
    [TLA_IO] = {"TLA_IO", "a file cannot be read or written"},
    [TLA_NO_HOST_MEMORY] = {"TLA_NO_HOST_MEMORY", "the host is out of memory"},
    [TLA_BUS_ERROR] = {"TLA_BUS_ERROR", "a transaction returned an error response"},
    [TLA_LEAK] = {"TLA_LEAK", "something was not released"},
    [TLA_UNSUPPORTED] = {"TLA_UNSUPPORTED", "not supported"},
    [TLA_WRONG_RESULT] = {"TLA_WRONG_RESULT", "a result differs from its reference"},
    [TLA_USE_AFTER_FREE] = {"TLA_USE_AFTER_FREE", "the block has been freed"},
    [TLA_OUT_OF_BOUNDS] = {"TLA_OUT_OF_BOUNDS", "the access is not inside a single live block"},
    [TLA_NOT_OWNER] = {"TLA_NOT_OWNER", "the block has another owner"},
    [TLA_NEVER_WRITTEN] = {"TLA_NEVER_WRITTEN", "the bytes were never written"},
    [TLA_NOT_FOUND] = {"TLA_NOT_FOUND", "the named object does not exist"},
    [TLA_CRASHED] = {"TLA_CRASHED", "the kernel crashed and was stopped"},
    [TLA_TIMEOUT] = {"TLA_TIMEOUT", "the kernel exceeded a time limit"},
    [TLA_DEADLOCK] = {"TLA_DEADLOCK", "deadlock: kernels wait for messages and none can continue"},
    [TLA_NOT_RECEIVED] = {"TLA_NOT_RECEIVED", "a sent message was never received"},
    [TLA_ENGINE_DIFFERS] = {"TLA_ENGINE_DIFFERS", "an engine's answer differs from the core's"},
    [TLA_RESET] = {"TLA_RESET", "ended by a reset"},
};

const char *tla_status_name(tla_status status) {
    return (unsigned)status < TLA_STATUS_COUNT ? statuses[status].name : "TLA_?";
}

const char *tla_status_text(tla_status status) {
    return (unsigned)status < TLA_STATUS_COUNT ? statuses[status].text : "unknown status";
}

tla_status tla_error_set(tla_error *error, tla_status status, const char *format, ...) {
    if (error) {
        char text[2 * sizeof error->text];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        *error = (tla_error){.status = status};
        tla_escape(text, strlen(text), error->text, sizeof error->text);
    }
    return status;
}
