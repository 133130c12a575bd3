// A PE's loads and stores: calls that wait, and asynchronous calls.
#include "kernel_operation.hpp"
#include "stage_units.hpp"
#include "tile_shape.hpp"
#include "tlmalloc/modules/pe_ipcq.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <cinttypes>
#include <utility>

namespace tlmalloc {

// --- one transfer ----------------------------------------------------------------------------------------------------

namespace {

// Returns the DMA engine's requests for a tile: one request, or one for each row if the rows are not adjacent in the
// TCM.
transfer_queue::requests requests_of(pe_dma::direction way, const tl_tile &tile, tla_vaddr va, std::uint64_t pitch) {
    const std::uint64_t row_bytes = std::uint64_t{tile.columns} * tl_dtype_bytes(tile.dtype);
    pe_dma::request request{way, va, tile.pa, tile.rows, row_bytes, pitch};
    if (pitch == row_bytes && rows_touch(tile)) { // on both sides: one run
        request.row_bytes = row_bytes * tile.rows;
        request.rows = 1;
    }
    if (rows_touch(tile)) return {request};
    transfer_queue::requests parts(tile.rows, request);
    for (std::uint64_t i = 0; i < parts.size(); i++) {
        parts[i].rows = 1;
        parts[i].va.value = va.value + i * pitch;
        parts[i].tile.value = tile.pa.value + i * tile.pitch * tl_dtype_bytes(tile.dtype);
    }
    return parts;
}

} // namespace

// The time of a translation that a call pays itself (mmu.overhead_at: call).
void processing_element::translate() {
    const std::uint64_t since_ps = local_ps(delay_);
    delay_ += from_ps(config_.translation_ps);
    note(TLA_TIME_LOOKUP, since_ps, local_ps(delay_));
}

tla_status processing_element::transfer(pe_dma::direction way, const tl_tile &tile, tla_vaddr va, std::uint64_t pitch) {
    if (const tla_status status = check_tile(tile)) return status;
    if (const tla_status status = check_use(tile, way == pe_dma::direction::read, &queue(way))) return status;
    begin();
    const std::uint64_t since = local_ps(delay_);
    waits_for_dma_.set(since, 1);
    translate();
    const tla_status status = queue(way).move(requests_of(way, tile, va, pitch), delay_, went());
    waits_for_dma_.set(local_ps(delay_), 0);
    end(run_.dma_ps, since, TLA_TIME_ENGINE_QUEUE);
    return status;
}

// A transaction of a load or store was answered with an error. The cause is the TCM if the tile was freed, and the MMU
// if the host has rejected a page of the bytes up to `end`.
tla_status processing_element::refuse_transfer(const char *call, pe_dma::direction way, tla_vaddr va, std::uint64_t end,
                                               const tl_tile *tile) {
    const auto at = static_cast<unsigned long long>(va.value);
    if (tile && was_freed(*tile)) return refuse_tile(TLA_BUS_ERROR, *tile);
    const std::string no_page = why_no_page ? why_no_page(va.value, end) : "";
    if (!no_page.empty())
        return problem(TLA_BUS_ERROR, "%s %s 0x%llx: a page fault failed: %s", call,
                       way == pe_dma::direction::read ? "from" : "to", at, no_page.c_str());
    if (way == pe_dma::direction::read)
        return problem(TLA_BUS_ERROR,
                       "%s from 0x%llx: a transaction returned an error response: the memory must be mapped", call, at);
    return problem(TLA_BUS_ERROR,
                   "%s to 0x%llx: a transaction returned an error response: the memory must be mapped and writable (of "
                   "a tensor that is TL_OUT or TL_INOUT)",
                   call, at);
}

tla_status processing_element::load(const tl_tile &tile, tla_vaddr source, std::uint64_t pitch) {
    const tla_status status = transfer(pe_dma::direction::read, tile, source, pitch);
    if (status != TLA_BUS_ERROR) return status;
    const std::uint64_t end = transfer_queue::end_of(requests_of(pe_dma::direction::read, tile, source, pitch));
    return refuse_transfer("tl_load", pe_dma::direction::read, source, end, &tile);
}

tla_status processing_element::store(tla_vaddr destination, std::uint64_t pitch, const tl_tile &tile) {
    const tla_status status = transfer(pe_dma::direction::write, tile, destination, pitch);
    if (status != TLA_BUS_ERROR) return status;
    const std::uint64_t end = transfer_queue::end_of(requests_of(pe_dma::direction::write, tile, destination, pitch));
    return refuse_transfer("tl_store", pe_dma::direction::write, destination, end, &tile);
}

// --- asynchronous operations
// --------------------------------------------------------------------------------------------

struct processing_element::asynchronous_transfer final : operation {
    asynchronous_transfer(pe_dma::direction to, const tl_tile &tile, tla_vaddr first, std::uint64_t pitch)
        : operation(to == pe_dma::direction::read ? "tl_load_async" : "tl_store_async",
                    {{tile, to == pe_dma::direction::read}}),
          way(to), va(first) {
        queued_transfer.what = requests_of(to, tile, first, pitch);
    }

    tla_status finish(processing_element &element, std::uint64_t &end_ps) override {
        element.queue(way).wait_for(queued_transfer);
        end_ps = queued_transfer.end_ps;
        element.parts_ = std::move(queued_transfer.went);
        return queued_transfer.status == TLA_BUS_ERROR
                   ? element.refuse_transfer(call, way, va, transfer_queue::end_of(queued_transfer.what), &uses[0].tile)
                   : queued_transfer.status;
    }

    const pe_dma::direction way;
    const tla_vaddr va;
    transfer_queue::queued_transfer queued_transfer;
};

// Whether one operation more may be begun before others are waited for.
tla_status processing_element::check_room() {
    if (operations_.size() < config_.outstanding) return TLA_OK;
    return problem(TLA_LIMIT,
                   "%s: %zu operations are outstanding: must be at most pe.outstanding, %" PRIu32 "; call tl_wait",
                   call_, operations_.size() + 1, config_.outstanding);
}

tla_status processing_element::add_operation(std::unique_ptr<operation> what, tl_handle &handle) {
    handle.value = next_handle_++;
    operations_.emplace(handle.value, std::move(what));
    return TLA_OK;
}

tla_status processing_element::begin_transfer(pe_dma::direction way, const tl_tile &tile, tla_vaddr va,
                                              std::uint64_t pitch, tl_handle &handle) {
    handle = tl_handle{};
    if (const tla_status status = check_tile(tile)) return status;
    if (const tla_status status = check_room()) return status;
    if (const tla_status status = check_use(tile, way == pe_dma::direction::read, &queue(way))) return status;
    begin();
    const std::uint64_t since = local_ps(delay_);
    translate();
    auto transfer = std::make_unique<asynchronous_transfer>(way, tile, va, pitch);
    transfer->queued_transfer.asked_ps = local_ps(delay_);
    transfer->queued_transfer.tells = account_ != nullptr;
    transfer->engine = &queue(way);
    queue(way).post(transfer->queued_transfer);
    std::uint64_t nothing = 0;
    end(nothing, since, TLA_TIME_OTHER);
    return add_operation(std::move(transfer), handle);
}

tla_status processing_element::load_async(const tl_tile &tile, tla_vaddr source, std::uint64_t pitch,
                                          tl_handle &handle) {
    return begin_transfer(pe_dma::direction::read, tile, source, pitch, handle);
}

tla_status processing_element::store_async(tla_vaddr destination, std::uint64_t pitch, const tl_tile &tile,
                                           tl_handle &handle) {
    return begin_transfer(pe_dma::direction::write, tile, destination, pitch, handle);
}

// Waits for an operation, and removes it.
tla_status processing_element::end_operation(std::uint64_t handle) {
    const auto found = operations_.find(handle);
    const std::uint64_t since = local_ps(delay_);
    std::uint64_t end_ps = 0;
    const bool message = found->second->is_message();
    waits_for_dma_.set(since, !message);
    const tla_status status = found->second->finish(*this, end_ps);
    set_local_ps(delay_, std::max({since, end_ps, to_ps(sc_core::sc_time_stamp())}));
    waits_for_dma_.set(local_ps(delay_), 0);
    const std::unique_ptr<operation> over = std::move(found->second);
    operations_.erase(found);
    end(message ? run_.message_ps : run_.dma_ps, since, message ? TLA_TIME_MESSAGE : TLA_TIME_ENGINE_QUEUE);
    const tla_status given_back = over->give_back(*this);
    return status ? status : given_back;
}

tla_status processing_element::wait_for(tl_handle handle) {
    if (handle.value == 0) return TLA_OK;
    if (!operations_.count(handle.value))
        return problem(TLA_NOT_FOUND, "tl_wait: handle %" PRIu64 " is not an outstanding operation of this kernel",
                       handle.value);
    begin();
    return end_operation(handle.value);
}

tla_status processing_element::wait_for_all() {
    begin();
    return end_operations();
}

// All, in the order in which they were begun; the first failure. When the kernel's time is over, the rest is dropped.
tla_status processing_element::end_operations() {
    tla_status first = TLA_OK;
    tla_error why{};
    while (!operations_.empty()) {
        if (is_over_time()) drop_waiting();
        const tla_status status = end_operation(operations_.begin()->first);
        if (first || !status) continue;
        first = status;
        why = run_.problem;
    }
    if (first) run_.problem = why;
    return first;
}

// --- the end of a kernel ---------------------------------------------------------------------------------------------

// The kernel has returned `status`. An operation that has failed without a wait is the failure of the kernel, if it
// returned none.
tla_status processing_element::finish_operations(tla_status status) {
    const tla_error why = run_.problem;
    const bool in_time = !is_over_time();
    const tla_status late = end_operations();
    if (!status && in_time && is_over_time() && late)
        return problem(TLA_TIMEOUT,
                       "has returned, but its operations do not end: more than pe.time_limit, %.16g ns of simulated "
                       "time",
                       static_cast<double>(config_.time_limit_ps) / 1000);
    if (!status) return late;
    run_.problem = why;
    return status;
}

// Drops the transfers that have not begun to move.
void processing_element::drop_waiting() {
    if (stage_units_) stage_units_->drop_all();
    for (auto &transfers : queues_)
        transfers->drop_waiting(TLA_OK);
    if (messages_) messages_->drop_receives(delay_);
}

// The kernel was ended.
void processing_element::drop_operations() {
    drop_waiting();
    const tla_error why = run_.problem;
    end_operations();
    run_.problem = why;
}

// The tiles that a kernel held when it was ended are owed.
void processing_element::owe_held() {
    scratch_ = tl_tile{}; // is among them
    while (!pinned_.empty()) {
        const tl_tile tile = pinned_.back();
        if (hold(TL_UNPIN, tile, 0)) pinned_.pop_back(); // it has timed out
    }
    owed_.assign(held_.rbegin(), held_.rend());
}

} // namespace tlmalloc
