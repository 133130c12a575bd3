// Texts of the runtime's errors.
#include "runtime_text.hpp"

#include "cache/shortage.h"
#include "tlmalloc/command/control_port.h"

#include <algorithm>

namespace tlmalloc {

std::string to_string(const pe_location &pe) {
    return "sip" + std::to_string(pe.sip) + ".cube" + std::to_string(pe.cube) + ".pe" + std::to_string(pe.pe);
}

std::string to_string(const tla_location &place) {
    const std::string sip = "sip" + std::to_string(place.sip), cube = sip + ".cube" + std::to_string(place.cube);
    switch (place.kind) {
    case TLA_LOCATION_PE:
        return to_string(pe_location{place.sip, place.cube, place.pe});
    case TLA_LOCATION_M_CPU:
        return cube + ".m_cpu";
    case TLA_LOCATION_IO_CPU:
        return sip + ".io_cpu";
    case TLA_LOCATION_NONE:
        break;
    }
    return "";
}

std::string place_of(tla_memory_kind memory, const pe_location &pe) {
    const std::string title = tla_memory_kind_title(memory), place = to_string(pe);
    const tla_memory_scope scope = tla_memory_scope_of(memory);
    if (scope == TLA_SCOPE_HOST) return title;
    return title + " of " + (scope == TLA_SCOPE_CUBE ? place.substr(0, place.rfind('.')) : place);
}

const char *refusal_text(tla_status status) {
    return status == TLA_BUSY ? "rejected by the fault plan" : tla_status_text(status);
}

namespace {

bool of_controller(std::uint32_t opcode) {
    return opcode == TLA_OP_ALLOC || opcode == TLA_OP_FREE || opcode == TLA_OP_TRIM;
}

} // namespace

bool fits_never(const tla_completion &completion) {
    return completion.status == TLA_OUT_OF_RANGE && completion.opcode == TLA_OP_ALLOC;
}

bool lacks_node(const tla_completion &completion) {
    return completion.status == TLA_LIMIT && of_controller(completion.opcode);
}

bool is_shortage(const tla_completion &completion) {
    return completion.status == TLA_EXHAUSTED || completion.status == TLA_FRAGMENTED || fits_never(completion) ||
           (lacks_node(completion) && completion.opcode == TLA_OP_ALLOC);
}

std::string shortage(const std::string &what, const tla_completion &completion, std::uint64_t nbytes,
                     std::uint64_t reserved, const memory_limits &limits) {
    if (lacks_node(completion))
        return what + ": the free list has no node for another block: controller.list_reserve or "
                      "controller.engine_nodes limits its nodes";
    if (fits_never(completion))
        return what + " overflow: requested " + std::to_string(nbytes) +
               " bytes, more than a segment will ever have: " + "increase " + limits.segment_key;
    const bool of_alloc = completion.opcode == TLA_OP_ALLOC || completion.opcode == TLA_OP_EVICT;
    const bool of_l2 = completion.opcode == TLA_OP_ALLOC && completion.value == TLA_SMALLER_L1;
    const std::uint64_t trimmed = of_alloc && !of_l2 ? completion.value : 0;
    const std::uint64_t takes = of_alloc ? std::max(completion.nbytes, nbytes) : nbytes;
    const bool smaller_helps = !limits.segment_key.empty() && takes > nbytes && completion.largest_free >= nbytes;
    const auto number = [](std::uint64_t n) { return std::to_string(n); };
    return what + " overflow: requested " + number(nbytes) + " bytes" +
           (takes > nbytes && takes != UINT64_MAX ? " (a block of " + number(takes) + ")" : "") + ", " +
           number(completion.total_free) + " free" +
           (trimmed ? " (" + number(trimmed) + " of them after a TRIM)" : "") + ", largest free block " +
           number(completion.largest_free) + ": " +
           tla_shortage_say(completion.status, takes, completion.total_free, completion.largest_free,
                            limits.divided ? 0 : reserved, trimmed) // less reserve is not all for L2
               .text +
           (smaller_helps ? "; or reduce " + limits.segment_key + ", because no segment of this size is free" : "") +
           (of_l2 && limits.divided ? "; L2 limits it: reduce controller.partition_l1" : "");
}

#define IDS " (correlation %u, request %u)"

tla_status explain(tla_error *error, const std::string &what, const tla_completion &completion, std::uint64_t nbytes,
                   std::uint64_t reserved, const memory_limits &limits) {
    const unsigned correlation = completion.correlation_id, request = completion.request_id;
    const bool out_of_memory =
        completion.status == TLA_EXHAUSTED || completion.status == TLA_FRAGMENTED || fits_never(completion);
    if (lacks_node(completion))
        return tla_error_set(error, TLA_LIMIT, "%s" IDS, shortage(what, completion, nbytes, reserved, limits).c_str(),
                             correlation, request);
    if (!out_of_memory || nbytes == 0)
        return tla_error_set(error, completion.status, "%s: %s" IDS, what.c_str(), refusal_text(completion.status),
                             correlation, request);
    tla_error_set(error, completion.status, "%s" IDS, shortage(what, completion, nbytes, reserved, limits).c_str(),
                  correlation, request);
    if (error) {
        error->requested = nbytes;
        error->total_free = completion.total_free;
        error->largest_free = completion.largest_free;
    }
    return completion.status;
}

tla_status explain_map(tla_error *error, const std::string &what, const tla_completion &completion) {
    const tla_location &at = completion.failed_at;
    const bool has_no_room = completion.status == TLA_EXHAUSTED || completion.status == TLA_FRAGMENTED;
    if (!has_no_room || at.kind != TLA_LOCATION_PE) return explain(error, what, completion, 0);
    return tla_error_set(error, completion.status,
                         "%s: no room for a page table in %s: increase hbm.capacity_per_cube or mmu.page_size, or set "
                         "mmu.walk to flat" IDS,
                         what.c_str(), place_of(TLA_HBM, {at.sip, at.cube, at.pe}).c_str(), completion.correlation_id,
                         completion.request_id);
}

namespace {

const char *why_not_moved(tla_status status) {
    switch (status) {
    case TLA_BUSY:
        return "the block moves already, or has pins or bytes that an initiator has reserved; or the fault plan "
               "rejected the command";
    case TLA_INVALID_ARGUMENT:
        return "its controller does not have this memory";
    case TLA_UNSUPPORTED:
        return "the block is counted or under a key, or a free list lies in memory (controller.free_list)";
    case TLA_NOT_OWNER:
        return "another address space holds the block";
    case TLA_UNMAPPED:
        return "an MMU does not map the block";
    default:
        return tla_status_text(status);
    }
}

} // namespace

tla_status explain_move(tla_error *error, const std::string &what, const tla_completion &completion,
                        std::uint64_t nbytes) {
    if (nbytes > 0 && (completion.status == TLA_EXHAUSTED || completion.status == TLA_FRAGMENTED))
        return explain(error, what, completion, nbytes);
    return tla_error_set(error, completion.status, "%s: %s" IDS, what.c_str(), why_not_moved(completion.status),
                         completion.correlation_id, completion.request_id);
}

} // namespace tlmalloc
