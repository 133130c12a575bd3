// A second tier of a cache's blocks in the host's memory of a platform.
#ifndef TLMALLOC_PLATFORM_SERVING_COMMAND_PLATFORM_TIER_HPP
#define TLMALLOC_PLATFORM_SERVING_COMMAND_PLATFORM_TIER_HPP

#include "serving/command/platform_counts.h"
#include "serving/command/platform_lanes.hpp"

#include <map>
#include <vector>

namespace tlmalloc {

// A block of the tier is an ALLOC at the controller of the host's memory when a block is moved to it, after a FREE of
// its old contents; a PIN for each reader holds it during reads. The DMA engine of the PE in whose slice the other
// block lies moves the bytes: from the slice, by the block's virtual address, into a tile in the PE's TCM, and over the
// fabric to the host's memory, or in the other direction. All moves of a decision are in flight together.
class platform_tier : public sc_core::sc_module {
  public:
    struct times {
        std::uint64_t allocation_ps = 0, transfer_ps = 0;
    };
    struct move {
        std::size_t pe;           // in whose slice the block is
        std::uint64_t va;         // for this PE
        std::uint32_t host_block; // any number
        std::uint64_t content;    // platform_pattern.hpp
    };

    // The platform has a memory of its host.
    platform_tier(sc_core::sc_module_name name, npu &platform, std::uint64_t block_bytes);
    ~platform_tier() override;

    // Call all of them from a thread; `took` grows by their times. TLA_WRONG_RESULT for a block that is written while
    // it is held, read while it is not held, or lacks the pattern of its content at an end; TLA_BUS_ERROR for a failed
    // move; the status of a failed command.
    tla_status hold(std::uint32_t host_block, times &took, tla_error *error);
    tla_status let_go(std::uint32_t host_block, times &took, tla_error *error);
    tla_status move_out(const std::vector<move> &moves, times &took, tla_error *error);
    tla_status move_in(std::vector<move> &moves, times &took, tla_error *error); // and their contents
    tla_status give_all_back(tla_error *error);

    void add_counts(platform_counts &counts) const;

    // Where a block of the tier is; 0: it has nothing.
    std::uint64_t physical_address(std::uint32_t host_block) const;

  private:
    struct stored {
        std::uint64_t pa = 0, content = 0, pins = 0;
    };
    struct piece {
        pe_dma::direction way; // read: from the host's memory
        std::uint64_t va, host_pa, nbytes;
    };
    struct queue { // of a PE
        std::vector<piece> pieces;
        std::size_t next = 0;
    };

    tla_status command(tla_opcode opcode, std::uint32_t host_block, std::uint64_t &value, times &took,
                       tla_error *error);
    tla_status give_up(std::uint32_t host_block, times &took, tla_error *error);
    void queue_pieces(pe_dma::direction way, const move &what);
    tla_status move_queued(times &took, tla_error *error);
    tla_status check(const std::vector<move> &moves, tla_error *error);
    bool move_piece(std::size_t pe, std::uint64_t tile);

    const std::uint64_t block_bytes_, piece_bytes_;
    host_driver *const driver_; // or none
    tlm_utils::simple_initiator_socket<platform_tier> controller_{"controller"}, bytes_{"bytes"};
    platform_lanes lanes_;
    std::vector<queue> queues_; // of each PE
    std::map<std::uint32_t, stored> blocks_;
    platform_counts counts_{};
    tla_error moving_{}; // the first failure of a lane
};

} // namespace tlmalloc
#endif
