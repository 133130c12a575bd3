// Two tiles in the TCM of every PE, and the transfers of the PE's DMA engine through them.
#ifndef TLMALLOC_PLATFORM_SERVING_COMMAND_PLATFORM_LANES_HPP
#define TLMALLOC_PLATFORM_SERVING_COMMAND_PLATFORM_LANES_HPP

#include "tlmalloc/modules/npu.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace tlmalloc {

// A lane is a thread with a tile; every PE has two, so that a transfer is in flight while the previous one arrives.
// Tiles are allocated from the TCMs' controllers before the first run, outside the time of every run.
class platform_lanes : public sc_core::sc_module {
  public:
    // The next work of a lane, which may wait: false when nothing is left for its PE.
    using work = std::function<bool(std::size_t pe, std::uint64_t tile)>;

    platform_lanes(sc_core::sc_module_name name, npu &platform, std::uint64_t tile_bytes, work next);
    ~platform_lanes() override;

    // Both from a thread. run: until nothing is left for any PE; what that took. They fail with a tile's command.
    tla_status run(std::uint64_t &took_ps, tla_error *error);
    tla_status give_tiles_back(tla_error *error);

    pe_unit &pe(std::size_t number) const;
    std::size_t count() const { return pes_.size(); }

    // Reads bytes of a PE's tile, or of its slice, in no time; false: the bytes cannot be read.
    bool look(std::size_t pe, std::uint64_t pa, std::uint8_t *bytes, std::uint64_t nbytes);

  private:
    struct lane;
    struct unit;

    tla_status tile_command(unit &of, tla_opcode opcode, std::uint64_t &pa, tla_error *error);

    const std::uint64_t tile_bytes_;
    const work next_;
    std::vector<std::unique_ptr<unit>> pes_;
    std::size_t running_ = 0; // lanes
    bool has_tiles_ = false;
    sc_core::sc_event begin_, end_;
};

} // namespace tlmalloc
#endif
