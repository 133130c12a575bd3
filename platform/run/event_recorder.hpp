// Records the events of a run from its modules, and passes them to logs and traces.
#ifndef TLMALLOC_PLATFORM_RUN_EVENT_RECORDER_HPP
#define TLMALLOC_PLATFORM_RUN_EVENT_RECORDER_HPP

#include "events/event_sink.hpp"
#include "events/link_buckets.hpp"
#include "run/workload.hpp"

#include <functional>
#include <map>
#include <unordered_map>

namespace tlmalloc {

class event_recorder {
  public:
    // Call it before the run. The sink receives at most `limit` events, those that are known first, and all launches;
    // the rest is counted as lost. Sinks outlive the recorder, or its finish().
    void tell(event_sink &sink, std::uint64_t limit) { listeners_.push_back({&sink, limit, 0, {}}); }

    // Follows the modules, before the simulation runs; accounts must be kept (workload::keep_accounts). The platform
    // must not run on after the recorder is gone. Memories are as the run will find them: what ages them has done so.
    void follow(npu &platform, workload &work);

    // Call it after the run: passes the remaining events, and the end.
    void finish(const npu &platform, const workload &work);

    // Returns the number of events that a sink did not receive.
    std::uint64_t lost(const event_sink &sink) const;

  private:
    struct listener {
        event_sink *sink;
        std::uint64_t limit, told; // of those that are limited
        event_counts counts;
    };
    struct live_block {
        std::uint64_t number, end;
        std::optional<tla_memory_kind> memory;
    };
    struct mapped {
        std::uint64_t pa, nbytes;
        std::uint64_t before; // where it led before the last REMAP
    };
    struct watched_account {
        event_recorder *of;
        std::uint32_t who;
    };

    void follow_pe(std::uint32_t pe, pe_unit &unit);
    void watch_account(std::uint32_t who, tla_time_account *account);
    template <typename Event>
    void tell(event_kind kind, const Event &event);
    void note(std::uint32_t module, const answered_command &what);
    void note_memory(const command_times &of, const answered_command &what);
    void note_blocks(memory_command event, const answered_command &what);
    void tell_block(memory_command event);
    void look_at_list(memory_command &event) const;
    void follow_moves(std::uint32_t module, memory_controller &controller);
    void note_move(std::uint32_t module, const memory_controller::moved_block &what);
    void note_mapping(const command_times &of, const answered_command &what);
    void note_interval(std::uint32_t who, const tla_time_part &part);
    void note_transfer(std::uint32_t pe, const pe_dma::request &what, std::uint64_t start_ps, std::uint64_t end_ps,
                       const pe_dma::outcome &how);
    const live_block *block_at(std::uint64_t pa) const;
    std::uint32_t number_of(const pe_location &where) const;

    std::vector<listener> listeners_;
    event_names names_;
    std::vector<const memory_controller *> controllers_; // by module, null where it is none
    const va_manager *addresses_ = nullptr;
    std::map<std::uint32_t, std::uint32_t> pe_of_mmu_;      // by module
    std::vector<std::map<std::uint64_t, mapped>> mappings_; // of each PE, by VA
    std::map<std::uint64_t, live_block> live_;              // by physical address
    std::unordered_map<std::uint64_t, std::uint32_t> pes_;  // numbers by place
    std::uint64_t blocks_ = 0;
    std::vector<std::optional<tla_time_part>> open_intervals_; // of the host and of each PE: not passed yet
    std::vector<watched_account> accounts_;
    std::unique_ptr<link_buckets> links_;
};

} // namespace tlmalloc
#endif
