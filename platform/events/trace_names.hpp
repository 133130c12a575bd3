// The names that a trace shows for places, memories, addresses and answers.
#ifndef TLMALLOC_PLATFORM_EVENTS_TRACE_NAMES_HPP
#define TLMALLOC_PLATFORM_EVENTS_TRACE_NAMES_HPP

#include "tlmalloc/modules/pe_mmu.hpp"

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace tlmalloc {

inline bool ends_with(const std::string &text, const std::string &end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Returns the place of "sip0.cube1.pe2.mmu", "sip0_cube1_m_cpu", "sip0_io_cpu", "va_manager": "sip0.cube1",
// "sip0.cube1", "sip0", "host".
inline std::string place_of_module(const std::string &name) {
    if (name.compare(0, 3, "sip") != 0) return "host";
    const std::size_t end_of_sip = name.find_first_of("._");
    const std::string sip = name.substr(0, end_of_sip);
    if (end_of_sip == std::string::npos || name.compare(end_of_sip + 1, 4, "cube") != 0) return sip;
    const std::size_t end_of_cube = name.find_first_of("._", end_of_sip + 1);
    return sip + "." + name.substr(end_of_sip + 1, end_of_cube - end_of_sip - 1);
}

// "sip0.cube0.pe0.hbm", "sip0.cube0.sram", "va_manager"
inline std::string name_of_memory(const std::string &module, std::optional<tla_memory_kind> memory) {
    static const std::string controller = ".controller";
    std::string place = ends_with(module, controller) ? module.substr(0, module.size() - controller.size()) : module;
    const std::string kind = memory ? tla_memory_kind_name(*memory) : "";
    return kind.empty() || ends_with(place, kind) ? place : place + "." + kind;
}

inline std::string hexadecimal(std::uint64_t address) {
    char text[19];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
    return text;
}

inline const char *name_of(pe_mmu::trouble what) {
    switch (what) {
    case pe_mmu::trouble::stale:
        return "stale access";
    case pe_mmu::trouble::fault:
        return "fault";
    case pe_mmu::trouble::fallback:
        return "taken as physical";
    default:
        return "page on demand";
    }
}

// "ALLOC", "ALLOC: TLA_EXHAUSTED"
inline std::string with_status(const std::string &name, tla_status status) {
    return status ? name + ": " + tla_status_name(status) : name;
}

} // namespace tlmalloc

#endif
