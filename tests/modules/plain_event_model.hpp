// The order of time, slow and obviously right: one sorted list of events, for what the modules do.
//
// Nothing here is shared with the library but the tie rule (time, resource, input port, order of posting) and, where
// banks are modelled, the timing core.
#ifndef TLMALLOC_TESTS_MODULES_PLAIN_EVENT_MODEL_HPP
#define TLMALLOC_TESTS_MODULES_PLAIN_EVENT_MODEL_HPP

#include <algorithm>
#include <array>
#include <cstdint>
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
            const picoseconds time = std::get<0>(first->first);
            const auto what = std::move(first->second);
            list_.erase(first);
            what(time);
        }
    }

  private:
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

// Channels that are interleaved by burst, each a server.
struct channels {
    unsigned resource;
    std::uint64_t burst, bandwidth;
    picoseconds latency;
    std::vector<server> channel;

    void access(events &e, std::uint64_t offset, std::uint64_t nbytes, picoseconds time, arrived done,
                unsigned port = 0) {
        e.at(time + latency, resource, port, [=](picoseconds arrival) {
            picoseconds end = 0;
            for (std::uint64_t b = offset / burst; b <= (offset + nbytes - 1) / burst; b++) {
                const picoseconds duration = bytes_at(burst, bandwidth);
                end = std::max(end, channel[b % channel.size()].serve(arrival, duration) + duration);
            }
            done(end);
        });
    }
};

// What of a transfer goes to one target.
struct stretch {
    enum { unasked, asking, asked } request = unasked;
    bool data_left[2] = {false, false}; // there, back
    picoseconds request_there = 0, latest = 0;
    std::uint64_t accesses = 0, under_way = 0;
    std::vector<std::pair<picoseconds, arrived>> followers;
    struct held {
        std::uint64_t messages = 0;
        std::vector<std::function<void(picoseconds)>> flits;
    };
    std::map<std::pair<unsigned, bool>, held> stored;
};

// A transfer of fewer accesses than its initiator may have under way.
struct transaction {
    std::uint64_t issued = 0, entered = 0;
    bool all_issued = false;
    std::map<unsigned, stretch> to;
};

// A DMA channel: issues chunks at its bandwidth, `outstanding` at most on their way; transfers one after the other.
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

    dma(events &e, unsigned resource, std::uint64_t chunk, std::uint64_t bandwidth, std::size_t outstanding, move m)
        : e_(e), resource_(resource), chunk_(chunk), bandwidth_(bandwidth), done_(outstanding, 0), move_(std::move(m)) {
    }

    void transfer(const rectangle &what, picoseconds start, arrived done) {
        e_.at(start, resource_, 0, [=](picoseconds time) {
            what_ = what;
            of_ = std::make_shared<transaction>();
            row_ = moved_ = 0;
            end_ = time;
            finished_ = done;
            next(time);
        });
    }

  private:
    bool all_issued() const { return row_ == what_.rows; }

    void next(picoseconds time) {
        if (posted_ || all_issued() || done_[count_ % done_.size()] == never) return;
        posted_ = true;
        e_.at(std::max({time, free_, done_[count_ % done_.size()]}), resource_, 1, [=](picoseconds at) {
            posted_ = false;
            const std::uint64_t va = what_.va + row_ * what_.pitch + moved_,
                                tile = what_.tile + row_ * what_.row_bytes + moved_;
            const std::uint64_t nbytes = std::min(chunk_ - va % chunk_, what_.row_bytes - moved_);
            const std::size_t slot = count_++ % done_.size();
            done_[slot] = never;
            free_ = at + bytes_at(nbytes, bandwidth_);
            under_way_++;
            moved_ += nbytes;
            if (moved_ == what_.row_bytes) {
                row_++;
                moved_ = 0;
            }
            now_ = at;
            of_->issued++;
            of_->all_issued = all_issued();
            move_({va, tile, nbytes, of_}, at, [=](picoseconds end) {
                done_[slot] = end;
                end_ = std::max(end_, end);
                if (--under_way_ == 0 && all_issued()) finished_(end_);
                next(now_);
            });
            next(at);
        });
    }

    static constexpr picoseconds never = ~picoseconds{0};
    events &e_;
    const unsigned resource_;
    const std::uint64_t chunk_, bandwidth_;
    std::vector<picoseconds> done_;
    const move move_;
    rectangle what_{};
    std::shared_ptr<transaction> of_;
    std::uint64_t row_ = 0, moved_ = 0, count_ = 0, under_way_ = 0;
    picoseconds free_ = 0, end_ = 0, now_ = 0;
    bool posted_ = false;
    arrived finished_;
};

} // namespace plain
#endif
