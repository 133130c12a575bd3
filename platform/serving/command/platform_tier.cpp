// Blocks in the host's memory of a platform: commands, moves by DMA, and the check of moved bytes.
#include "serving/command/platform_tier.hpp"

#include "serving/command/platform_pattern.hpp"
#include "serving/command/platform_port.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace tlmalloc {

namespace {

constexpr std::uint64_t most_piece_bytes = 32 * 1024; // 128 chunks of 256 B, of which a channel has 256 in flight
constexpr std::uint64_t end_bytes = 16;               // that are compared, at each end

const char *name_of(tla_opcode opcode) {
    return opcode == TLA_OP_ALLOC ? "ALLOC" : opcode == TLA_OP_FREE ? "FREE" : opcode == TLA_OP_PIN ? "PIN" : "UNPIN";
}

} // namespace

platform_tier::platform_tier(sc_core::sc_module_name name, npu &platform, std::uint64_t block_bytes)
    : sc_module(name), block_bytes_(block_bytes), piece_bytes_(std::min(block_bytes, most_piece_bytes)),
      driver_(platform.host().driver()),
      lanes_("lanes", platform, piece_bytes_,
             [this](std::size_t pe, std::uint64_t tile) { return move_piece(pe, tile); }),
      queues_(platform.pes().size()) {
    controller_.bind(platform.memory_of_host()->controller.control);
    bytes_.bind(platform.memory_of_host()->controller.in);
}

platform_tier::~platform_tier() = default;

std::uint64_t platform_tier::physical_address(std::uint32_t host_block) const {
    const auto found = blocks_.find(host_block);
    return found == blocks_.end() ? 0 : found->second.pa;
}

tla_status platform_tier::command(tla_opcode opcode, std::uint32_t host_block, std::uint64_t &value, times &took,
                                  tla_error *error) {
    tla_command command{};
    command.opcode = opcode;
    command.target = TLA_TARGET_MEMORY_CONTROLLER;
    command.memory = TLA_HOST_MEMORY;
    command.nbytes = block_bytes_;
    command.pa = {physical_address(host_block)};
    const std::uint64_t start_ps = to_ps(sc_core::sc_time_stamp());
    tla_completion completion{};
    const bool is_call = opcode == TLA_OP_ALLOC || opcode == TLA_OP_FREE; // of the driver, to which it is SIP 0's
    const tla_status status = command_in_driver(is_call ? driver_ : nullptr, 0, controller_, command, completion);
    took.allocation_ps += to_ps(sc_core::sc_time_stamp()) - start_ps;
    value = completion.value;
    if (status)
        tla_error_set(error, status, "%s of block %u in the host's memory: %s", name_of(opcode), host_block,
                      tla_status_text(status));
    return status;
}

tla_status platform_tier::hold(std::uint32_t host_block, times &took, tla_error *error) {
    const auto found = blocks_.find(host_block);
    if (found == blocks_.end())
        return tla_error_set(error, TLA_WRONG_RESULT, "block %u in the host's memory is to be read but is empty",
                             host_block);
    counts_.host_pin++;
    std::uint64_t pins = 0;
    if (const tla_status status = command(TLA_OP_PIN, host_block, pins, took, error)) return status;
    if (pins == ++found->second.pins) return TLA_OK;
    return tla_error_set(error, TLA_WRONG_RESULT, "block %u in the host's memory has %llu pins, expected %llu",
                         host_block, static_cast<unsigned long long>(pins),
                         static_cast<unsigned long long>(found->second.pins));
}

tla_status platform_tier::let_go(std::uint32_t host_block, times &took, tla_error *error) {
    const auto found = blocks_.find(host_block);
    if (found == blocks_.end() || found->second.pins == 0)
        return tla_error_set(error, TLA_WRONG_RESULT, "block %u in the host's memory is released but not held",
                             host_block);
    counts_.host_unpin++;
    std::uint64_t pins = 0;
    if (const tla_status status = command(TLA_OP_UNPIN, host_block, pins, took, error)) return status;
    if (pins == --found->second.pins) return TLA_OK;
    return tla_error_set(error, TLA_WRONG_RESULT, "block %u in the host's memory has %llu pins, expected %llu",
                         host_block, static_cast<unsigned long long>(pins),
                         static_cast<unsigned long long>(found->second.pins));
}

tla_status platform_tier::give_up(std::uint32_t host_block, times &took, tla_error *error) {
    const stored &block = blocks_.at(host_block);
    if (block.pins)
        return tla_error_set(error, TLA_WRONG_RESULT, "block %u in the host's memory is freed during a read",
                             host_block);
    counts_.host_free++;
    std::uint64_t left = 0;
    if (const tla_status status = command(TLA_OP_FREE, host_block, left, took, error)) return status;
    blocks_.erase(host_block);
    return TLA_OK;
}

tla_status platform_tier::move_out(const std::vector<move> &moves, times &took, tla_error *error) {
    std::set<std::uint32_t> written; // moves to one place are made one after the other
    for (const move &m : moves) {
        if (!written.insert(m.host_block).second) {
            if (const tla_status status = move_queued(took, error)) return status;
            written = {m.host_block};
        }
        if (blocks_.count(m.host_block))
            if (const tla_status status = give_up(m.host_block, took, error)) return status;
        counts_.host_alloc++;
        std::uint64_t pa = 0;
        if (const tla_status status = command(TLA_OP_ALLOC, m.host_block, pa, took, error)) return status;
        blocks_[m.host_block] = {pa, m.content, 0};
        queue_pieces(pe_dma::direction::write, m);
        counts_.moved_out++;
        counts_.bytes_out += block_bytes_;
    }
    if (const tla_status status = move_queued(took, error)) return status;
    return check(moves, error);
}

tla_status platform_tier::move_in(std::vector<move> &moves, times &took, tla_error *error) {
    for (move &m : moves) {
        const auto found = blocks_.find(m.host_block);
        if (found == blocks_.end() || found->second.pins == 0)
            return tla_error_set(error, TLA_WRONG_RESULT, "block %u in the host's memory is read but not held",
                                 m.host_block);
        m.content = found->second.content;
        queue_pieces(pe_dma::direction::read, m);
        counts_.moved_in++;
        counts_.bytes_in += block_bytes_;
    }
    return move_queued(took, error);
}

tla_status platform_tier::give_all_back(tla_error *error) {
    times ignored;
    while (!blocks_.empty())
        if (const tla_status status = give_up(blocks_.begin()->first, ignored, error)) return status;
    return lanes_.give_tiles_back(error);
}

void platform_tier::add_counts(platform_counts &counts) const {
    counts.host_alloc += counts_.host_alloc;
    counts.host_free += counts_.host_free;
    counts.host_pin += counts_.host_pin;
    counts.host_unpin += counts_.host_unpin;
    counts.moved_out += counts_.moved_out;
    counts.moved_in += counts_.moved_in;
    counts.bytes_out += counts_.bytes_out;
    counts.bytes_in += counts_.bytes_in;
    counts.moving_ps += counts_.moving_ps;
}

// ---- bytes ----

void platform_tier::queue_pieces(pe_dma::direction way, const move &what) {
    const std::uint64_t host_pa = blocks_.at(what.host_block).pa;
    for (std::uint64_t at = 0; at < block_bytes_; at += piece_bytes_)
        queues_[what.pe].pieces.push_back({way, what.va + at, host_pa + at, std::min(piece_bytes_, block_bytes_ - at)});
}

tla_status platform_tier::move_queued(times &took, tla_error *error) {
    std::uint64_t took_ps = 0;
    tla_status status = lanes_.run(took_ps, error);
    took.transfer_ps += took_ps;
    counts_.moving_ps += took_ps;
    for (queue &q : queues_)
        q = {};
    if (!status && moving_.status) {
        status = moving_.status;
        *error = moving_;
    }
    return status;
}

bool platform_tier::move_piece(std::size_t pe, std::uint64_t tile) {
    queue &q = queues_[pe];
    if (moving_.status || q.next == q.pieces.size()) return false;
    const piece p = q.pieces[q.next++];
    const bool comes_in = p.way == pe_dma::direction::read;
    for (const pe_dma::direction way : {pe_dma::direction::read, pe_dma::direction::write}) {
        pe_dma::request request{};
        request.way = way;
        request.purpose = TLA_PURPOSE_MOVE;
        request.physical = way == p.way; // the host's end, which no mapping leads to
        request.va = {request.physical ? p.host_pa : p.va};
        request.tile = {tile};
        request.rows = 1;
        request.row_bytes = request.pitch = p.nbytes;
        sc_core::sc_time delay;
        const tla_status status = lanes_.pe(pe).dma.transfer(request, delay);
        sc_core::wait(delay);
        if (!status) continue;
        tla_error_set(&moving_, status, "the DMA of PE %zu, while it moved a block %s the host's memory: %s", pe,
                      comes_in ? "from" : "to", tla_status_text(status));
        return false;
    }
    return true;
}

// Checks the contents of the places after the last move to each.
tla_status platform_tier::check(const std::vector<move> &moves, tla_error *error) {
    for (const move &m : moves) {
        const stored &block = blocks_.at(m.host_block);
        for (const std::uint64_t offset : {std::uint64_t{0}, block_bytes_ - end_bytes}) {
            std::array<std::uint8_t, end_bytes> bytes{}, expected{};
            if (!debug_access(bytes_, tlm::TLM_READ_COMMAND, block.pa + offset, bytes.data(), end_bytes))
                return tla_error_set(error, TLA_BUS_ERROR, "block %u in the host's memory cannot be read",
                                     m.host_block);
            pattern_of(block.content, offset, expected.data(), end_bytes);
            const auto wrong = std::mismatch(bytes.begin(), bytes.end(), expected.begin());
            if (wrong.first == bytes.end()) continue;
            const std::uint64_t at = offset + static_cast<std::uint64_t>(wrong.first - bytes.begin());
            return tla_error_set(error, TLA_WRONG_RESULT,
                                 "block %u in the host's memory, byte %llu: found 0x%02x, expected 0x%02x",
                                 m.host_block, static_cast<unsigned long long>(at), *wrong.first, *wrong.second);
        }
    }
    return TLA_OK;
}

} // namespace tlmalloc
