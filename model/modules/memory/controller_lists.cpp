// Free lists of a memory controller that lie in memory: their accesses, with the time of each.
#include "controller_work.hpp"

#include "modules/kit/payload.hpp"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <string>

namespace tlmalloc {

bool memory_controller::work::list_is_in_slice() const {
    return of_.config_.free_list == TLA_LIST_HBM && of_.config_.memory.of[TLA_HBM].bytes > 0;
}

void memory_controller::work::add_list_counts(tla_memory_kind kind, statistics &to) const {
    const list_counts &counts = list_counts_[kind];
    to.list_reads = counts.reads;
    to.list_writes = counts.writes;
    to.list_hits = counts.hits;
    to.list_errors = counts.errors;
    to.list_ps = counts.took_ps;
}

// Makes the accesses of the last operation from start_ps on, one after the other; returns how long they take.
std::uint64_t memory_controller::work::walk_list(tla_memory_kind kind, std::uint64_t start_ps) {
    tla_list_in_memory *traffic = tla_pe_memory_traffic(tla_controller_memory(of_.core_.get()), kind);
    if (!traffic) return 0; // it has no bytes
    std::size_t count = 0;
    const tla_list_access *accesses = tla_list_in_memory_accesses(traffic, &count);
    const bool in_slice = kind == TLA_HBM && list_is_in_slice();
    list_counts &counts = list_counts_[kind];
    // No transaction begins in the kernel's past, and a command may have waited for one that did so.
    std::uint64_t local = in_slice ? std::max(start_ps, to_ps(sc_core::sc_time_stamp())) : start_ps;
    for (std::size_t i = 0; i < count; i++) {
        const tla_list_access &access = accesses[i];
        ++(access.write ? counts.writes : counts.reads);
        counts.hits += access.hit;
        if (!in_slice || access.hit)
            local += of_.config_.node_latency_ps;
        else if (!access_node(access, local))
            counts.errors++;
    }
    tla_list_in_memory_clear(traffic);
    counts.took_ps += local - start_ps;
    return local - start_ps;
}

// One transaction to the slice at `local`, which moves on; false, and a warning, when it went wrong.
bool memory_controller::work::access_node(const tla_list_access &access, std::uint64_t &local) {
    std::uint8_t record[TLA_LIST_NODE_BYTES];
    std::copy(std::begin(access.record), std::end(access.record), record);
    tlm::tlm_generic_payload payload;
    payload.set_command(access.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
    payload.set_address(of_.config_.memory.of[TLA_HBM].bytes - of_.config_.list_reserve +
                        std::uint64_t{access.slot} * TLA_LIST_NODE_BYTES);
    payload.set_data_ptr(record);
    payload.set_data_length(sizeof record);
    payload.set_streaming_width(sizeof record);
    requester own;
    own.anonymous = own.waits = true;
    own.purpose = TLA_PURPOSE_ALLOCATOR;
    payload.set_extension(&own);
    sc_core::sc_time delay;
    set_local_ps(delay, local);
    of_.slice->b_transport(payload, delay);
    catch_up_with(delay);
    payload.clear_extension(&own);
    local = local_ps(delay);
    const bool as_written = std::equal(std::begin(record), std::end(record), std::begin(access.record));
    if (payload.is_response_ok() && as_written) return true;
    const std::string what =
        payload.is_response_ok() ? "differs from the value written" : payload.get_response_string();
    SC_REPORT_WARNING("/tlmalloc/memory_controller/free_list",
                      (std::string(of_.name()) + ": node " + std::to_string(access.slot) + " " + what).c_str());
    return false;
}

} // namespace tlmalloc
