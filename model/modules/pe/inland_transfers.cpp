// Which transfers stay on a PE's island: by addresses, mappings and the way through the fabric.
#include "inland_transfers.hpp"

#include "tlmalloc/base/timeline.h"
#include "tlmalloc/modules/detail/time_queue.hpp"

#include <map>

namespace tlmalloc {

// Excludes configurations in which a transfer may fail early, or depends on other modules: guarded memory, faults,
// walks with their TLBs, and pages that leave.
static bool may_leave(const tla_config &c) {
    return c.controller.guard == TLA_GUARD_OFF && c.faults.plan.count == 0 && c.mmu.walk == TLA_WALK_IDEAL &&
           c.host.eviction == TLA_EVICTION_OFF;
}

inland_site::inland_site(const tla_config &config) : made_(may_leave(config)) {
    if (made_) time_queue::of_simulation().begin_island();
}

inland_site::~inland_site() {
    if (made_) time_queue::of_simulation().end_island();
}

namespace {

struct stretch { // of physical addresses
    std::uint64_t first, nbytes;

    bool has(std::uint64_t at, std::uint64_t length) const {
        return at >= first && length <= nbytes && at - first <= nbytes - length;
    }
};

stretch slice_of(const pe_unit &pe, std::uint64_t nbytes) {
    tla_paddr pa{};
    tla_paddr_pe_hbm(pe.where.sip, pe.where.cube, pe.where.pe, 0, nbytes, &pa);
    return {pa.value, nbytes};
}

stretch tcm_of(const pe_unit &pe, std::uint64_t nbytes) {
    tla_paddr pa{};
    tla_paddr_pe_tcm(pe.where.sip, pe.where.cube, pe.where.pe, 0, &pa);
    return {pa.value, nbytes};
}

bool stays(const pe_dma::request &what, std::uint64_t at_ps, const pe_mmu &mmu, std::uint32_t asid,
           const stretch &slice, const stretch &tcm) {
    if (what.has_tile && !tcm.has(what.tile.value, what.rows * what.row_bytes)) return false;
    const std::uint32_t access = what.way == pe_dma::direction::read ? TLA_READ : TLA_WRITE;
    for (std::uint64_t row = 0; row < what.rows; row++) {
        const std::uint64_t at = what.va.value + row * what.pitch;
        const bool inside = what.physical
                                ? slice.has(at, what.row_bytes)
                                : mmu.leads_into(asid, {at}, what.row_bytes, access, at_ps, slice.first, slice.nbytes);
        if (!inside) return false;
    }
    return true;
}

// Returns a lower bound on the time of a chunk from its issue on: the wires there and back, a burst, and its bytes on
// every link and in the TCM.
std::function<std::uint64_t(const pe_dma::request &, std::uint32_t)>
least_time(const tla_config &c, interconnect &fabric, const std::vector<std::uint32_t> &nodes) {
    const std::uint32_t from = nodes.front(), to = nodes.back();
    const std::uint64_t burst_ps =
        c.hbm_timing.has_profile ? 0 : tla_transfer_ps(c.hbm.burst, c.hbm.pseudo_channel_bandwidth);
    const std::uint64_t overhead_ps = c.mmu.overhead_at == TLA_OVERHEAD_AT_ACCESS ? c.mmu.overhead_ps : 0;
    const std::uint64_t fixed_ps = overhead_ps + fabric.way_between(from, to, 0).least_ps + c.hbm.latency_ps + burst_ps;
    const tla_tcm_parameters tcm = c.tcm;
    const bool overlaps = c.links.transport == TLA_TRANSPORT_ONCE;
    return [=, &fabric](const pe_dma::request &what, std::uint32_t nbytes) {
        const std::uint64_t bytes_per_s =
            what.way == pe_dma::direction::read ? tcm.write_bandwidth : tcm.read_bandwidth;
        const std::uint64_t tcm_ps =
            what.has_tile && !overlaps ? tcm.latency_ps + tla_transfer_ps(nbytes, bytes_per_s) : 0;
        return fixed_ps + fabric.way_between(from, to, nbytes).least_ps + tcm_ps;
    };
}

} // namespace

void tell_inland_transfers(const tla_config &config, interconnect &fabric, const std::vector<pe_unit *> &pes) {
    if (!may_leave(config)) return;
    std::vector<interconnect::way> ways;
    std::map<std::uint32_t, unsigned> users; // of nodes
    for (const pe_unit *pe : pes) {
        const stretch slice = slice_of(*pe, config.hbm.capacity), tcm = tcm_of(*pe, config.tcm.capacity);
        ways.push_back(
            fabric.way_between(fabric.node_of_target(tcm.first), fabric.node_of_target(slice.first), config.dma.chunk));
        for (const std::uint32_t node : ways.back().nodes)
            users[node]++;
    }
    for (std::size_t i = 0; i < pes.size(); i++) {
        pe_unit &pe = *pes[i];
        bool alone = !ways[i].nodes.empty();
        for (const std::uint32_t node : ways[i].nodes)
            alone = alone && users[node] == 1;
        if (!alone) continue;
        for (const std::uint32_t node : ways[i].nodes)
            fabric.put_on_island(node, pe.island);
        const stretch slice = slice_of(pe, config.hbm.capacity), tcm = tcm_of(pe, config.tcm.capacity);
        pe.dma.lie_on({pe.island,
                       [&pe, slice, tcm, asid = config.dma.asid](const pe_dma::request &what, std::uint64_t at_ps) {
                           return stays(what, at_ps, pe.mmu, asid, slice, tcm);
                       },
                       least_time(config, fabric, ways[i].nodes)});
    }
}

} // namespace tlmalloc
