// The event log of a run (`run --events`) as columns, for pages: small, and quickly read by a browser.
#ifndef TLMALLOC_PLATFORM_REPORT_EVENT_COLUMNS_HPP
#define TLMALLOC_PLATFORM_REPORT_EVENT_COLUMNS_HPP

#include "tlmalloc/base/status.h"

#include <jansson.h>
#include <memory>
#include <string>

namespace tlmalloc {

struct event_columns {
    // What the log says of itself, its names, and for every table its rows and [name, bytes] of its columns; "texts" is
    // what numbers of texts lead into.
    std::unique_ptr<json_t, decltype(&json_decref)> head{nullptr, &json_decref};
    // All columns, one behind the other, as zlib's format compresses them. A value v is written as v + 1, nothing as 0,
    // texts as their number and truths as 0 and 1; of these the differences from the row before, twice as large, odd
    // where they are negative, in groups of 7 bits, the lowest first, all but the last with bit 7.
    std::string bytes;
};

// Reads a log, plain or gzip, that is whole. TLA_IO when it cannot be read; TLA_SYNTAX with file and line for what is
// no log, one of another version, or one that is cut; TLA_LIMIT, TLA_NO_HOST_MEMORY.
tla_status read_event_columns(const char *path, event_columns *out, tla_error *error);

} // namespace tlmalloc
#endif
