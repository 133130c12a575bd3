// Blocks that move, with the time of their commands and copies.
#ifndef TLMALLOC_MODEL_MODULES_MEMORY_CONTROLLER_MOVES_HPP
#define TLMALLOC_MODEL_MODULES_MEMORY_CONTROLLER_MOVES_HPP

#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/memory_controller.hpp"

#include <cstdint>
#include <deque>

namespace tlmalloc {

class scatter;

class memory_controller::moves {
  public:
    explicit moves(memory_controller &of);
    moves(const moves &) = delete;
    moves &operator=(const moves &) = delete;

    void lead_on(); // where the socket `maps` leads
    // A MOVE that arrived at arrival_ps begins to move its block at start_ps.
    void begin(std::uint64_t arrival_ps, std::uint64_t start_ps);
    void begin_reset();

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
    void move();
    void send(const tla_command &command);
    void copy(const tla_move_step &first);
    void start_next_copy(scatter &accesses, transfer &chunk, std::uint64_t at_ps);
    void start_copy(scatter &accesses, transfer &chunk, std::uint64_t at_ps);
    void finish(const tla_move_step &step);

    memory_controller &of_;
    requester own_;
    std::deque<accepted> begun_;
    sc_core::sc_event wake_;
    std::uint32_t request_id_ = 0;
    std::uint64_t freed_ps_ = 0;            // when the list work of the present move is done
    std::uint64_t stopped_ps_ = UINT64_MAX; // since when accesses wait; UINT64_MAX: they do not
    std::uint64_t stop_ps_ = 0, longest_stop_ps_ = 0;
};

} // namespace tlmalloc
#endif
