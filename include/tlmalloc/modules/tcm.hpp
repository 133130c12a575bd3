// A PE's tightly coupled memory, or a memory of the same design: real bytes, a read channel and a write channel.
#ifndef TLMALLOC_MODULES_TCM_HPP
#define TLMALLOC_MODULES_TCM_HPP

#include "tlmalloc/base/timeline.h"
#include "tlmalloc/config/parameters.h"
#include "tlmalloc/modules/detail/in_order.hpp"
#include "tlmalloc/modules/memory_module.hpp"

namespace tlmalloc {

// The TCM stores real bytes behind a read channel and a write channel. Each channel serves accesses in the order of
// their arrival, each for length / bandwidth (KernBench ADR-0040). Addresses are offsets into the TCM. Errors, four
// phases and DMI are those of every memory_module.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/memory/TCM.md.
class tcm : public memory_module {
  public:
    struct config : tla_tcm_parameters {
        config() { tla_tcm_defaults(this); }
        explicit config(const tla_tcm_parameters &parameters) : tla_tcm_parameters(parameters) {}

        // AT: accepted requests per initiator without END_RESP, at least 1; more wait for END_REQ.
        unsigned outstanding = 64;
        bool dmi = true;          // grant DMI
        const char *kind = "tcm"; // name in report ids and statistics; the text outlives the module
    };

    struct statistics : access_counts {
        std::uint64_t busy_ps = 0; // sum over both channels
    };

    // Reports an error /tlmalloc/<kind>/config for a capacity or a bandwidth of 0, and for a capacity for which the
    // host has no address space.
    tcm(sc_core::sc_module_name name, const config &settings);

    statistics get_statistics() const;
    std::vector<statistics_group> list_statistics() const override;

  private:
    std::uint64_t access(tlm::tlm_generic_payload &payload, std::uint64_t arrival_ps) override;
    std::uint64_t word_ps(bool write) const override;
    std::uint32_t resource_of(const in_order_request &request) override;
    void arrive(in_order_request &request) override;
    void make_idle() override;
    std::uint64_t bandwidth(bool write) const { return write ? config_.write_bandwidth : config_.read_bandwidth; }

    const config config_;
    tla_timeline read_{}, write_{};
    std::uint64_t busy_ps_ = 0;
    shared_resource write_resource_;
    writes_under_way writes_; // in flight
};

} // namespace tlmalloc
#endif
