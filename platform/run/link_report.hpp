// The report of a run about the fabric's links.
#ifndef TLMALLOC_PLATFORM_RUN_LINK_REPORT_HPP
#define TLMALLOC_PLATFORM_RUN_LINK_REPORT_HPP

#include "tlmalloc/modules/npu.hpp"

#include <cstdio>
#include <jansson.h>

namespace tlmalloc {

// A row for each direction of a link that carried anything, in the order of their numbers; a new reference.
json_t *links_json(const npu &platform);

// A row for each kind of link that there is, used or not, both directions for themselves; a new reference.
json_t *link_kinds_json(const npu &platform);

// Names the busiest links, and those that were waited for most; nothing where neither is worth a line.
void print_links(std::FILE *out, const npu &platform);

// "sip0.cube0.pe0 -> sip0.cube0.r0c0"
std::string name_of_link(const npu &platform, std::uint32_t link);

} // namespace tlmalloc
#endif
