// The event log of a run (`run --events`) as columns, for pages: small, and quickly read by a browser.
#ifndef TLMALLOC_PLATFORM_REPORT_EVENT_COLUMNS_HPP
#define TLMALLOC_PLATFORM_REPORT_EVENT_COLUMNS_HPP

#include "tlmalloc/base/status.h"

#include <jansson.h>
#include <memory>
#include <string>

namespace tlmalloc {

struct event_columns {
    // The log's header, its names, and for every table its rows and [name, bytes] of its columns; numbers of texts are
    // indexes of "texts".
    std::unique_ptr<json_t, decltype(&json_decref)> head{nullptr, &json_decref};
    // All columns, one after the other, compressed in zlib's format. A value v is written as v + 1, a missing value as
    // 0, texts as their numbers and truths as 0 and 1. The differences from the row before are written, doubled, odd
    // for negative ones, in groups of 7 bits, the lowest first, all but the last with bit 7.
    std::string bytes;
};

// Reads a complete log, plain or gzip. TLA_IO when it cannot be read; TLA_SYNTAX with file and line for a file that is
// not a log, for a log of another version, and for one that is cut; TLA_LIMIT, TLA_NO_HOST_MEMORY.
tla_status read_event_columns(const char *path, event_columns *out, tla_error *error);

} // namespace tlmalloc
#endif
