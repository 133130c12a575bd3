// Blocks that move, with the time of their commands and copies.
#ifndef TLMALLOC_MODEL_MODULES_MEMORY_CONTROLLER_MOVES_HPP
#define TLMALLOC_MODEL_MODULES_MEMORY_CONTROLLER_MOVES_HPP

#include "tlmalloc/modules/detail/in_order.hpp"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/memory_controller.hpp"

#include <cstdint>
#include <map>

namespace tlmalloc {

class scatter;

class memory_controller::moves {
  public:
    explicit moves(memory_controller &of);
    moves(const moves &) = delete;
    moves &operator=(const moves &) = delete;

    void lead_on(); // where the socket `maps` leads
    // A MOVE, or an ALLOC that waits for moves, arrived at a port at arrival_ps; its moves begin at start_ps.
    void begin(unsigned port, std::uint64_t arrival_ps, std::uint64_t start_ps);

    // A command has been executed: a memory may be fragmented now.
    void look();
    void begin_reset();
    void make_new() { paid_ps_ = 0; }

    std::uint64_t stop_ps() const { return stop_ps_; }
    std::uint64_t longest_stop_ps() const { return longest_stop_ps_; }

  private:
    struct accepted {
        std::uint64_t arrival_ps, start_ps;
    };
    struct transfer { // a chunk on its way
        tla_move_step step;
        std::vector<std::uint8_t> bytes;
    };

    void run(); // a thread
    void wake();
    bool begin_compaction();
    void make_steps();
    void send(const tla_command &command);
    void take(const tla_controller_outcome &outcome);
    void free_place(const tla_move_step &step);
    void copy(const tla_move_step &first);
    void start_next_copy(scatter &accesses, transfer &chunk, std::uint64_t at_ps);
    void start_copy(scatter &accesses, transfer &chunk, std::uint64_t at_ps);
    void finish(const tla_move_step &step);
    void end_stop();

    outlet &to_memory(tla_memory_kind kind);

    memory_controller &of_;
    outlet to_others_; // by `maps`
    requester own_;
    std::map<unsigned, accepted> begun_; // by port
    std::uint64_t latest_start_ps_ = 0;
    sc_core::sc_event wake_;
    bool is_woken_ = false; // also while the thread does not wait for wake_
    std::uint32_t request_id_ = 0;
    std::uint64_t freed_ps_ = 0;            // when the list work of the present move is done
    std::uint64_t stopped_ps_ = UINT64_MAX; // since when accesses wait; UINT64_MAX: they do not
    std::uint64_t answered_ps_ = 0;         // the last answer of the MMUs
    tla_opcode sent_{};                     // the last command to them
    std::uint64_t paid_ps_ = 0;             // when the last move in the background is paid for
    std::uint64_t stop_ps_ = 0, longest_stop_ps_ = 0;
};

} // namespace tlmalloc
#endif
