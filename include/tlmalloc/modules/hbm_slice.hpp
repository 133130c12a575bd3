// One PE's share of a cube's HBM, or a memory of the same design: real bytes, and pseudo-channels that take time.
#ifndef TLMALLOC_MODULES_HBM_SLICE_HPP
#define TLMALLOC_MODULES_HBM_SLICE_HPP

#include "tlmalloc/config/parameters.h"
#include "tlmalloc/dram/energy.h"
#include "tlmalloc/dram/fault_injection.h"
#include "tlmalloc/modules/memory_module.hpp"

#include <array>
#include <memory>
#include <optional>
#include <vector>

namespace tlmalloc {

// The slice stores real bytes behind pseudo-channels, which have banks if a timing profile is given. Addresses are
// offsets into the slice. An access occupies the pseudo-channels of its bursts, and is done with the last burst. A
// write to banks is done when the write buffer has accepted it. Errors, four phases and DMI are those of every
// memory_module. With a fault plan, reads may fail with TLM_GENERIC_ERROR_RESPONSE, and the slice grants no DMI.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/memory/HBM_SLICE.md.
class hbm_slice : public memory_module {
  public:
    struct config : tla_hbm_parameters {
        config() { tla_hbm_defaults(this); }
        explicit config(const tla_hbm_parameters &parameters) : tla_hbm_parameters(parameters) {}

        // AT: accepted requests per initiator without END_RESP, at least 1; more wait for END_REQ.
        unsigned outstanding = 64;
        bool dmi = true; // grant DMI
        // Banks, rows and refresh, or a channel without banks (config.h reads a profile). The profile's burst,
        // bandwidth and turnaround replace burst, pseudo_channel_bandwidth and direction_switch_ps. The pseudo-channels
        // interleave by the profile's burst.
        std::optional<tla_hbm_config> timing{};
        // Energies of commands of this timing; adds the figures `energy` and `power`.
        std::optional<tla_dram_energy> energy{};
        tla_fault_injection faults{};
        const char *kind = "hbm_slice"; // name in report ids and statistics; the text outlives the module
    };

    struct statistics : access_counts {
        std::uint64_t busy_ps = 0;                      // sum over the pseudo-channels
        std::uint64_t corrected = 0, uncorrectable = 0; // bit errors in reads
        std::uint64_t channel_errors = 0;               // accesses to a failed pseudo-channel
        // 0 without banks. A buffered write counts when it goes to its bank.
        std::uint64_t row_hits = 0, row_misses = 0, row_conflicts = 0, refreshes = 0;
        std::uint64_t idle_refreshes = 0; // of pseudo-channels without work, from their last bursts to now
        // Commands to now; a precharge of all banks counts once.
        std::uint64_t activates = 0, precharges = 0, read_commands = 0, write_commands = 0;
        // RD, WR and ACT by tla_hbm_op and tla_purpose (channels.h).
        std::uint64_t commands_for[TLA_HBM_OPS][TLA_PURPOSE_COUNT] = {};
        std::uint64_t activates_for[TLA_HBM_OPS][TLA_PURPOSE_COUNT] = {};
        tla_hbm_open_time open_time{}; // from 0 to now
    };

    // Reports an error /tlmalloc/<kind>/config for a capacity of 0, for channels or bursts that are not powers of two,
    // for a bandwidth of 0, and for an invalid profile. The same error reports a capacity for which the host has no
    // address space.
    hbm_slice(sc_core::sc_module_name name, const config &settings);
    ~hbm_slice() override;

    statistics get_statistics() const;
    tla_dram_activity activity() const; // to now, for the energy of the slice; zero without banks
    bool has_banks() const { return config_.timing && config_.timing->model == TLA_HBM_BANKS; }
    std::vector<statistics_group> list_statistics() const override;

  private:
    void make_channels();
    void make_idle() override;
    std::uint64_t access(tlm::tlm_generic_payload &payload, std::uint64_t arrival_ps) override;
    std::uint64_t word_ps(bool write) const override;
    void arrive(in_order_request &request) override;
    void arrive_at_banks(in_order_request &request);
    void run_banks(std::uint32_t group, std::uint64_t at_ps);
    void schedule(std::uint32_t group);
    bool meets_outage(tlm::tlm_generic_payload &payload, std::uint64_t arrival_ps, tla_fault_hits &hits);
    void move_unless_lost(tlm::tlm_generic_payload &payload, const tla_fault_hits &hits);
    void note_place(const tlm::tlm_generic_payload &payload, tla_access_times &times) const override;
    void finish(const tlm::tlm_generic_payload &payload, std::uint64_t done_ps);

    tla_fault_hits meet_faults(const tlm::tlm_generic_payload &payload, std::uint64_t arrival_ps);
    void report_fault(const char *id, const char *what, const tlm::tlm_generic_payload &payload, std::uint64_t at_ps);
    void show_rows(std::uint64_t at_ps);
    bool watches_windows() const;
    void show_windows(std::uint64_t until_ps) override;
    using totals = std::array<std::uint64_t, 4>; // of of_windows_: ACT, RD, WR, fJ
    totals totals_at(std::uint64_t at_ps) const;
    tla_dram_activity activity_at(std::uint64_t at_ps) const;
    std::uint64_t energy_fj_at(std::uint64_t at_ps) const;

    const config config_;
    // Exactly one of the two exists.
    std::unique_ptr<tla_flat_channels, void (*)(tla_flat_channels *)> channels_{nullptr, tla_flat_channels_destroy};
    std::unique_ptr<tla_banked_channels, void (*)(tla_banked_channels *)> banks_{nullptr, tla_banked_channels_destroy};
    std::uint64_t burst_ps_ = 0; // time of a burst on a channel without banks
    struct bank_group {          // a group of pseudo-channels with banks
        hbm_slice *slice;
        std::uint32_t number;
        std::uint64_t due_ps; // time of the next run by the queue
    };
    std::vector<bank_group> groups_;
    shared_resource group_resource_;
    tla_faults faults_{};
    std::uint64_t corrected_ = 0, uncorrectable_ = 0, channel_errors_ = 0; // see statistics
    tla_hbm_stats shown_{};                                                // values that row_hits_ and similar figures
                                                                           // show
    std::uint64_t window_end_ps_ = waveform::window_ps;                    // of the first that is not shown
    totals window_start_{};                                                // at its begin
    figure active_{*this, "accesses_active", 16};
    figure row_hits_{*this, "row_hits", 64, has_banks()}, row_misses_{*this, "row_misses", 64, has_banks()},
        row_conflicts_{*this, "row_conflicts", 64, has_banks()}, refreshes_{*this, "refreshes", 64, has_banks()},
        activates_{*this, "activates", 64, has_banks()}, read_commands_{*this, "read_commands", 64, has_banks()},
        write_commands_{*this, "write_commands", 64, has_banks()},
        energy_{*this, "energy", 64, has_banks() && config_.energy};
    figure of_windows_[4]{{*this, "activates_per_us", 32, has_banks()},
                          {*this, "read_commands_per_us", 32, has_banks()},
                          {*this, "write_commands_per_us", 32, has_banks()},
                          {*this, "power", 32, has_banks() && config_.energy}};
};

} // namespace tlmalloc
#endif
