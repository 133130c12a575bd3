// The mappings of an MMU for the plain event model: which page leads where at which time, and the engine that serves
// MAP, UNMAP and INVALIDATE.
//
// The rule: a command is decided when it arrives, and its change is visible when the engine has served it. An access
// sees the changes that are visible at its time.
#ifndef TLMALLOC_TESTS_MODULES_PLAIN_MAPPINGS_HPP
#define TLMALLOC_TESTS_MODULES_PLAIN_MAPPINGS_HPP

#include "plain_event_model.hpp"

#include <deque>

namespace plain {

constexpr picoseconds never = ~picoseconds{0}, not_said = never - 1; // not_said: of a change that is being made

// What a lookup of a page finds.
struct translation {
    bool mapped = false;
    std::uint64_t pa = 0;               // of the page's first byte
    bool reads = false, writes = false; // what it permits

    bool permits(bool write) const { return mapped && (write ? writes : reads); }
    bool operator!=(const translation &other) const {
        return mapped != other.mapped || pa != other.pa || reads != other.reads || writes != other.writes;
    }
};

class mappings {
  public:
    struct change {
        picoseconds visible;
        translation to;
    };

    // Visible at a time.
    translation at(std::uint64_t page, picoseconds time) const {
        translation found;
        for (const change &c : of(page))
            if (c.visible <= time) found = c.to;
        return found;
    }
    // Decided so far, visible or not.
    translation latest(std::uint64_t page) const { return at(page, never); }

    // When the next change after `time` that is decided already will be visible.
    picoseconds holds_until(std::uint64_t page, picoseconds time) const {
        for (const change &c : of(page))
            if (c.visible > time) return c.visible;
        return never;
    }
    // What has been decided can be seen from now on said.
    void show(picoseconds visible) {
        for (auto &[page, changes] : pages_)
            for (change &c : changes)
                if (c.visible == not_said) c.visible = visible;
    }
    void set(std::uint64_t page, const translation &to, picoseconds visible) { pages_[page].push_back({visible, to}); }

  private:
    const std::vector<change> &of(std::uint64_t page) const {
        static const std::vector<change> none;
        const auto found = pages_.find(page);
        return found == pages_.end() ? none : found->second;
    }
    std::map<std::uint64_t, std::vector<change>> pages_; // in the order of `visible`: the engine serves in order
};

// A queue of limited depth in front of an engine that serves one command at a time.
class command_engine {
  public:
    explicit command_engine(std::size_t depth) : depth_(depth) {}
    struct service {
        picoseconds accepted, done;
    };
    service serve(picoseconds arrival, picoseconds takes) {
        service s{arrival, 0};
        if (starts_.size() == depth_) { // the oldest of those that may wait has started then
            s.accepted = std::max(arrival, starts_.front());
            starts_.pop_front();
        }
        const picoseconds start = std::max(s.accepted, free_);
        starts_.push_back(start);
        s.done = free_ = start + takes;
        return s;
    }

  private:
    const std::size_t depth_;
    std::deque<picoseconds> starts_; // of the latest commands
    picoseconds free_ = 0;
};

} // namespace plain
#endif
