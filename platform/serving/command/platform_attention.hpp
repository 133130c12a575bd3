// Attention of a serving engine on a platform: its reads of the cache's blocks, by DMA.
#ifndef TLMALLOC_PLATFORM_SERVING_COMMAND_PLATFORM_ATTENTION_HPP
#define TLMALLOC_PLATFORM_SERVING_COMMAND_PLATFORM_ATTENTION_HPP

#include "serving/command/platform_attention.h"
#include "serving/command/platform_blocks.hpp"
#include "serving/command/platform_lanes.hpp"

#include <vector>

namespace tlmalloc {

// Attention reads the keys and values of one layer for every request in a step, of all of its tokens up to those of the
// step. Each PE's DMA engine reads the blocks in the PE's slice, through the PE's MMU at the virtual addresses of the
// blocks, into tiles in its TCM. There are two tiles, so that a block is in flight while the previous one arrives. A PE
// reads its blocks in the order of the requests. A block has the keys and values of one layer after the other, those of
// the first layer first. Every arriving byte must be that of the block's pattern: the blocks have layer_bytes of it.
//
// Tiles are allocated from the TCMs' controllers before the first step, in no time of any step.
class platform_attention : public sc_core::sc_module {
  public:
    // layer_bytes: keys and values of the tokens of a block in a layer, a multiple of 2 * block_tokens.
    platform_attention(sc_core::sc_module_name name, npu &platform, const platform_blocks &blocks,
                       std::uint64_t layer_bytes, std::uint32_t block_tokens);
    ~platform_attention() override;

    // Simulates until all has been read and checked; took_ps: what that took. The first failure stays.
    tla_status read(const tla_step &step, std::uint64_t &took_ps, tla_error *error);

    // Gives the tiles back.
    tla_status finish(tla_error *error);

    const platform_attention_totals &totals() const { return totals_; }

  private:
    struct reading { // of a block, its first tokens
        std::uint32_t block, tokens;
    };
    struct reader { // the reads of a PE in a step
        std::vector<reading> readings;
        std::size_t next = 0;
    };

    void work();
    void run();
    void count_translations(int sign); // 1: those until now are attention's; -1: are not
    tla_status simulate(tla_error *error);
    bool read_next(std::size_t pe, std::uint64_t tile);
    tla_status load(std::size_t pe, const reading &what, std::uint64_t tile);
    tla_status check(std::size_t pe, const reading &what, std::uint64_t tile);

    const platform_blocks &blocks_;
    const std::uint64_t layer_bytes_;
    const std::uint32_t block_tokens_;
    platform_lanes lanes_;
    std::vector<reader> readers_; // of each PE
    std::uint64_t took_ps_ = 0;
    platform_attention_totals totals_{};
    bool ends_ = false, done_ = false;
    tla_error failure_{};
    sc_core::sc_event begin_;
};

} // namespace tlmalloc
#endif
