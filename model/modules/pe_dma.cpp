// The DMA engine: chunks of a transfer, issued in time, each a read here and a write there.
#include "tlmalloc/modules/pe_dma.hpp"

#include "lent_payload.hpp"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <deque>
#include <list>
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

// What [first, first + nbytes) reaches around a part of it; nothing where the part does not lie in it.
transfer_extent around(std::uint64_t first, std::uint64_t nbytes, std::uint64_t part, std::uint64_t part_bytes) {
    const std::uint64_t before = part - first;
    if (before >= nbytes || part_bytes > nbytes - before) return {};
    return {before, nbytes - before - part_bytes};
}

tla_access_times new_times(std::uint64_t start_ps) {
    tla_access_times times{};
    times.start_ps = times.sent_ps = start_ps;
    times.link = times.memory = times.unit = TLA_TIME_NOWHERE;
    return times;
}

// Adds where the time of a transfer went.
void tell(const pe_dma::request &what, const std::vector<tla_access_times> &chunks, std::size_t window,
          std::uint64_t start_ps, std::uint64_t end_ps) {
    tla_time_chain_of_transfer(
        chunks.data(), chunks.size(), window, start_ps, end_ps,
        [](void *list, const tla_time_part *part) {
            static_cast<std::vector<tla_time_part> *>(list)->push_back(*part);
        },
        what.went);
}

} // namespace

// One direction in the exact style. Every chunk is a request of its own: it is made out of two transactions, the second
// of which begins when the first has come back.
class pe_dma::channel {
  public:
    channel(pe_dma &dma, direction way)
        : dma_(dma), way_(way), resource_(time_queue::of_simulation().new_resource()),
          done_ps_(dma.config_.outstanding, 0) {}

    // Moves everything from at_ps on, which becomes the time at which it was there; waits for it in the calling thread.
    // Of every chunk `chunks` gets what it has met; null: nobody wants to know.
    tla_status transfer(const request &what, std::uint64_t &at_ps, std::vector<tla_access_times> *chunks) {
        const job_in_hand hand(*this, what, at_ps, chunks != nullptr);
        job &mine = *hand.mine;
        const std::uint64_t asked_ps = at_ps;
        time_queue::of_simulation().post(
            at_ps, resource_, 0,
            [](void *context, std::uint64_t start_ps) {
                auto &started = *static_cast<job *>(context);
                started.begun = true;
                if (started.status == TLA_RESET) {
                    started.owner->end(started);
                    return;
                }
                started.owner->jobs_.push_back(&started);
                started.owner->leave_island(started.what, start_ps);
                started.owner->issue_next(start_ps);
            },
            &mine);
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

    // A reset: what is moving is moved to its end, the rest is not begun.
    void give_up() {
        const std::uint64_t now_ps = to_ps(sc_core::sc_time_stamp());
        for (auto next = all_jobs_.begin(); next != all_jobs_.end();) {
            job &j = *next++; // its end may forget it
            if (j.done) continue;
            fail(j, TLA_RESET, now_ps);
            if (!j.begun) continue; // ended when its time has come
            j.end_ps = std::max(j.end_ps, now_ps);
            if (j.under_way == 0) end(j);
        }
    }

    bool is_busy() const {
        return issuing_ || std::any_of(all_jobs_.begin(), all_jobs_.end(), [](const job &j) { return !j.done; });
    }

    void make_new() {
        std::fill(done_ps_.begin(), done_ps_.end(), 0);
        issued_ = free_ps_ = 0;
    }

  private:
    static constexpr std::uint64_t pending = UINT64_MAX;
    static constexpr std::uint64_t few_chunks = 4; // for which it is not worth while to leave an island

    struct job {
        channel *owner;
        const request what;
        const bool noted;     // what its chunks meet
        std::uint64_t end_ps; // so far
        transaction_ptr transaction;
        std::uint64_t row = 0, moved = 0;        // what is issued next
        std::uint64_t issued = 0, under_way = 0; // chunks
        std::uint64_t taken = 0, taken_ps = 0;   // of a write: read out of the TCM
        tla_status status = TLA_OK;              // so far
        bool begun = false, all_issued = false, done = false;
        bool abandoned = false;               // its thread has been killed or reset
        std::list<tla_access_times> chunks{}; // in the order of issue, where somebody wants to know
    };

    // The thread that waits for a job; when it goes earlier, the chunks that are under way still know the job.
    struct job_in_hand {
        job_in_hand(channel &owner, const request &what, std::uint64_t at_ps, bool noted)
            : mine(&owner.all_jobs_.emplace_back(
                  job{&owner, what, noted, at_ps, new_transaction(owner.done_ps_.size(), false)})) {}
        ~job_in_hand() {
            if (mine->done)
                mine->owner->forget(*mine);
            else
                mine->abandoned = true;
        }
        job_in_hand(const job_in_hand &) = delete;
        job_in_hand &operator=(const job_in_hand &) = delete;
        job *const mine;
    };

    struct moving { // a chunk that is on its way
        channel *owner;
        job *of;
        pe_dma::chunk what;
        transfer_extent there, here;
        transaction_part part;
        tla_access_times *times; // of the job, or null
        std::uint64_t start_ps;
        std::size_t slot;
        bool second; // of its two transactions
        in_order_request request;
        lent_payload payload;
        std::vector<std::uint8_t> bytes;
    };

    // A transfer begins that concerns nobody else: not before its last chunk can have ended.
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
        if (issuing_ || jobs_.empty()) return;
        if (done_ps_[issued_ % done_ps_.size()] == pending) {
            // It waits for a chunk of its own, or of a transfer before it, which has been issued to the end.
            const job &j = *jobs_.front();
            if (j.transaction && j.issued >= done_ps_.size())
                tla_transaction_wait(j.transaction.get(), j.under_way, now_ps);
            return;
        }
        issuing_ = true;
        time_queue::of_simulation().post(
            std::max({now_ps, free_ps_, done_ps_[issued_ % done_ps_.size()]}), resource_, 1,
            [](void *context, std::uint64_t at_ps) { static_cast<channel *>(context)->issue(at_ps); }, this);
    }

    void issue(std::uint64_t at_ps) {
        issuing_ = false;
        if (jobs_.empty()) { // the transfer has failed meanwhile
            dma_.may_be_idle();
            return;
        }
        job &j = *jobs_.front();
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

    void finish_issuing(job &j) {
        j.all_issued = true;
        jobs_.pop_front();
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
        p.set_extension(&dma_.who(c.of->what));
        if (dma_.config_.tell_extent) p.set_extension(to_memory ? &c.there : &c.here);
        if (to_memory && c.part.of) p.set_extension(&c.part);
        p.set_extension(to_memory ? c.of->what.token : nullptr);
        c.request.push([](void *self, in_order_request &r) { static_cast<moving *>(self)->owner->came_back(r); }, &c);
        (to_memory ? dma_.to_memory_ : dma_.to_tcm_).send(c.request);
    }

    void came_back(in_order_request &r) {
        moving &c = *static_cast<moving *>(r.pop().module);
        c.payload.clear_extension(&dma_.requester_); // the extensions are the engine's
        c.payload.clear_extension(&c.there);         // or `here`: the one of this type
        c.payload.clear_extension(&c.part);
        c.payload.clear_extension<message_token>();
        const bool ok = c.payload.is_response_ok();
        if (c.times && (way_ == direction::read) != c.second) c.times->returned_ps = r.at_ps;
        if (ok && !c.second && c.of->what.has_tile) {
            c.second = true;
            if (c.times && way_ == direction::write) c.times->sent_ps = r.at_ps;
            note_taken(*c.of, r.at_ps);
            send(c);
            return;
        }
        job &j = *c.of;
        if (c.times) c.times->end_ps = r.at_ps;
        c.part.answered(r.at_ps);
        j.end_ps = std::max(j.end_ps, r.at_ps);
        j.under_way--;
        done_ps_[c.slot] = r.at_ps;
        dma_.count(way_, ok, c.start_ps, r.at_ps, static_cast<std::uint32_t>(c.bytes.size()));
        idle_.push_back(&c);
        if (!ok && !j.status) fail(j, TLA_BUS_ERROR, r.at_ps);
        if (j.all_issued && j.under_way == 0) end(j);
        issue_next(time_queue::of_simulation().now_ps());
    }

    // No further chunk is issued.
    void fail(job &j, tla_status status, std::uint64_t at_ps) {
        if (!j.status) j.status = status;
        if (j.transaction) tla_transaction_end(j.transaction.get(), at_ps);
        j.all_issued = true;
        jobs_.erase(std::remove(jobs_.begin(), jobs_.end(), &j), jobs_.end());
    }

    void end(job &j) {
        j.done = true;
        time_queue &queue = time_queue::of_simulation();
        queue.notify(finished_, std::max(j.end_ps, queue.now_ps()));
        if (j.abandoned) forget(j);
        dma_.may_be_idle();
    }

    // A chunk of a write has been read out of the TCM.
    void note_taken(job &j, std::uint64_t at_ps) {
        if (way_ == direction::read || !j.what.taken) return;
        j.taken++;
        j.taken_ps = std::max(j.taken_ps, at_ps);
        if (j.all_issued && j.taken == j.issued && !j.status) j.what.taken(j.taken_ps);
    }

    void forget(const job &over) {
        all_jobs_.remove_if([&over](const job &j) { return &j == &over; });
    }

    moving &new_chunk() {
        if (idle_.empty()) {
            chunks_.emplace_back();
            chunks_.back().owner = this;
            chunks_.back().request.payload = &chunks_.back().payload;
            idle_.push_back(&chunks_.back());
        }
        moving &c = *idle_.back();
        idle_.pop_back();
        return c;
    }

    pe_dma &dma_;
    const direction way_;
    const std::uint32_t resource_;
    std::list<job> all_jobs_;
    std::deque<job *> jobs_;             // started, not issued to the end
    std::vector<std::uint64_t> done_ps_; // of the last `outstanding` chunks
    std::uint64_t issued_ = 0, free_ps_ = 0;
    bool issuing_ = false; // the issue of the next chunk is posted
    std::deque<moving> chunks_;
    std::vector<moving *> idle_;
    sc_core::sc_event finished_;
};

pe_dma::pe_dma(sc_core::sc_module_name name, const config &settings)
    : instrumented(name, "pe_dma"), config_(settings), requester_(settings.asid, settings.initiator),
      physical_(settings.asid, settings.initiator, true) {
    physical_.translated = true;
    if (settings.chunk == 0 || settings.bandwidth == 0 || settings.outstanding == 0)
        refuse_config("chunk, bandwidth and outstanding must be above 0");
    if (settings.style == time_style::fast) return;
    for (direction way : {direction::read, direction::write})
        channels_[way == direction::write] = std::make_unique<channel>(*this, way);
}

void pe_dma::start_of_simulation() {
    if (config_.style == time_style::fast) return;
    to_memory_.lead_to(*out.operator->());
    to_tcm_.lead_to(*local.operator->());
}

// Bytes of the chunk that begins at va: chunks end at multiples of their size.
std::uint32_t pe_dma::chunk_at(std::uint64_t va, std::uint64_t left) const {
    return static_cast<std::uint32_t>(std::min(config_.chunk - va % config_.chunk, left));
}

void pe_dma::begin_reset() {
    for (const auto &way : channels_)
        if (way) way->give_up();
}

bool pe_dma::is_busy() const {
    return std::any_of(std::begin(channels_), std::end(channels_),
                       [](const auto &way) { return way && way->is_busy(); });
}

void pe_dma::make_new() {
    for (tla_timeline &issue : issue_) {
        tla_timeline_destroy(&issue);
        issue = {};
    }
    for (const auto &way : channels_)
        if (way) way->make_new();
}

pe_dma::~pe_dma() {
    for (tla_timeline &issue : issue_)
        tla_timeline_destroy(&issue);
}

pe_dma::statistics pe_dma::get_statistics() const {
    time_queue::catch_up_all();
    statistics result = statistics_;
    for (const tla_timeline &issue : issue_) {
        const tla_order order = tla_timeline_order(&issue);
        tla_order_add(&result.order, &order);
    }
    return result;
}

std::vector<statistics_part> pe_dma::list_statistics() const {
    const statistics s = get_statistics();
    return {{{{"transfers", s.transfers, "transfers", "begun"},
              {"chunks", s.chunks, "chunks", "moved or failed"},
              {"bytes_read", s.bytes_read, "bytes", "from virtual memory to the TCM"},
              {"bytes_written", s.bytes_written, "bytes", "from the TCM to virtual memory"},
              {"errors", s.errors, "chunks", "answered with an error"},
              {"latency_ps", s.latency_ps, "ps", "from issue to end, sum over the chunks"}}}};
}

tla_status pe_dma::transfer(const request &what, sc_core::sc_time &delay) {
    const std::uint64_t start_ps = local_ps(delay);
    outcome how{};
    how.status = move(what, delay, what.went || ended ? &how.chunks : nullptr);
    if (ended) ended(what, start_ps, local_ps(delay), how);
    return how.status;
}

tla_status pe_dma::move(const request &what, sc_core::sc_time &delay, std::vector<tla_access_times> *chunks) {
    if (in_reset()) return TLA_RESET;
    statistics_.transfers++;
    const visit here(this);
    if (config_.style == time_style::exact) {
        if (what.rows == 0 || what.row_bytes == 0) return TLA_OK;
        std::uint64_t at_ps = local_ps(delay);
        const tla_status status = channels_[what.way == direction::write]->transfer(what, at_ps, chunks);
        set_local_ps(delay, at_ps);
        return status;
    }
    const std::uint64_t resets_before = resets();
    tla_timeline &issue = issue_[what.way == direction::write];
    std::uint64_t earliest = local_ps(delay), end = earliest, count = 0, taken_ps = earliest;
    const transaction_ptr transaction = new_transaction(config_.outstanding, false);
    std::vector<std::uint64_t> done(config_.outstanding, 0); // when the last `outstanding` chunks ended
    std::vector<std::uint8_t> buffer(config_.chunk);         // its own: whoever is accessed may wait
    for (std::uint64_t row = 0; row < what.rows; row++) {
        const std::uint64_t va = what.va.value + row * what.pitch, tile = what.tile.value + row * what.row_bytes;
        for (std::uint64_t moved = 0; moved < what.row_bytes;) {
            const std::uint32_t nbytes = chunk_at(va + moved, what.row_bytes - moved);
            const std::uint64_t slot_free = done[count % config_.outstanding];
            tla_timeline_forget(&issue, to_ps(sc_core::sc_time_stamp()));
            std::uint64_t at =
                tla_timeline_reserve(&issue, std::max(earliest, slot_free), tla_transfer_ps(nbytes, config_.bandwidth));
            const std::uint64_t now = to_ps(sc_core::sc_time_stamp());
            if (at > now + config_.quantum_ps) sc_core::wait(from_ps(at - now));
            at = std::max(at, to_ps(sc_core::sc_time_stamp()));
            if (resets() != resets_before) {
                set_local_ps(delay, std::max(end, to_ps(sc_core::sc_time_stamp())));
                return TLA_RESET;
            }
            transaction_part part(transaction.get());
            if (chunks) chunks->push_back(new_times(at));
            tla_access_times *const times = chunks ? &chunks->back() : nullptr;
            part.times = times;
            if (transaction)
                tla_transaction_issue(transaction.get(), row + 1 == what.rows && moved + nbytes == what.row_bytes);
            if (!move_chunk(what, {va + moved, tile + moved, nbytes}, buffer.data(), part, times, at, taken_ps)) {
                set_local_ps(delay, std::max(end, at));
                return TLA_BUS_ERROR;
            }
            if (times) times->end_ps = at;
            done[count++ % config_.outstanding] = at;
            end = std::max(end, at);
            moved += nbytes;
        }
    }
    set_local_ps(delay, std::max(end, to_ps(sc_core::sc_time_stamp())));
    if (what.went) tell(what, *chunks, config_.outstanding, earliest, local_ps(delay));
    if (what.taken) what.taken(taken_ps);
    return TLA_OK;
}

// Of which transfer a chunk is a part, in virtual memory and in the TCM.
void pe_dma::tell_extents(const request &transfer, const chunk &what, transfer_extent &there,
                          transfer_extent &here) const {
    there = around(transfer.va.value, reach(transfer.va.value, transfer.rows, transfer.row_bytes, transfer.pitch),
                   what.va, what.nbytes);
    here =
        around(transfer.tile.value, reach(transfer.tile.value, transfer.rows, transfer.row_bytes, transfer.row_bytes),
               what.tile, what.nbytes);
}

bool pe_dma::move_chunk(const request &transfer, const chunk &what, std::uint8_t *buffer, transaction_part &part,
                        tla_access_times *times, std::uint64_t &at_ps, std::uint64_t &taken_ps) {
    const std::uint64_t start = at_ps;
    in_flight_.add(start, 1);
    const direction way = transfer.way;
    const std::uint32_t nbytes = what.nbytes;
    transfer_extent there, here;
    if (config_.tell_extent) tell_extents(transfer, what, there, here);
    sc_core::sc_time delay;
    set_local_ps(delay, start);
    const auto move = [&](auto &socket, tlm::tlm_command command, std::uint64_t address, transfer_extent &extent) {
        return access(*socket.operator->(), command, address, buffer, nbytes, delay, &who(transfer),
                      config_.tell_extent ? &extent : nullptr, &socket == &out && part.of ? &part : nullptr,
                      &socket == &out ? transfer.token : nullptr);
    };
    if (!transfer.has_tile) std::fill_n(buffer, nbytes, transfer.pattern);
    const auto with_tcm = [&](tlm::tlm_command command) {
        return !transfer.has_tile || move(local, command, what.tile, here);
    };
    const auto take = [&] {
        const bool ok = with_tcm(tlm::TLM_READ_COMMAND);
        taken_ps = std::max(taken_ps, local_ps(delay));
        if (times) times->sent_ps = local_ps(delay);
        return ok;
    };
    const auto fetch = [&] {
        const bool ok = move(out, tlm::TLM_READ_COMMAND, what.va, there);
        if (times) times->returned_ps = local_ps(delay);
        return ok;
    };
    const bool ok = way == direction::read ? fetch() && with_tcm(tlm::TLM_WRITE_COMMAND)
                                           : take() && move(out, tlm::TLM_WRITE_COMMAND, what.va, there);
    at_ps = local_ps(delay);
    count(way, ok, start, at_ps, nbytes);
    return ok;
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
