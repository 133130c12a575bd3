// What the runtime says when something failed: which part, why, and by which ids the message can be followed.
#ifndef TLMALLOC_MODULES_PLATFORM_RUNTIME_TEXT_HPP
#define TLMALLOC_MODULES_PLATFORM_RUNTIME_TEXT_HPP

#include "tlmalloc/modules/runtime.hpp"

namespace tlmalloc {

// "sip0.cube3.pe5", "sip0.cube3.m_cpu", "sip0.io_cpu"; empty for none.
std::string to_string(const tla_location &place);

// "HBM of sip0.cube0.pe1", "SRAM of sip0.cube0", "host memory"
std::string place_of(tla_memory_kind memory, const pe_location &pe);

// Why a command was refused: a module that is busy answers with a bus error, a fault plan with TLA_BUSY.
const char *refusal_text(tla_status status);

// The key of a memory's segments; "" for a memory without segment_cache.
struct segment_key {
    std::string text;
};
inline segment_key segment_key_of(tla_memory_kind memory, bool segmented) {
    return {segmented ? "controller." + std::string(tla_memory_kind_name(memory)) + "_front.segment" : ""};
}

// "tensor a: HBM of sip0.cube0.pe1: requested ..." as ADR-0048 D6 wants a failed allocation told, where nbytes were
// asked for (0: it was none); `reserved` is what of the memory is never given. Returns the status.
tla_status explain(tla_error *error, const std::string &what, const tla_completion &completion, std::uint64_t nbytes,
                   std::uint64_t reserved = 0, const segment_key &segmented = {});

// The text of it alone, for a completion of status TLA_EXHAUSTED or TLA_FRAGMENTED: "TCM overflow: requested ...".
// `segmented`: the memory has segment_cache in front, whose segments may be what is too large.
std::string shortage(const std::string &what, const tla_completion &completion, std::uint64_t nbytes,
                     std::uint64_t reserved, const segment_key &segmented = {});

} // namespace tlmalloc
#endif
