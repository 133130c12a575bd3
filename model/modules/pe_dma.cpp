#include "tlmalloc/modules/pe_dma.hpp"

#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <vector>

namespace tlmalloc {

pe_dma::pe_dma(sc_core::sc_module_name name, const config &settings)
    : sc_module(name), config_(settings), requester_(settings.asid, settings.initiator) {
    require_ps_resolution();
    if (settings.chunk == 0 || settings.bandwidth == 0 || settings.outstanding == 0)
        SC_REPORT_ERROR("/tlmalloc/pe_dma/config", "chunk, bandwidth and outstanding must be above 0");
}

tla_status pe_dma::transfer(const request &what, sc_core::sc_time &delay) {
    tla_timeline &issue = issue_[what.way == direction::write];
    std::uint64_t earliest = local_ps(delay), end = earliest, count = 0;
    std::vector<std::uint64_t> done(config_.outstanding, 0); // when the last `outstanding` chunks ended
    std::vector<std::uint8_t> buffer(config_.chunk);         // its own: whoever is accessed may wait
    statistics_.transfers++;
    for (std::uint64_t row = 0; row < what.rows; row++) {
        const std::uint64_t va = what.va.value + row * what.pitch, tile = what.tile.value + row * what.row_bytes;
        for (std::uint64_t moved = 0; moved < what.row_bytes;) {
            const std::uint64_t to_boundary = config_.chunk - (va + moved) % config_.chunk;
            const auto nbytes = static_cast<std::uint32_t>(std::min(to_boundary, what.row_bytes - moved));
            const std::uint64_t slot_free = done[count % config_.outstanding];
            std::uint64_t at =
                tla_timeline_reserve(&issue, std::max(earliest, slot_free), tla_transfer_ps(nbytes, config_.bandwidth));
            const std::uint64_t now = to_ps(sc_core::sc_time_stamp());
            if (at > now + config_.quantum_ps) sc_core::wait(from_ps(at - now));
            at = std::max(at, to_ps(sc_core::sc_time_stamp()));
            if (!move_chunk(what, {va + moved, tile + moved, nbytes}, buffer.data(), at)) {
                set_local_ps(delay, std::max(end, at));
                return TLA_BUS_ERROR;
            }
            done[count++ % config_.outstanding] = at;
            end = std::max(end, at);
            moved += nbytes;
        }
    }
    set_local_ps(delay, std::max(end, to_ps(sc_core::sc_time_stamp())));
    return TLA_OK;
}

namespace {

// Bytes from the first to the last that `rows` rows touch, gaps included; 0 when they do not go upwards, or wrap 2^64.
std::uint64_t reach(std::uint64_t first, std::uint64_t rows, std::uint64_t row_bytes, std::uint64_t pitch) {
    std::uint64_t nbytes = 0, end = 0;
    if (rows == 0 || __builtin_mul_overflow(rows - 1, pitch, &nbytes) ||
        __builtin_add_overflow(nbytes, row_bytes, &nbytes) || __builtin_add_overflow(first, nbytes, &end))
        return 0;
    return nbytes;
}

// What [first, first + nbytes) reaches around a part of it; nothing where the part does not lie in it.
transfer_extent around(std::uint64_t first, std::uint64_t nbytes, std::uint64_t part, std::uint64_t part_bytes) {
    const std::uint64_t before = part - first;
    if (before >= nbytes || part_bytes > nbytes - before) return {};
    return {before, nbytes - before - part_bytes};
}

} // namespace

bool pe_dma::move_chunk(const request &transfer, const chunk &what, std::uint8_t *buffer, std::uint64_t &at_ps) {
    const std::uint64_t start = at_ps;
    const direction way = transfer.way;
    const std::uint32_t nbytes = what.nbytes;
    transfer_extent there, here;
    if (config_.tell_extent) {
        there = around(transfer.va.value, reach(transfer.va.value, transfer.rows, transfer.row_bytes, transfer.pitch),
                       what.va, nbytes);
        here = around(transfer.tile.value,
                      reach(transfer.tile.value, transfer.rows, transfer.row_bytes, transfer.row_bytes), what.tile,
                      nbytes);
    }
    sc_core::sc_time delay;
    set_local_ps(delay, start);
    const auto move = [&](auto &socket, tlm::tlm_command command, std::uint64_t address, transfer_extent &extent) {
        return access(*socket.operator->(), command, address, buffer, nbytes, delay, &requester_,
                      config_.tell_extent ? &extent : nullptr);
    };
    const bool ok =
        way == direction::read
            ? move(out, tlm::TLM_READ_COMMAND, what.va, there) && move(local, tlm::TLM_WRITE_COMMAND, what.tile, here)
            : move(local, tlm::TLM_READ_COMMAND, what.tile, here) && move(out, tlm::TLM_WRITE_COMMAND, what.va, there);
    at_ps = local_ps(delay);
    statistics_.chunks++;
    in_flight_.add(start, 1);
    in_flight_.add(at_ps, -1);
    if (!ok) {
        statistics_.errors++;
        return false;
    }
    (way == direction::read ? statistics_.bytes_read : statistics_.bytes_written) += nbytes;
    (way == direction::read ? bytes_read_ : bytes_written_).add(at_ps, nbytes);
    return true;
}

void pe_dma::record(waveform &wave) {
    for (figure *f : {&bytes_read_, &bytes_written_, &in_flight_})
        f->record(wave, name());
}

void pe_dma::trace(sc_core::sc_trace_file *file) const {
    for (const figure *f : {&bytes_read_, &bytes_written_, &in_flight_})
        f->trace(file, name());
}

} // namespace tlmalloc
