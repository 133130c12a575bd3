// A report of SystemC in the words of a command: a thread of a model that finds no host memory ends with one.
#ifndef TLMALLOC_PLATFORM_CLI_REPORT_WORDS_HPP
#define TLMALLOC_PLATFORM_CLI_REPORT_WORDS_HPP

#include "tlmalloc/base/status.h"

#include <cstring>
#include <string>
#include <systemc>

namespace tlmalloc {

// SystemC reports an exception that a thread does not catch by its what().
inline tla_status status_of(const sc_core::sc_report &report) {
    return std::strcmp(report.get_msg(), "std::bad_alloc") == 0 ? TLA_NO_HOST_MEMORY : TLA_INVALID_ARGUMENT;
}

inline std::string words_of(const sc_core::sc_report &report) {
    if (status_of(report) == TLA_NO_HOST_MEMORY) return "TLA_NO_HOST_MEMORY: no host memory for the platform";
    return std::string(report.get_msg_type()) + ": " + report.get_msg();
}

} // namespace tlmalloc
#endif
