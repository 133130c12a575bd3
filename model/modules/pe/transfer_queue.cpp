// Takes transfers of one direction in turn, in the thread that waits or in one of its own.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "transfer_queue.hpp"

#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <utility>

namespace tlmalloc {

namespace {

std::uint64_t kernel_ps() {
    return to_ps(sc_core::sc_time_stamp());
}

} // namespace

std::uint64_t transfer_queue::end_of(const requests &what) {
    std::uint64_t end = 0;
    for (const pe_dma::request &part : what)
        if (part.rows > 0) end = std::max(end, part.va.value + (part.rows - 1) * part.pitch + part.row_bytes);
    return end;
}

tla_status transfer_queue::move_all(const requests &what, sc_core::sc_time &delay, std::vector<tla_time_part> *went) {
    set_local_ps(delay, std::max({local_ps(delay), free_ps_, kernel_ps()}));
    const std::uint64_t since_ps = local_ps(delay);
    moving_ = true;
    load_.begin(since_ps);
    tla_status status = TLA_OK;
    for (auto part = what.begin(); !status && part != what.end(); ++part) {
        pe_dma::request request = *part;
        request.went = went;
        status = dma_.transfer(request, delay);
    }
    moving_ = false;
    free_ps_ = local_ps(delay);
    load_.end(since_ps, free_ps_);
    return status;
}

tla_status transfer_queue::move(const requests &what, sc_core::sc_time &delay, std::vector<tla_time_part> *went) {
    if (is_idle()) {
        const tla_status status = move_all(what, delay, went);
        if (!queued_.empty()) posted_.notify();
        return status;
    }
    queued_transfer mine;
    mine.what = what;
    mine.asked_ps = local_ps(delay);
    mine.tells = went != nullptr;
    post(mine);
    wait_for(mine);
    set_local_ps(delay, std::max(mine.end_ps, kernel_ps()));
    if (went) went->insert(went->end(), mine.went.begin(), mine.went.end());
    return mine.status;
}

void transfer_queue::post(queued_transfer &what) {
    queued_.push_back(&what);
    posted_.notify();
    if (has_thread_) return;
    has_thread_ = true;
    sc_core::sc_spawn([this] { serve(); }, sc_core::sc_gen_unique_name("transfers"));
}

void transfer_queue::wait_for(const queued_transfer &what) {
    while (!what.done)
        sc_core::wait(done_);
}

void transfer_queue::drop_waiting(tla_status status) {
    for (queued_transfer *waiting : std::exchange(queued_, {}))
        finish(*waiting, status, std::max(waiting->asked_ps, kernel_ps()));
}

void transfer_queue::give_up() {
    drop_waiting(TLA_TIMEOUT);
    dma_.give_up();
}

void transfer_queue::finish(queued_transfer &what, tla_status status, std::uint64_t end_ps) {
    what.status = status;
    what.end_ps = end_ps;
    what.done = true;
    done_.notify();
    if (what.ended) what.ended();
}

void transfer_queue::serve() {
    for (;;) {
        while (queued_.empty() || moving_)
            sc_core::wait(posted_);
        queued_transfer &next = *queued_.front();
        queued_.pop_front();
        moving_ = true; // also while it waits for the beginning: the engine is this one's
        next.begin_ps = std::max({next.asked_ps, free_ps_, kernel_ps()});
        if (next.begin_ps > kernel_ps() + quantum_ps_) sc_core::wait(from_ps(next.begin_ps - kernel_ps()));
        sc_core::sc_time delay;
        set_local_ps(delay, next.begin_ps);
        const tla_status status = move_all(next.what, delay, next.tells ? &next.went : nullptr);
        finish(next, status, local_ps(delay));
    }
}

} // namespace tlmalloc
