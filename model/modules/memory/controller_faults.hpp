// Page faults that a memory controller serves, with the time of their commands.
#ifndef TLMALLOC_MODEL_MODULES_MEMORY_CONTROLLER_FAULTS_HPP
#define TLMALLOC_MODEL_MODULES_MEMORY_CONTROLLER_FAULTS_HPP

#include "memory/fault_pool.h"
#include "tlmalloc/modules/memory_controller.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace tlmalloc {

struct page_fault;

class memory_controller::faults : private access_target {
  public:
    explicit faults(memory_controller &of);
    faults(const faults &) = delete;
    faults &operator=(const faults &) = delete;

    // Faults and moves share a port at `maps`: a command of one waits until that of the other is over. Commands that
    // come at one time go by `rank`.
    class turn_at_maps {
      public:
        turn_at_maps(faults &of, unsigned rank)
            : order_(std::in_place, of.maps_gate_, rank), turn_(of.maps_turn_, [this] { order_.reset(); }) {}

      private:
        std::optional<arrival_gate::passage> order_;
        const turnstile::turn turn_;
    };
    static constexpr unsigned rank_of_moves = 0, rank_of_faults = 1;

    target_socket<1, sc_core::SC_ZERO_OR_MORE_BOUND> in;

    void lead_on(); // where the sockets of the controller lead

    // Whether the command delegates faults, or withdraws a delegation; and executes it.
    static bool takes(const tla_command &command);
    std::uint64_t execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps);

    void begin_reset() { held_.clear(); }
    void make_new();

    tla_fault_pool_counts counts() const { return tla_fault_pool_get_counts(pool_.get()); }

  private:
    struct held_command { // a withdrawal during a fault
        unsigned port;
        tla_command command;
    };

    static std::uint64_t now_ps();
    void serve(unsigned input, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) override;
    tla_fault_step make_steps(const tla_page_request &asked);
    void charge(const tla_work &work);
    tla_fault_step send(tla_command command);
    tla_fault_step tell(const tla_given_page &page);
    bool answers(unsigned port, const tla_command &command, std::uint64_t arrival_ps, std::uint64_t &accepted_ps);
    void answer_held();
    void show();

    memory_controller &of_;
    std::unique_ptr<tla_fault_pool, void (*)(tla_fault_pool *)> pool_{nullptr, tla_fault_pool_destroy};
    tlm_utils::simple_initiator_socket<faults> commands_{"fault_commands"}; // to this controller
    arrival_gate gate_;
    turnstile turn_; // the fault that is being served
    arrival_gate maps_gate_;
    turnstile maps_turn_;
    std::vector<held_command> held_;
    std::uint32_t request_id_ = 0;
};

} // namespace tlmalloc
#endif
