// Attention on a platform: lanes of DMA, and the check of the loaded bytes.
#include "serving/command/platform_attention.hpp"

#include <algorithm>

namespace tlmalloc {

platform_attention::platform_attention(sc_core::sc_module_name name, npu &platform, const platform_blocks &blocks,
                                       std::uint64_t layer_bytes, std::uint32_t block_tokens)
    : sc_module(name), blocks_(blocks), layer_bytes_(layer_bytes), block_tokens_(block_tokens),
      lanes_("lanes", platform, layer_bytes,
             [this](std::size_t pe, std::uint64_t tile) { return read_next(pe, tile); }),
      readers_(platform.pes().size()) {
    TLMALLOC_HAS_PROCESS(platform_attention);
    SC_THREAD(work);
}

platform_attention::~platform_attention() = default;

tla_status platform_attention::read(const tla_step &step, std::uint64_t &took_ps, tla_error *error) {
    for (reader &r : readers_) {
        r.readings.clear();
        r.next = 0;
    }
    for (std::size_t i = 0; i < step.count; i++) {
        const tla_step_part &part = step.parts[i];
        std::uint64_t left = std::uint64_t{part.computed} + part.tokens;
        for (std::uint32_t k = 0; k < part.block_count && left; k++) {
            const auto tokens = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, block_tokens_));
            readers_[blocks_.pe_of(part.blocks[k])].readings.push_back({part.blocks[k], tokens});
            left -= tokens;
        }
    }
    const tla_status status = simulate(error);
    took_ps = took_ps_;
    return status;
}

tla_status platform_attention::finish(tla_error *error) {
    ends_ = true;
    return simulate(error);
}

tla_status platform_attention::simulate(tla_error *error) {
    done_ = false;
    if (!failure_.status) {
        begin_.notify(sc_core::SC_ZERO_TIME);
        sc_core::sc_start();
    }
    if (!failure_.status && !done_)
        tla_error_set(&failure_, TLA_BUSY, "the platform became idle before attention had read its blocks");
    if (failure_.status) *error = failure_;
    return failure_.status;
}

void platform_attention::work() {
    for (;;) {
        wait(begin_);
        if (ends_)
            lanes_.give_tiles_back(&failure_);
        else
            run();
        done_ = true;
        sc_core::sc_pause(); // whatever else the platform has pending waits for the next step
    }
}

// Other translations happen between two of these runs.
void platform_attention::run() {
    count_translations(-1);
    if (!lanes_.run(took_ps_, &failure_)) totals_.ps += took_ps_;
    count_translations(1);
}

void platform_attention::count_translations(int sign) {
    for (std::size_t i = 0; i < lanes_.count(); i++) {
        const pe_mmu::statistics mmu = lanes_.pe(i).mmu.get_statistics();
        totals_.lookups += static_cast<std::uint64_t>(sign) * mmu.lookups;
        totals_.tlb_misses += static_cast<std::uint64_t>(sign) * mmu.misses;
    }
}

bool platform_attention::read_next(std::size_t pe, std::uint64_t tile) {
    reader &r = readers_[pe];
    if (failure_.status || r.next == r.readings.size()) return false;
    return !load(pe, r.readings[r.next++], tile);
}

// Keys of all tokens of a block come before their values, so that of a part of them there are two rows.
tla_status platform_attention::load(std::size_t pe, const reading &what, std::uint64_t tile) {
    const std::uint64_t half = layer_bytes_ / 2, row = half / block_tokens_ * what.tokens;
    const bool whole = what.tokens == block_tokens_;
    pe_dma::request request{};
    request.way = pe_dma::direction::read;
    request.va = {blocks_.address(what.block)};
    request.tile = {tile};
    request.rows = whole ? 1 : 2;
    request.row_bytes = whole ? layer_bytes_ : row;
    request.pitch = whole ? layer_bytes_ : half;
    sc_core::sc_time delay;
    const tla_status status = lanes_.pe(pe).dma.transfer(request, delay);
    wait(delay);
    if (status)
        return tla_error_set(&failure_, status, "attention's read of block %u by the DMA of PE %zu: %s", what.block, pe,
                             tla_status_text(status));
    totals_.bytes += 2 * row;
    return check(pe, what, tile);
}

tla_status platform_attention::check(std::size_t pe, const reading &what, std::uint64_t tile) {
    const std::uint64_t half = layer_bytes_ / 2, row = half / block_tokens_ * what.tokens;
    std::vector<std::uint8_t> bytes(2 * row), expected(2 * row);
    if (!lanes_.look(pe, tile, bytes.data(), bytes.size()))
        return tla_error_set(&failure_, TLA_BUS_ERROR, "the tile in the TCM of PE %zu cannot be read", pe);
    blocks_.expect(what.block, 0, expected.data(), row);
    blocks_.expect(what.block, half, expected.data() + row, row);
    const auto wrong = std::mismatch(bytes.begin(), bytes.end(), expected.begin());
    if (wrong.first == bytes.end()) return TLA_OK;
    const auto at = static_cast<std::uint64_t>(wrong.first - bytes.begin());
    return tla_error_set(&failure_, TLA_WRONG_RESULT,
                         "attention read block %u, byte %llu, from PE %zu's slice: found 0x%02x, expected 0x%02x",
                         what.block, static_cast<unsigned long long>(at < row ? at : at - row + half), pe, *wrong.first,
                         *wrong.second);
}

} // namespace tlmalloc
