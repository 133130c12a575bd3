// The blocks of a key-value cache as bytes in the slices of a platform.
#ifndef TLMALLOC_PLATFORM_CLI_PLATFORM_BLOCKS_HPP
#define TLMALLOC_PLATFORM_CLI_PLATFORM_BLOCKS_HPP

#include "serving/step_law.h"
#include "tlmalloc/modules/npu.hpp"

#include <memory>
#include <vector>

namespace tlmalloc {

// Decisions are noted when they are heard and become commands in run(), one after the other, each sent when the one
// before is done: a fresh block is an ALLOC and a MAP, after an UNMAP and a FREE of what the index gave up for it; a
// found one a REF, and so is one that enters the index; a released one a FREE of a reference, after an UNMAP if it is
// the last. A block carries a pattern at both ends, which is written when it is allocated; at its beginning it may be
// longer, for whoever reads it by DMA (platform_attention.hpp). When it is found and when a reference is given up its
// virtual addresses must lead to it, and the pattern must be at both ends: both in no time, as nobody but the check
// reads it. Commands come to the control ports from beside the PE, so that no way over the fabric is in their times.
class platform_blocks : public sc_core::sc_module {
  public:
    struct times {
        std::uint64_t allocation_ps = 0, mapping_ps = 0;
    };

    static constexpr std::uint64_t end_bytes = 16; // of the pattern at each end; a block has at least two of them
    static constexpr std::uint64_t port = std::uint64_t{5} * TLA_PORT_BYTES; // of controllers and MMUs: nobody else's

    // pattern_bytes: from a block's beginning on, end_bytes to block_bytes. asid: where blocks are mapped.
    platform_blocks(sc_core::sc_module_name name, npu &platform, std::uint32_t blocks, std::uint64_t block_bytes,
                    std::uint64_t page_bytes, std::uint64_t pattern_bytes = end_bytes, std::uint32_t asid = 0);
    ~platform_blocks() override;

    void hear(const tla_block_decision &decision);

    // Simulates until every decision is done; `took` grows by what that took. The first failure stays.
    tla_status run(times &took, tla_error *error);

    // The same, and takes back what the index still has.
    tla_status finish(tla_error *error);

    std::uint64_t physical_address(std::uint32_t block) const { return blocks_[block].pa; }
    std::size_t pe_of(std::uint32_t block) const { return block % sockets_.size(); }
    std::uint64_t address(std::uint32_t block) const; // for its PE

    // The pattern of the block's present content: nbytes of it from `offset` on.
    void expect(std::uint32_t block, std::uint64_t offset, std::uint8_t *bytes, std::uint64_t nbytes) const;

    std::uint64_t commands() const { return commands_; }

  private:
    enum class action { take, find, enter, release };
    struct noted {
        action what;
        std::uint32_t block;
    };
    struct block_state {
        std::uint64_t pa = 0, generation = 0; // how often it has been allocated
        std::uint32_t references = 0;         // that the controller counts: of requests, and of the index
        bool indexed = false;
    };
    struct sockets;

    void work();
    tla_status simulate(tla_error *error);
    tla_status act(const noted &n);
    tla_status take(std::uint32_t block);
    tla_status give_up(std::uint32_t block);
    tla_status reference(std::uint32_t block);
    tla_status check(std::uint32_t block);
    bool write_pattern(std::uint32_t block, std::uint64_t offset, std::uint64_t nbytes);
    bool copy(tlm::tlm_command command, std::uint32_t block, std::uint64_t offset, std::uint8_t *bytes,
              std::uint64_t nbytes);
    tla_status map(tla_opcode opcode, std::uint32_t block);
    tla_status memory(tla_opcode opcode, std::uint32_t block, tla_completion &completion);
    tla_status failed(tla_status status, const char *what, std::uint32_t block);
    sockets &of(std::uint32_t block) { return *sockets_[pe_of(block)]; }

    const std::uint64_t block_bytes_, stride_, pattern_bytes_;
    const std::uint32_t asid_;
    std::vector<std::unique_ptr<sockets>> sockets_; // of each PE
    std::vector<block_state> blocks_;
    std::vector<noted> noted_;
    times times_;
    std::uint64_t commands_ = 0;
    tla_error failure_{};
    sc_core::sc_event begin_;
};

} // namespace tlmalloc
#endif
