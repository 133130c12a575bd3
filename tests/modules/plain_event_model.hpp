// The order of time, slow and obviously right: one sorted list of events, for what the modules do.
//
// Nothing here is shared with the library but the tie rule (time, resource, input port, order of posting) and, where
// banks are modelled, the timing core.
#ifndef TLMALLOC_TESTS_MODULES_PLAIN_EVENT_MODEL_HPP
#define TLMALLOC_TESTS_MODULES_PLAIN_EVENT_MODEL_HPP

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

namespace plain {

using picoseconds = std::uint64_t;

class events {
  public:
    void at(picoseconds time, unsigned resource, unsigned port, std::function<void(picoseconds)> what) {
        list_.emplace(std::make_tuple(time, resource, port, posted_++), std::move(what));
    }
    void run() {
        while (!list_.empty()) {
            auto first = list_.begin();
            now_ = std::get<0>(first->first);
            const auto what = std::move(first->second);
            list_.erase(first);
            what(now_);
        }
    }

    picoseconds now() const { return now_; }

  private:
    picoseconds now_ = 0;
    std::map<std::tuple<picoseconds, unsigned, unsigned, std::uint64_t>, std::function<void(picoseconds)>> list_;
    std::uint64_t posted_ = 0;
};

inline picoseconds bytes_at(std::uint64_t nbytes, std::uint64_t bandwidth) { // rounded up
    const std::uint64_t in_tens = nbytes * 100'000'000'000u;                 // of tests: far below 2^64
    return (in_tens + bandwidth / 10 - 1) / (bandwidth / 10);
}

// Something that serves one at a time, in the order of arrival.
struct server {
    unsigned resource = 0;
    picoseconds free = 0;
    picoseconds serve(picoseconds arrival, picoseconds duration) { // start
        const picoseconds start = std::max(arrival, free);
        free = start + duration;
        return start;
    }
};

using arrived = std::function<void(picoseconds)>;

// Channels that are interleaved by burst, each a server. A channel takes `turn` longer for a burst in the other
// direction than the burst before; it begins with reads.
struct channels {
    unsigned resource;
    std::uint64_t burst, bandwidth; // 0: bursts take no time
    picoseconds latency;
    std::vector<server> channel;
    picoseconds turn = 0;
    std::vector<bool> writes{}; // of each channel: whether its latest burst was written

    void access(events &e, bool write, std::uint64_t offset, std::uint64_t nbytes, picoseconds time, arrived done,
                unsigned port = 0) {
        writes.resize(channel.size());
        e.at(time + latency, resource, port, [=](picoseconds arrival) {
            picoseconds end = 0;
            for (std::uint64_t b = offset / burst; b <= (offset + nbytes - 1) / burst; b++) {
                const std::size_t number = b % channel.size();
                const picoseconds duration =
                    (bandwidth ? bytes_at(burst, bandwidth) : 0) + (writes[number] != write ? turn : 0);
                writes[number] = write;
                end = std::max(end, channel[number].serve(arrival, duration) + duration);
            }
            done(end);
        });
    }
};

// What nodes that store and forward pass on together: accesses of a transfer to one target.
struct batch {
    bool complete = false; // none comes to it any more
    std::uint64_t accesses = 0;
    struct held {
        std::uint64_t messages = 0;
        bool goes = false;
        std::vector<std::function<void(picoseconds)>> flits;
    };
    std::map<unsigned, held> at; // by node
};

// What of a transfer goes to one target.
struct stretch {
    enum { unasked, asking, asked } request = unasked;
    bool data_left[2] = {false, false}; // there, back
    picoseconds request_there = 0, latest = 0;
    std::uint64_t under_way = 0;
    std::vector<std::pair<picoseconds, arrived>> followers;
    std::shared_ptr<batch> collecting; // that more may join
};

// A transfer. It has `most` accesses under way at most (fabric.h).
struct transaction {
    bool posted = false; // nobody waits for the acknowledgements of its writes
    std::uint64_t issued = 0, entered = 0;
    bool all_issued = false;
    std::uint64_t most = ~std::uint64_t{0}, limit = most; // limit: before one has come back
    std::uint64_t collected = 0;                          // accesses in batches that are not complete
    std::vector<std::function<void(picoseconds)>> completing;
    std::map<unsigned, stretch> to;

    void issue(bool last) {
        issued++;
        all_issued = last;
        limit = most;
    }
    // One that was issued does not enter; none is issued any more.
    void lose(picoseconds time) {
        issued--;
        look(time);
    }
    void end(picoseconds time) {
        all_issued = true;
        look(time);
    }
    // No more is issued before one of those under way has come back.
    void wait(std::uint64_t under_way, picoseconds time) {
        if (under_way == 0) return;
        limit = under_way;
        look(time);
    }
    void look(picoseconds time) {
        if (!(all_issued && entered >= issued) && collected < limit) return;
        collected = 0;
        const auto batches = std::move(completing);
        completing.clear();
        for (const auto &complete : batches)
            complete(time);
    }
};

// A DMA channel: issues chunks at its bandwidth, `outstanding` at most on their way. It takes transfers in the order in
// which they start; the chunks of one are issued when those of the one before have been.
class dma {
  public:
    struct piece {
        std::uint64_t va, tile, nbytes;
        std::shared_ptr<transaction> of; // the transfer
    };
    using move = std::function<void(const piece &, picoseconds, arrived)>;

    // Row r lies at va + r * pitch, and at tile + r * row_bytes.
    struct rectangle {
        std::uint64_t va, tile, rows, row_bytes, pitch;
    };

    // What starts at one time: transfers that a thread waits for, then those of message units, then the next chunk.
    enum turn : unsigned { of_thread, of_messages, next_chunk };

    dma(events &e, unsigned resource, std::uint64_t chunk, std::uint64_t bandwidth, std::size_t outstanding, move m)
        : e_(e), resource_(resource), chunk_(chunk), bandwidth_(bandwidth), done_(outstanding, 0), move_(std::move(m)) {
    }

    void transfer(const rectangle &what, picoseconds start, arrived done) {
        begin(what, start, std::move(done), of_thread, move_);
    }
    // One whose chunks go another way.
    void begin(const rectangle &what, picoseconds start, arrived done, turn as, move way) {
        const auto j = std::make_shared<job>();
        *j = {what, std::move(done), std::move(way), std::make_shared<transaction>()};
        j->of->most = j->of->limit = done_.size();
        e_.at(start, resource_, as, [=](picoseconds time) {
            j->end = time;
            jobs_.push_back(j);
            next();
        });
    }

  private:
    struct job {
        rectangle what;
        arrived finished;
        move way;
        std::shared_ptr<transaction> of;
        std::uint64_t row = 0, moved = 0, under_way = 0;
        picoseconds end = 0;
    };

    void next() {
        if (posted_ || jobs_.empty()) return;
        if (const job &j = *jobs_.front(); done_[count_ % done_.size()] == never) {
            if (j.of->issued >= done_.size()) j.of->wait(j.under_way, e_.now()); // for one of its own
            return;
        }
        posted_ = true;
        e_.at(std::max({e_.now(), free_, done_[count_ % done_.size()]}), resource_, next_chunk, [=](picoseconds at) {
            posted_ = false;
            const std::shared_ptr<job> j = jobs_.front();
            const rectangle &what = j->what;
            const std::uint64_t va = what.va + j->row * what.pitch + j->moved,
                                tile = what.tile + j->row * what.row_bytes + j->moved;
            const std::uint64_t nbytes = std::min(chunk_ - va % chunk_, what.row_bytes - j->moved);
            const std::size_t slot = count_++ % done_.size();
            done_[slot] = never;
            free_ = at + bytes_at(nbytes, bandwidth_);
            j->under_way++;
            j->moved += nbytes;
            if (j->moved == what.row_bytes) {
                j->row++;
                j->moved = 0;
            }
            j->of->issue(j->row == what.rows);
            if (j->of->all_issued) jobs_.pop_front();
            j->way({va, tile, nbytes, j->of}, at, [=](picoseconds end) {
                done_[slot] = end;
                j->end = std::max(j->end, end);
                if (--j->under_way == 0 && j->of->all_issued) j->finished(j->end);
                next();
            });
            next();
        });
    }

    static constexpr picoseconds never = ~picoseconds{0};
    events &e_;
    const unsigned resource_;
    const std::uint64_t chunk_, bandwidth_;
    std::vector<picoseconds> done_;
    const move move_;
    std::deque<std::shared_ptr<job>> jobs_; // that have chunks left to issue
    std::uint64_t count_ = 0;
    picoseconds free_ = 0;
    bool posted_ = false;
};

} // namespace plain
#endif
