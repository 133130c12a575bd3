// The runtime's texts about failures: the failed part, the cause, and the ids of the message.
#ifndef TLMALLOC_MODULES_PLATFORM_RUNTIME_TEXT_HPP
#define TLMALLOC_MODULES_PLATFORM_RUNTIME_TEXT_HPP

#include "tlmalloc/modules/runtime.hpp"

namespace tlmalloc {

// "sip0.cube3.pe5", "sip0.cube3.m_cpu", "sip0.io_cpu"; empty for none.
std::string to_string(const tla_location &place);

// "HBM of sip0.cube0.pe1", "SRAM of sip0.cube0", "host memory"
std::string place_of(tla_memory_kind memory, const pe_location &pe);

// Returns why a command was rejected: a busy module answers with a bus error, a fault plan with TLA_BUSY.
const char *refusal_text(tla_status status);

// What limits the blocks of a memory beside its bytes.
struct memory_limits {
    std::string segment_key; // the key of its segments; "" for a memory without segment_cache and segmented
    bool divided = false;    // it is in two parts
};
inline memory_limits limits_of(tla_memory_kind memory, bool segmented, bool divided) {
    return {segmented ? "controller." + std::string(tla_memory_kind_name(memory)) + "_front.segment" : "", divided};
}

// Writes "tensor a: HBM of sip0.cube0.pe1: requested ..." as ADR-0048 D6 requires for a failed allocation of nbytes (0:
// not an allocation); `reserved` bytes of the memory are never allocated. Returns the status.
tla_status explain(tla_error *error, const std::string &what, const tla_completion &completion, std::uint64_t nbytes,
                   std::uint64_t reserved = 0, const memory_limits &limits = {});

// The same for a MOVE, or for the new place that it needs.
tla_status explain_move(tla_error *error, const std::string &what, const tla_completion &completion,
                        std::uint64_t nbytes);

// As explain, of a MAP or UNMAP that an MMU or the VA manager has refused. The text names the memory in which an MMU
// has found no room for a page table, and the keys that help.
tla_status explain_map(tla_error *error, const std::string &what, const tla_completion &completion);

// Returns whether no segment of the memory will ever be as large as the request.
bool fits_never(const tla_completion &completion);

// Returns whether a list has no node for the blocks that the command would leave.
bool lacks_node(const tla_completion &completion);

// Returns whether the memory has no room, or no node, for an ALLOC.
bool is_shortage(const tla_completion &completion);

// Returns only the text, for a completion of a shortage: "TCM overflow: requested ...". The text names the keys of
// `limits` that help.
std::string shortage(const std::string &what, const tla_completion &completion, std::uint64_t nbytes,
                     std::uint64_t reserved, const memory_limits &limits = {});

} // namespace tlmalloc
#endif
