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
    [TLA_INVALID_ARGUMENT] = {"TLA_INVALID_ARGUMENT", "an argument is out of its range"},
    [TLA_OUT_OF_RANGE] = {"TLA_OUT_OF_RANGE", "the address lies outside the region"},
    [TLA_NOT_ALLOCATED] = {"TLA_NOT_ALLOCATED", "not allocated"},
    [TLA_SIZE_MISMATCH] = {"TLA_SIZE_MISMATCH", "not the size of the allocation"},
    [TLA_OVERLAP] = {"TLA_OVERLAP", "the range is taken already"},
    [TLA_UNMAPPED] = {"TLA_UNMAPPED", "the virtual address is not mapped"},
    [TLA_PERMISSION] = {"TLA_PERMISSION", "the mapping forbids this access"},
    [TLA_BAD_COMMAND] = {"TLA_BAD_COMMAND", "the command descriptor cannot be decoded"},
    [TLA_MISDIRECTED] = {"TLA_MISDIRECTED", "the command is meant for another kind of target"},
    [TLA_BUSY] = {"TLA_BUSY", "refused for now"},
    [TLA_LIMIT] = {"TLA_LIMIT", "a configured limit is used up"},
    [TLA_SYNTAX] = {"TLA_SYNTAX", "the text is not what its format says"},
    [TLA_IO] = {"TLA_IO", "a file cannot be read or written"},
    [TLA_NO_HOST_MEMORY] = {"TLA_NO_HOST_MEMORY", "the host is out of memory"},
    [TLA_BUS_ERROR] = {"TLA_BUS_ERROR", "a transaction was answered with an error"},
    [TLA_LEAK] = {"TLA_LEAK", "something was not given back"},
    [TLA_UNSUPPORTED] = {"TLA_UNSUPPORTED", "not supported"},
    [TLA_WRONG_RESULT] = {"TLA_WRONG_RESULT", "a result differs from its reference"},
    [TLA_USE_AFTER_FREE] = {"TLA_USE_AFTER_FREE", "the block was freed"},
    [TLA_OUT_OF_BOUNDS] = {"TLA_OUT_OF_BOUNDS", "the access is not inside one live block"},
    [TLA_NOT_OWNER] = {"TLA_NOT_OWNER", "the block belongs to somebody else"},
    [TLA_NEVER_WRITTEN] = {"TLA_NEVER_WRITTEN", "the bytes were never written"},
    [TLA_NOT_FOUND] = {"TLA_NOT_FOUND", "what was named does not exist"},
    [TLA_CRASHED] = {"TLA_CRASHED", "the kernel did what no program may do, and was ended"},
    [TLA_TIMEOUT] = {"TLA_TIMEOUT", "the kernel did not return within a limit"},
    [TLA_DEADLOCK] = {"TLA_DEADLOCK", "kernels wait for messages, and none of them can go on"},
    [TLA_NOT_RECEIVED] = {"TLA_NOT_RECEIVED", "a message was sent that nobody received"},
    [TLA_ENGINE_DIFFERS] = {"TLA_ENGINE_DIFFERS", "an engine's answer is not the core's"},
    [TLA_RESET] = {"TLA_RESET", "it was ended by a reset"},
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
