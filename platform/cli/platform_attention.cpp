// Attention on a platform: lanes of DMA, and the check of what they bring.
#include "cli/platform_attention.hpp"

#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>

namespace tlmalloc {

namespace {

constexpr unsigned tiles = 2; // of a PE

std::uint64_t now_ps() {
    return to_ps(sc_core::sc_time_stamp());
}

} // namespace

// Brings one block after the other into a tile.
struct platform_attention::lane : sc_core::sc_module {
    lane(sc_core::sc_module_name name, platform_attention &whole, reader &pe, const std::uint64_t &its_tile)
        : sc_module(name), all(whole), of(pe), tile(its_tile) {
        SC_HAS_PROCESS(lane);
        SC_THREAD(work);
    }
    void work();

    platform_attention &all;
    reader &of;
    const std::uint64_t &tile;
};

struct platform_attention::reader {
    reader(const std::string &name, std::size_t its_number, pe_unit &unit)
        : number(its_number), pe(unit), controller((name + "_controller").c_str()), bytes((name + "_bytes").c_str()) {
        controller.bind(pe.controller.control);
        bytes.bind(pe.controller.in);
    }

    const std::size_t number;
    pe_unit &pe;
    tlm_utils::simple_initiator_socket<platform_attention> controller, bytes;
    std::vector<reading> readings; // of the step
    std::size_t next = 0;
    std::uint64_t tile[tiles] = {};
    std::vector<std::unique_ptr<lane>> lanes; // of each tile
};

platform_attention::platform_attention(sc_core::sc_module_name name, npu &platform, const platform_blocks &blocks,
                                       std::uint64_t layer_bytes, std::uint32_t block_tokens)
    : sc_module(name), blocks_(blocks), layer_bytes_(layer_bytes), block_tokens_(block_tokens) {
    for (std::size_t i = 0; i < platform.pes().size(); i++)
        readers_.push_back(std::make_unique<reader>("pe" + std::to_string(i), i, *platform.pes()[i]));
    SC_HAS_PROCESS(platform_attention);
    SC_THREAD(work);
    for (const auto &r : readers_)
        for (std::uint64_t &tile : r->tile)
            r->lanes.push_back(std::make_unique<lane>(sc_core::sc_gen_unique_name("lane"), *this, *r, tile));
}

platform_attention::~platform_attention() = default;

tla_status platform_attention::read(const tla_step &step, std::uint64_t &took_ps, tla_error *error) {
    for (const auto &r : readers_) {
        r->readings.clear();
        r->next = 0;
    }
    for (std::size_t i = 0; i < step.count; i++) {
        const tla_step_part &part = step.parts[i];
        std::uint64_t left = std::uint64_t{part.computed} + part.tokens;
        for (std::uint32_t k = 0; k < part.block_count && left; k++) {
            const auto tokens = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, block_tokens_));
            readers_[blocks_.pe_of(part.blocks[k])]->readings.push_back({part.blocks[k], tokens});
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
        tla_error_set(&failure_, TLA_BUSY, "the platform came to rest before attention had read its blocks");
    if (failure_.status) *error = failure_;
    return failure_.status;
}

void platform_attention::work() {
    for (;;) {
        wait(begin_);
        if (ends_) {
            give_tiles_back();
        } else if (!take_tiles()) {
            const std::uint64_t start = now_ps();
            reading_ = tiles * static_cast<unsigned>(readers_.size());
            read_.notify(sc_core::SC_ZERO_TIME);
            wait(all_read_);
            took_ps_ = now_ps() - start;
            all_took_ps_ += took_ps_;
        }
        done_ = true;
        sc_core::sc_pause(); // whatever else the platform has pending waits for the next step
    }
}

void platform_attention::lane::work() {
    for (;;) {
        wait(all.read_);
        while (!all.failure_.status && of.next < of.readings.size())
            all.load(of, of.readings[of.next++], tile);
        if (--all.reading_ == 0) all.all_read_.notify();
    }
}

tla_status platform_attention::take_tiles() {
    for (std::size_t i = 0; i < readers_.size() && !has_tiles_; i++)
        for (std::uint64_t &pa : readers_[i]->tile)
            if (const tla_status status = tile_command(*readers_[i], TLA_OP_ALLOC, pa)) return status;
    has_tiles_ = true;
    return TLA_OK;
}

tla_status platform_attention::give_tiles_back() {
    for (std::size_t i = 0; i < readers_.size() && has_tiles_; i++)
        for (std::uint64_t &pa : readers_[i]->tile)
            if (const tla_status status = tile_command(*readers_[i], TLA_OP_FREE, pa)) return status;
    has_tiles_ = false;
    return TLA_OK;
}

tla_status platform_attention::tile_command(reader &r, tla_opcode opcode, std::uint64_t &pa) {
    tla_command command{};
    command.opcode = opcode;
    command.target = TLA_TARGET_MEMORY_CONTROLLER;
    command.channel = TLA_TCM;
    command.nbytes = layer_bytes_;
    command.pa = {pa};
    tla_completion completion{};
    sc_core::sc_time delay;
    const tla_status status =
        send_command(*r.controller.operator->(), platform_blocks::port, command, completion, delay);
    wait(delay);
    if (status)
        return tla_error_set(&failure_, status, "%s of a tile of %llu bytes in the TCM of PE %zu: %s",
                             opcode == TLA_OP_ALLOC ? "ALLOC" : "FREE", static_cast<unsigned long long>(layer_bytes_),
                             r.number, tla_status_text(status));
    pa = completion.value;
    return TLA_OK;
}

// Keys of all tokens of a block come before their values, so that of a part of them there are two rows.
tla_status platform_attention::load(reader &r, const reading &what, std::uint64_t tile) {
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
    const tla_status status = r.pe.dma.transfer(request, delay);
    wait(delay);
    if (status)
        return tla_error_set(&failure_, status, "attention's read of block %u by the DMA of PE %zu: %s", what.block,
                             r.number, tla_status_text(status));
    bytes_ += 2 * row;
    return check(r, what, tile);
}

tla_status platform_attention::check(reader &r, const reading &what, std::uint64_t tile) {
    const std::uint64_t half = layer_bytes_ / 2, row = half / block_tokens_ * what.tokens;
    std::vector<std::uint8_t> bytes(2 * row), expected(2 * row);
    tlm::tlm_generic_payload payload;
    payload.set_command(tlm::TLM_READ_COMMAND);
    payload.set_address(tile);
    payload.set_data_ptr(bytes.data());
    payload.set_data_length(static_cast<unsigned>(bytes.size()));
    payload.set_streaming_width(static_cast<unsigned>(bytes.size()));
    if (r.bytes->transport_dbg(payload) != bytes.size())
        return tla_error_set(&failure_, TLA_BUS_ERROR, "the tile in the TCM of PE %zu cannot be read", r.number);
    blocks_.expect(what.block, 0, expected.data(), row);
    blocks_.expect(what.block, half, expected.data() + row, row);
    const auto wrong = std::mismatch(bytes.begin(), bytes.end(), expected.begin());
    if (wrong.first == bytes.end()) return TLA_OK;
    const auto at = static_cast<std::uint64_t>(wrong.first - bytes.begin());
    return tla_error_set(&failure_, TLA_WRONG_RESULT,
                         "attention read block %u, byte %llu, from PE %zu's slice: found 0x%02x, expected 0x%02x",
                         what.block, static_cast<unsigned long long>(at < row ? at : at - row + half), r.number,
                         *wrong.first, *wrong.second);
}

// Nobody else translates: mappings and commands are no lookups.
platform_attention_totals platform_attention::totals() const {
    platform_attention_totals totals{bytes_, 0, 0, all_took_ps_};
    for (const auto &r : readers_) {
        const pe_mmu::statistics mmu = r->pe.mmu.get_statistics();
        totals.lookups += mmu.lookups;
        totals.tlb_misses += mmu.misses;
    }
    return totals;
}

} // namespace tlmalloc
