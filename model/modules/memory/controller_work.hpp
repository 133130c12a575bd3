// The engine's work in a memory controller, with its time: commands, and work without a command.
#ifndef TLMALLOC_MODEL_MODULES_MEMORY_CONTROLLER_WORK_HPP
#define TLMALLOC_MODEL_MODULES_MEMORY_CONTROLLER_WORK_HPP

#include "tlmalloc/modules/memory_controller.hpp"

#include <cstdint>

namespace tlmalloc {

class memory_controller::work {
  public:
    explicit work(memory_controller &of);
    work(const work &) = delete;
    work &operator=(const work &) = delete;

    std::uint64_t execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps);
    tla_status set_l1(std::uint64_t l1, std::uint64_t at_ps, tla_error &error);
    void set_watch(watch who);
    void make_new(std::uint64_t now_ps);
    void end_reset(std::uint64_t now_ps); // growth and the intervals of passes begin

    void count_failure(tla_memory_kind kind) { counts_[kind].failed++; }

    // Takes the engine as a command does.
    tla_service charge(const tla_controller_outcome &outcome, std::uint64_t at_ps);

    // Likewise for work that is about no list; returns when it is done. And for a command of such work: returns when it
    // is accepted.
    std::uint64_t charge_alone(const tla_work &receipt, std::uint64_t at_ps);
    std::uint64_t answer(unsigned port, tla_completion completion, const tla_work &receipt, std::uint64_t arrival_ps);

    const command_counts &counts(tla_memory_kind kind) const { return counts_[kind]; }
    void add_list_counts(tla_memory_kind kind, statistics &to) const;

    bool list_is_in_slice() const;

  private:
    struct list_counts {
        std::uint64_t reads = 0, writes = 0, hits = 0, errors = 0, took_ps = 0;
    };
    void tell(const tla_command &command, std::uint64_t arrival_ps, const tla_controller_outcome &outcome) const;
    std::uint64_t begin(const tla_controller_outcome &outcome, std::uint64_t arrival_ps);
    void end(const tla_controller_outcome &outcome, const tla_service &service);
    std::uint64_t begin_alone(const tla_work &receipt, std::uint64_t arrival_ps);
    void end_alone(const tla_work &receipt, const tla_service &service);
    tla_status commit_until(std::uint64_t until_ps);
    void keep_up(std::uint64_t until_ps);
    void watch_due_work();
    void grow_by_itself();
    std::uint64_t walk_list(tla_memory_kind kind, std::uint64_t start_ps);
    bool access_node(const tla_list_access &access, std::uint64_t &local);

    memory_controller &of_;
    watch watch_;
    bool watches_ = false; // there is a process that waits for the end of pins and for passes
    sc_core::sc_event due_changed_, grows_anew_;
    bool grows_ = false; // some memory does by itself
    command_counts counts_[TLA_MEMORY_KIND_COUNT];
    list_counts list_counts_[TLA_MEMORY_KIND_COUNT];
    std::uint64_t list_ready_ps_[TLA_MEMORY_KIND_COUNT]{}; // end of the work that a list does behind its last answer
};

} // namespace tlmalloc
#endif
