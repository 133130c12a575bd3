// The results of a run: a table to read, and JSON.
#ifndef TLMALLOC_PLATFORM_RUN_RUN_REPORT_HPP
#define TLMALLOC_PLATFORM_RUN_RUN_REPORT_HPP

#include "run/workload.hpp"

#include <cstdio>
#include <jansson.h>

namespace tlmalloc {

void print_run(std::FILE *out, const npu &platform, const workload &work, double host_s);

// Prints for every kernel that was ended in a deadlock the call in which it waited, and its peer.
void print_waits(std::FILE *out, const npu &platform);

// Says when mappings failed after they were acknowledged, or are not the same in all MMUs.
void warn_of_lost_mappings(std::FILE *out, const npu &platform);

// The report; a new reference. Keys: platform/report_keys.md.
json_t *run_json(const npu &platform, const workload &work, const tla_config &config);

} // namespace tlmalloc
#endif
