// Where the time of a run's kernels went: each for itself, and the critical path of all.
#ifndef TLMALLOC_PLATFORM_RUN_TIME_REPORT_HPP
#define TLMALLOC_PLATFORM_RUN_TIME_REPORT_HPP

#include "run/workload.hpp"

#include <jansson.h>

namespace tlmalloc {

// Returns the time of a PE's last kernel, its parts ordered by their times; their sum is the kernel's time. A new
// reference, empty without an account.
json_t *kernel_time_json(const npu &platform, const pe_unit &pe);

// Adds the critical path to an object of the report: from the end of the kernel that ends last back through the
// messages that it has waited for, and through the host to the beginning of the run. Nothing without accounts.
void add_critical_path(json_t *object, const npu &platform, const workload &work);

} // namespace tlmalloc
#endif
