// The measurements of `tlmalloc probe`: single transfers over an idle platform, and their times by a formula.
#ifndef TLMALLOC_PLATFORM_TOPOLOGY_PROBE_CASES_HPP
#define TLMALLOC_PLATFORM_TOPOLOGY_PROBE_CASES_HPP

#include "tlmalloc/modules/npu.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tlmalloc {

enum class probe_kind { host_write, host_read, pe_write };

// One transfer: from a SIP's PCIe end point (SIP 0) or from PE 0 of cube 0 to a PE's slice, or back; or from that PE to
// the host's memory.
struct probe_case {
    std::string name, about;
    probe_kind kind = probe_kind::pe_write;
    pe_location target{};
    tla_memory_kind memory = TLA_HBM; // of the target, or the host's
    std::string skipped;              // why the platform has no such case; empty: it has
    bool inside_a_sip = true;

    // By KernBench's formula for the path (ADR-0049): the latency of wires, the overhead of every node, and all bytes
    // over the slowest link, each once.
    std::uint64_t wire_ps = 0, overhead_ps = 0, bandwidth = 0;
    std::uint32_t links = 0;
    std::uint64_t formula_ps(std::uint64_t nbytes) const;
    std::string target_name() const; // "sip0.cube0.pe1", "host.memory"

    // The stages of a long transfer: its time would be the longest of these times, if the way took no time. Stages
    // other than the links are those of PE 0's DMA engine (dma.bandwidth, dma.outstanding) and the channels of the
    // slice.
    struct stage {
        std::string name;     // "its slowest link", "dma.bandwidth"
        std::uint64_t ps = 0; // for all bytes
    };
};

// Returns the cases in KernBench's order; cases that the platform lacks are skipped. The first are host to device and
// back. The others start at PE 0 of cube 0: to its own slice, to PE 1's, to that of the first PE of the other half of
// the cube, to the nearest and the farthest slice of other cubes, to the nearest slice of another SIP, and to the
// host's memory. TLA_NO_HOST_MEMORY.
tla_status probe_cases(const tla_config &config, std::vector<probe_case> &cases);

struct probe_result {
    tla_status status;
    std::uint64_t duration_ps;
    char text[sizeof(tla_error)]; // of a failure
};

// Returns the slowest stage of a transfer of nbytes, the link among equal ones. A window of chunks (dma.outstanding)
// moves them in the time in which one chunk alone goes there and back: two simulations of a window of one chunk measure
// it. Returns an error of these simulations, and writes its text to `error`.
tla_status probe_slowest_stage(const tla_config &config, const probe_case &what, std::uint64_t nbytes,
                               probe_case::stage &slowest, tla_error &error);

// Makes the transfer on a platform of its own, which exists in a process of its own; the calling process has begun no
// simulation. TLA_IO when there is no such process.
probe_result probe_measure(const tla_config &config, const probe_case &what, std::uint64_t nbytes);

} // namespace tlmalloc
#endif
