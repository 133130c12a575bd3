// The blocks of a key-value cache as bytes in the slices of a platform.
#ifndef TLMALLOC_PLATFORM_SERVING_COMMAND_PLATFORM_BLOCKS_HPP
#define TLMALLOC_PLATFORM_SERVING_COMMAND_PLATFORM_BLOCKS_HPP

#include "serving/command/platform_tier.hpp"
#include "serving/step_law.h"
#include "tlmalloc/modules/npu.hpp"

#include <memory>
#include <vector>

namespace tlmalloc {

// Decisions are recorded as they occur, and become commands in run(), one after the other, each sent when the previous
// one is done. A fresh block is an ALLOC and a MAP, after an UNMAP and a FREE of the block that the index evicted for
// it. A found block is a REF, and so is a block that enters the index; a released block is a FREE of a reference, after
// an UNMAP for the last one. A block has a pattern at both ends, which is written at its allocation; the pattern at its
// beginning may be longer, for reads by DMA (platform_attention.hpp). When a block is found or a reference is dropped,
// its virtual addresses must lead to it, and the pattern must be at both ends. Both checks take no time, because only
// the check reads the bytes. Commands arrive at the control ports from outside the PE, so that their times include no
// path over the fabric. Where the platform has a driver of the host, an ALLOC is a call of it, and so is the FREE of a
// last reference.
//
// With a second tier in the host's memory (platform_tier.hpp), a block that leaves the index is moved there with its
// pattern, and back to a block that was allocated for it. The whole pattern is checked before the block leaves and
// after it returns.
class platform_blocks : public sc_core::sc_module {
  public:
    struct times {
        std::uint64_t allocation_ps = 0, mapping_ps = 0, transfer_ps = 0; // transfer: moves of the second tier
    };

    static constexpr std::uint64_t end_bytes = 16; // of the pattern at each end; a block has at least two of them

    // pattern_bytes: from a block's beginning on, end_bytes to block_bytes; checked_bytes: of them, those that are
    // compared when a block is found or given up, and not moved. asid: where blocks are mapped.
    platform_blocks(sc_core::sc_module_name name, npu &platform, std::uint32_t blocks, std::uint64_t block_bytes,
                    std::uint64_t page_bytes, std::uint64_t pattern_bytes = end_bytes, std::uint32_t asid = 0,
                    std::uint64_t checked_bytes = end_bytes);
    ~platform_blocks() override;

    // Where decisions about a second tier go, before the first of them; it stays the caller's.
    void set_tier(platform_tier &tier) { tier_ = &tier; }

    void hear(const tla_block_decision &decision);

    // Simulates until every decision is done; `took` grows by what that took. The first failure stays.
    tla_status run(times &took, tla_error *error);

    // As run(), and releases the blocks of the index.
    tla_status finish(tla_error *error);

    std::uint64_t physical_address(std::uint32_t block) const { return blocks_[block].pa; }
    std::size_t pe_of(std::uint32_t block) const { return block % sockets_.size(); }
    std::uint64_t address(std::uint32_t block) const; // for its PE

    // The pattern of the block's present content: nbytes of it from `offset` on.
    void expect(std::uint32_t block, std::uint64_t offset, std::uint8_t *bytes, std::uint64_t nbytes) const;

    platform_counts counts() const;

  private:
    enum class action { take, find, enter, release, move_out, move_in, hold, let_go };
    struct noted {
        action what;
        std::uint32_t block; // of the tier: where it is held
        std::uint32_t host_block = 0;
        bool follows = false; // moved with the one before
    };
    struct block_state {
        std::uint64_t pa = 0, generation = 0; // how often it has been allocated
        std::uint64_t content = 0;            // platform_pattern.hpp
        std::uint32_t references = 0;         // that the controller counts: of requests, and of the index
        bool indexed = false;
    };
    struct sockets;

    void work();
    void hear_tier(const tla_block_decision &decision);
    std::size_t act_from(std::size_t first);
    tla_status move(std::size_t first, std::size_t count);
    tla_status check_movable(std::uint32_t block, bool leaves);
    tla_status simulate(tla_error *error);
    tla_status act(const noted &n);
    tla_status take(std::uint32_t block);
    tla_status give_up(std::uint32_t block);
    tla_status reference(std::uint32_t block);
    tla_status check(std::uint32_t block) { return check(block, checked_bytes_); }
    tla_status check(std::uint32_t block, std::uint64_t first_bytes);
    tla_status check_bytes(std::uint32_t block, std::uint64_t offset, std::uint64_t nbytes);
    bool write_pattern(std::uint32_t block, std::uint64_t offset, std::uint64_t nbytes);
    bool copy(tlm::tlm_command command, std::uint32_t block, std::uint64_t offset, std::uint8_t *bytes,
              std::uint64_t nbytes);
    tla_status map(tla_opcode opcode, std::uint32_t block);
    void wait_for_sips();
    tla_status memory(tla_opcode opcode, std::uint32_t block, tla_completion &completion);
    tla_status failed(tla_status status, const char *what, std::uint32_t block);
    sockets &of(std::uint32_t block) { return *sockets_[pe_of(block)]; }

    const std::uint64_t block_bytes_, stride_, pattern_bytes_, checked_bytes_;
    const std::uint32_t asid_;
    host_driver *const driver_; // or none
    std::uint32_t sips_ = 0;
    std::vector<std::unique_ptr<sockets>> sockets_; // of each PE
    std::vector<block_state> blocks_;
    std::vector<noted> noted_;
    times times_;
    platform_tier *tier_ = nullptr; // or none
    platform_counts counts_{};      // but for the tier's
    bool ends_ = false;
    tla_error failure_{};
    sc_core::sc_event begin_;
};

} // namespace tlmalloc
#endif
