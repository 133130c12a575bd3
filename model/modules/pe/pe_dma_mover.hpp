// The DMA engine: chunks of one direction, issued when their time has come.
#ifndef TLMALLOC_MODULES_PE_PE_DMA_MOVER_HPP
#define TLMALLOC_MODULES_PE_PE_DMA_MOVER_HPP

#include "kernel_stack.hpp"
#include "modules/kit/lent_payload.hpp"
#include "tlmalloc/base/timeline.h"
#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/modules/pe_dma.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <deque>
#include <list>
#include <memory>
#include <utility>
#include <vector>

namespace tlmalloc {

inline tla_access_times new_times(std::uint64_t start_ps) {
    tla_access_times times{};
    times.start_ps = times.sent_ps = start_ps;
    times.link = times.memory = times.unit = TLA_TIME_NOWHERE;
    return times;
}

// Adds where the time of a transfer went.
inline void tell(const pe_dma::request &what, const std::vector<tla_access_times> &chunks, std::size_t window,
                 std::uint64_t start_ps, std::uint64_t end_ps) {
    tla_time_chain_of_transfer(
        chunks.data(), chunks.size(), window, start_ps, end_ps,
        [](void *list, const tla_time_part *part) {
            static_cast<std::vector<tla_time_part> *>(list)->push_back(*part);
        },
        what.went);
}

// One direction. Every chunk is a request of two transactions; the second begins when the first has returned.
class pe_dma::mover {
  public:
    using ended_transfer = std::function<void(const outcome &how, std::uint64_t end_ps)>;

    mover(pe_dma &dma, direction way)
        : dma_(dma), way_(way), resource_(shared_resource::kind::dma, dma.name()),
          done_ps_(dma.config_.outstanding, 0) {}

    // Moves everything from at_ps on, and waits for it in the calling thread; at_ps becomes the end. `chunks` receives
    // the times of every chunk; null: not wanted.
    tla_status transfer(const request &what, std::uint64_t &at_ps, std::vector<tla_access_times> *chunks) {
        const transfer_in_hand hand(*this, what, at_ps, chunks != nullptr);
        dma_transfer &mine = *hand.mine;
        const std::uint64_t asked_ps = at_ps;
        post(mine, at_ps, turn::waited_for);
        for (std::uint64_t now = 0; !mine.done || mine.end_ps > now;) {
            if (mine.done)
                sc_core::wait(from_ps(mine.end_ps - now));
            else
                sc_core::wait(finished_);
            now = to_ps(sc_core::sc_time_stamp());
        }
        at_ps = mine.end_ps;
        if (chunks) chunks->assign(mine.chunks.begin(), mine.chunks.end());
        if (what.went) tell(what, *chunks, done_ps_.size(), asked_ps, at_ps);
        return mine.status;
    }

    // The same without a waiting thread: an action of the queue calls `over`; the end may lie ahead.
    void begin(const request &what, std::uint64_t at_ps, bool noted, ended_transfer over) {
        dma_transfer &mine = all_transfers_.emplace_back(
            dma_transfer{this, what, noted, at_ps, new_transaction(done_ps_.size(), what.posted)});
        mine.over = std::move(over);
        post(mine, at_ps, turn::told);
    }

    // Issued chunks are completed, and no other chunk is issued: of all transfers in a reset, otherwise of the
    // transfers for which a thread waits.
    void give_up(tla_status status) {
        const std::uint64_t now_ps = to_ps(sc_core::sc_time_stamp());
        for (auto next = all_transfers_.begin(); next != all_transfers_.end();) {
            dma_transfer &j = *next++; // its end may forget it
            if (j.done || (j.over && status != TLA_RESET)) continue;
            fail(j, status, now_ps);
            if (!j.begun) continue; // ended when its time has come
            j.end_ps = std::max(j.end_ps, now_ps);
            if (j.under_way == 0) end(j);
        }
    }

    bool is_busy() const {
        return issuing_ ||
               std::any_of(all_transfers_.begin(), all_transfers_.end(), [](const dma_transfer &j) { return !j.done; });
    }

    void make_new() {
        std::fill(done_ps_.begin(), done_ps_.end(), 0);
        issued_ = free_ps_ = 0;
    }

  private:
    // Which goes first of what happens to the channel at one time.
    enum turn : std::uint32_t { waited_for, told, issued };

    static constexpr std::uint64_t pending = UINT64_MAX;
    static constexpr std::uint64_t few_chunks = 4; // for which it is not worth while to leave an island

    struct dma_transfer {
        mover *owner;
        const request what;
        const bool noted;     // what its chunks meet
        std::uint64_t end_ps; // so far
        transaction_ptr transaction;
        std::uint64_t row = 0, moved = 0;        // the next chunk to issue
        std::uint64_t issued = 0, under_way = 0; // chunks
        std::uint64_t taken = 0, taken_ps = 0;   // of a write: read out of the TCM
        tla_status status = TLA_OK;              // so far
        bool begun = false, all_issued = false, done = false;
        bool abandoned = false;               // its thread has been killed or reset
        ended_transfer over{};                // where no thread waits
        std::list<tla_access_times> chunks{}; // in the order of issue, if noted
    };

    // The thread that waits for a dma_transfer; if it ends earlier, the dma_transfer stays for the chunks in flight.
    struct transfer_in_hand {
        transfer_in_hand(mover &owner, const request &what, std::uint64_t at_ps, bool noted)
            : mine(&owner.all_transfers_.emplace_back(
                  dma_transfer{&owner, what, noted, at_ps, new_transaction(owner.done_ps_.size(), what.posted)})) {}
        ~transfer_in_hand() {
            if (mine->done)
                mine->owner->forget(*mine);
            else
                mine->abandoned = true;
        }
        transfer_in_hand(const transfer_in_hand &) = delete;
        transfer_in_hand &operator=(const transfer_in_hand &) = delete;
        dma_transfer *const mine;
    };

    struct moving { // a chunk that is on its way
        mover *owner;
        dma_transfer *of;
        pe_dma::chunk what;
        transfer_extent there, here;
        transaction_part part;
        tla_access_times *times; // of the dma_transfer, or null
        std::uint64_t start_ps;
        std::size_t slot;
        bool second; // of its two transactions
        in_order_request request;
        lent_payload payload;
        std::vector<std::uint8_t> bytes;
    };

    // For all engines: the most recently completed chunk is used next, by any engine, so that it is in the host's
    // caches.
    struct chunk_pool {
        std::deque<moving> all;
        std::vector<moving *> idle;

        static std::shared_ptr<chunk_pool> common() {
            static std::weak_ptr<chunk_pool> known; // goes with the last engine
            std::shared_ptr<chunk_pool> pool = known.lock();
            if (!pool) known = pool = std::make_shared<chunk_pool>();
            return pool;
        }
    };

    void post(dma_transfer &what, std::uint64_t at_ps, turn as) {
        time_queue::of_simulation().post(
            at_ps, resource_.number(), as,
            [](void *context, std::uint64_t start_ps) {
                auto &started = *static_cast<dma_transfer *>(context);
                started.owner->start(started, start_ps);
            },
            &what);
    }

    void start(dma_transfer &j, std::uint64_t at_ps) {
        j.begun = true;
        if (j.status) { // given up
            end(j);
            return;
        }
        transfers_.push_back(&j);
        if (!j.over) leave_island(j.what, at_ps); // the function that receives the end does not belong to the island
        issue_next(at_ps);
    }

    // Leaves the island for a transfer that affects no other module, until its last chunk can end at the earliest.
    void leave_island(const request &what, std::uint64_t at_ps) {
        const inland &home = dma_.inland_;
        if (!home.island || what.rows * what.row_bytes < few_chunks * dma_.config_.chunk) return;
        if (!home.stays(what, at_ps)) return;
        const std::uint64_t end = what.va.value + (what.rows - 1) * what.pitch + what.row_bytes;
        const std::uint64_t last = std::min((end - 1) % dma_.config_.chunk + 1, what.row_bytes);
        const std::uint64_t issued_ps =
            std::max(at_ps, free_ps_) + tla_transfer_ps(what.rows * what.row_bytes - last, dma_.config_.bandwidth);
        time_queue::of_simulation().leave_until(home.island,
                                                issued_ps + home.least_ps(what, static_cast<std::uint32_t>(last)));
    }

    // Posts the issue of the next chunk, unless it has been or cannot be known yet.
    void issue_next(std::uint64_t now_ps) {
        if (issuing_ || transfers_.empty()) return;
        if (done_ps_[issued_ % done_ps_.size()] == pending) {
            // It waits for a chunk of its own, or of a transfer before it, which has been issued to the end.
            const dma_transfer &j = *transfers_.front();
            if (j.transaction && j.issued >= done_ps_.size())
                tla_transaction_wait(j.transaction.get(), j.under_way, now_ps);
            return;
        }
        issuing_ = true;
        time_queue::of_simulation().post(
            std::max({now_ps, free_ps_, done_ps_[issued_ % done_ps_.size()]}), resource_.number(), turn::issued,
            [](void *context, std::uint64_t at_ps) { static_cast<mover *>(context)->issue(at_ps); }, this);
    }

    void issue(std::uint64_t at_ps) {
        issuing_ = false;
        if (transfers_.empty()) { // the transfer has failed meanwhile
            dma_.may_be_idle();
            return;
        }
        dma_transfer &j = *transfers_.front();
        const request &what = j.what;
        moving &c = new_chunk();
        const std::uint64_t va = what.va.value + j.row * what.pitch + j.moved;
        const std::uint32_t nbytes = dma_.chunk_at(va, what.row_bytes - j.moved);
        c.of = &j;
        c.what = {va, what.tile.value + j.row * what.row_bytes + j.moved, nbytes};
        if (dma_.config_.tell_extent) dma_.tell_extents(what, c.what, c.there, c.here);
        c.start_ps = at_ps;
        dma_.in_flight_.add(at_ps, 1);
        c.slot = issued_++ % done_ps_.size();
        c.second = !what.has_tile && way_ == direction::write; // the one that leads to memory
        c.bytes.assign(nbytes, what.pattern);
        done_ps_[c.slot] = pending;
        free_ps_ = at_ps + tla_transfer_ps(nbytes, dma_.config_.bandwidth);
        j.issued++;
        j.under_way++;
        j.moved += nbytes;
        if (j.moved == what.row_bytes) {
            j.moved = 0;
            j.row++;
        }
        c.part.of = j.transaction.get();
        c.part.entered = false;
        c.times = c.part.times = nullptr;
        if (j.noted) {
            j.chunks.push_back(new_times(at_ps));
            c.times = c.part.times = &j.chunks.back();
        }
        if (c.part.of) tla_transaction_issue(c.part.of, j.row == what.rows);
        if (j.row == what.rows) finish_issuing(j);
        c.request.at_ps = at_ps;
        send(c);
        issue_next(at_ps);
    }

    void finish_issuing(dma_transfer &j) {
        j.all_issued = true;
        transfers_.pop_front();
    }

    // The first transaction of a read leads to memory, of a write to the TCM; the second the other way.
    void send(moving &c) {
        const bool to_memory = (way_ == direction::read) != c.second;
        tlm::tlm_generic_payload &p = c.payload;
        p.set_command(c.second ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
        p.set_address(to_memory ? c.what.va : c.what.tile);
        p.set_data_ptr(c.bytes.data());
        p.set_data_length(static_cast<unsigned>(c.bytes.size()));
        p.set_streaming_width(static_cast<unsigned>(c.bytes.size()));
        p.set_byte_enable_ptr(nullptr);
        p.set_dmi_allowed(false);
        p.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
        p.set_extension(&dma_.who(c.of->what, to_memory));
        if (dma_.config_.tell_extent) p.set_extension(to_memory ? &c.there : &c.here);
        if (to_memory && c.part.of) p.set_extension(&c.part);
        p.set_extension(to_memory ? c.of->what.token : nullptr);
        c.request.push([](void *self, in_order_request &r) { static_cast<moving *>(self)->owner->came_back(r); }, &c);
        (to_memory ? dma_.to_memory_ : dma_.to_tcm_).send(c.request);
    }

    void came_back(in_order_request &r) {
        moving &c = *static_cast<moving *>(r.pop().module);
        time_queue::of_simulation().come_to(dma_.inland_.island); // from wherever the chunk has been
        c.payload.give_back();                                    // the extensions are the engine's
        const bool ok = c.payload.is_response_ok();
        if (c.times && (way_ == direction::read) != c.second) c.times->returned_ps = r.at_ps;
        if (ok && !c.second && c.of->what.has_tile) {
            c.second = true;
            if (c.times && way_ == direction::write) c.times->sent_ps = r.at_ps;
            note_taken(*c.of, r.at_ps);
            send(c);
            return;
        }
        dma_transfer &j = *c.of;
        if (c.times) c.times->end_ps = r.at_ps;
        if (!j.over) kernel_stack::has_moved();
        c.part.answered(r.at_ps);
        j.end_ps = std::max(j.end_ps, r.at_ps);
        j.under_way--;
        done_ps_[c.slot] = r.at_ps;
        dma_.count(way_, ok, c.start_ps, r.at_ps, static_cast<std::uint32_t>(c.bytes.size()));
        chunks_->idle.push_back(&c);
        if (!ok && !j.status) fail(j, TLA_BUS_ERROR, r.at_ps);
        if (j.all_issued && j.under_way == 0) end(j);
        issue_next(time_queue::of_simulation().now_ps());
    }

    // No further chunk is issued.
    void fail(dma_transfer &j, tla_status status, std::uint64_t at_ps) {
        if (!j.status) j.status = status;
        if (j.transaction) tla_transaction_end(j.transaction.get(), at_ps);
        j.all_issued = true;
        transfers_.erase(std::remove(transfers_.begin(), transfers_.end(), &j), transfers_.end());
    }

    void end(dma_transfer &j) {
        j.done = true;
        time_queue &queue = time_queue::of_simulation();
        const std::uint64_t told_ps = std::max(j.end_ps, queue.now_ps());
        if (j.over)
            j.over({j.status, {j.chunks.begin(), j.chunks.end()}}, told_ps);
        else
            queue.notify(finished_, told_ps);
        if (j.abandoned || j.over) forget(j);
        dma_.may_be_idle();
    }

    // A chunk of a write has been read out of the TCM.
    void note_taken(dma_transfer &j, std::uint64_t at_ps) {
        if (way_ == direction::read || !j.what.taken) return;
        j.taken++;
        j.taken_ps = std::max(j.taken_ps, at_ps);
        if (j.all_issued && j.taken == j.issued && !j.status) j.what.taken(j.taken_ps);
    }

    void forget(const dma_transfer &over) {
        all_transfers_.remove_if([&over](const dma_transfer &j) { return &j == &over; });
    }

    moving &new_chunk() {
        if (chunks_->idle.empty()) {
            moving &made = chunks_->all.emplace_back();
            made.request.payload = &made.payload;
            chunks_->idle.push_back(&made);
        }
        moving &c = *chunks_->idle.back();
        chunks_->idle.pop_back();
        c.owner = this;
        return c;
    }

    pe_dma &dma_;
    const direction way_;
    shared_resource resource_;
    std::list<dma_transfer> all_transfers_;
    std::deque<dma_transfer *> transfers_; // started, not issued to the end
    std::vector<std::uint64_t> done_ps_;   // of the last `outstanding` chunks
    std::uint64_t issued_ = 0, free_ps_ = 0;
    bool issuing_ = false; // the issue of the next chunk is posted
    const std::shared_ptr<chunk_pool> chunks_ = chunk_pool::common();
    sc_core::sc_event finished_;
};

} // namespace tlmalloc
#endif
