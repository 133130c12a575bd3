// The DMA engine: chunks of a transfer, issued in time, each a read here and a write there.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "tlmalloc/modules/pe_dma.hpp"

#include "pe_dma_mover.hpp"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <vector>

namespace tlmalloc {

namespace {

// Bytes from the first to the last that `rows` rows touch, gaps included; 0 when they do not go upwards, or wrap 2^64.
std::uint64_t reach(std::uint64_t first, std::uint64_t rows, std::uint64_t row_bytes, std::uint64_t pitch) {
    std::uint64_t nbytes = 0, end = 0;
    if (rows == 0 || __builtin_mul_overflow(rows - 1, pitch, &nbytes) ||
        __builtin_add_overflow(nbytes, row_bytes, &nbytes) || __builtin_add_overflow(first, nbytes, &end))
        return 0;
    return nbytes;
}

// Returns the extent of [first, first + nbytes) around a part; an empty extent if the part does not lie inside.
transfer_extent around(std::uint64_t first, std::uint64_t nbytes, std::uint64_t part, std::uint64_t part_bytes) {
    const std::uint64_t before = part - first;
    if (before >= nbytes || part_bytes > nbytes - before) return {};
    return {before, nbytes - before - part_bytes};
}

} // namespace

pe_dma::pe_dma(sc_core::sc_module_name name, const config &settings) : instrumented(name, "pe_dma"), config_(settings) {
    for (const bool to_memory : {false, true})
        for (const bool physical : {false, true})
            for (int i = 0; i < TLA_PURPOSE_COUNT; i++) {
                requester &who = requesters_[to_memory][physical][i];
                who = {settings.asid, settings.initiator, physical};
                who.translated = physical;
                who.overlaps = !to_memory && settings.overlaps;
                who.purpose = static_cast<tla_purpose>(i);
            }
    if (settings.chunk == 0 || settings.bandwidth == 0 || settings.outstanding == 0)
        refuse_config("chunk, bandwidth and outstanding must be above 0");
    for (direction way : {direction::read, direction::write})
        movers_[way == direction::write] = std::make_unique<mover>(*this, way);
}

void pe_dma::start_of_simulation() {
    to_memory_.lead_to(*out.operator->(), out.name());
    to_tcm_.lead_to(*local.operator->(), local.name());
}

// Bytes of the chunk that begins at va: chunks end at multiples of their size.
std::uint32_t pe_dma::chunk_at(std::uint64_t va, std::uint64_t left) const {
    return static_cast<std::uint32_t>(std::min(config_.chunk - va % config_.chunk, left));
}

void pe_dma::begin_reset() {
    for (const auto &way : movers_)
        way->give_up(TLA_RESET);
}

void pe_dma::give_up() {
    for (const auto &way : movers_)
        way->give_up(TLA_TIMEOUT);
}

bool pe_dma::is_busy() const {
    return std::any_of(std::begin(movers_), std::end(movers_), [](const auto &way) { return way->is_busy(); });
}

void pe_dma::make_new() {
    for (const auto &way : movers_)
        way->make_new();
}

pe_dma::~pe_dma() = default;

pe_dma::statistics pe_dma::get_statistics() const {
    time_queue::catch_up_all();
    return statistics_;
}

std::vector<statistics_group> pe_dma::list_statistics() const {
    const statistics s = get_statistics();
    return {{{{"transfers", s.transfers, "transfers", "begun"},
              {"chunks", s.chunks, "chunks", "completed or failed"},
              {"bytes_read", s.bytes_read, "bytes", "from virtual memory to the TCM"},
              {"bytes_written", s.bytes_written, "bytes", "from the TCM to virtual memory"},
              {"errors", s.errors, "chunks", "completed with an error response"},
              {"latency_ps", s.latency_ps, "ps", "from issue to end, sum over the chunks"}}}};
}

tla_status pe_dma::transfer(const request &what, sc_core::sc_time &delay) {
    const std::uint64_t start_ps = local_ps(delay);
    outcome how{};
    how.status = move(what, delay, what.went || ended ? &how.chunks : nullptr);
    if (ended) ended(what, start_ps, local_ps(delay), how);
    return how.status;
}

void pe_dma::begin(const request &what, std::uint64_t at_ps, told_end over) {
    if (in_reset()) {
        over(TLA_RESET, at_ps);
        return;
    }
    statistics_.transfers++;
    const bool noted = static_cast<bool>(ended);
    movers_[what.way == direction::write]->begin(what, at_ps, noted,
                                                 [this, what, at_ps, over](const outcome &how, std::uint64_t end_ps) {
                                                     if (ended) ended(what, at_ps, end_ps, how);
                                                     over(how.status, end_ps);
                                                 });
}

tla_status pe_dma::move(const request &what, sc_core::sc_time &delay, std::vector<tla_access_times> *chunks) {
    if (in_reset()) return TLA_RESET;
    statistics_.transfers++;
    const visit here(this);
    if (what.rows == 0 || what.row_bytes == 0) return TLA_OK;
    std::uint64_t at_ps = local_ps(delay);
    const tla_status status = movers_[what.way == direction::write]->transfer(what, at_ps, chunks);
    set_local_ps(delay, at_ps);
    return status;
}

// Returns the extents of the transfer around a chunk, in virtual memory and in the TCM.
void pe_dma::tell_extents(const request &transfer, const chunk &what, transfer_extent &there,
                          transfer_extent &here) const {
    there = around(transfer.va.value, reach(transfer.va.value, transfer.rows, transfer.row_bytes, transfer.pitch),
                   what.va, what.nbytes);
    here =
        around(transfer.tile.value, reach(transfer.tile.value, transfer.rows, transfer.row_bytes, transfer.row_bytes),
               what.tile, what.nbytes);
}

void pe_dma::count(direction way, bool ok, std::uint64_t start_ps, std::uint64_t end_ps, std::uint32_t nbytes) {
    statistics_.chunks++;
    statistics_.latency_ps += end_ps - start_ps;
    in_flight_.add(end_ps, -1);
    if (!ok) {
        statistics_.errors++;
        return;
    }
    (way == direction::read ? statistics_.bytes_read : statistics_.bytes_written) += nbytes;
    (way == direction::read ? bytes_read_ : bytes_written_).add(end_ps, nbytes);
}

} // namespace tlmalloc
