// MMUs with demand paging for the plain event model: an access to an unmapped page waits until the host has answered
// and its mapping is visible. Who the host is, a test says.
#ifndef TLMALLOC_TESTS_MODULES_PLAIN_PAGING_HPP
#define TLMALLOC_TESTS_MODULES_PLAIN_PAGING_HPP

#include "mmu_scenarios.hpp"

#include <functional>
#include <memory>

namespace scenarios {

// An MMU in front of a memory.
class paging_mmu {
  public:
    struct settings {
        plain::mmu::settings how;
        std::uint64_t level_ps, latency_ps, patience_ps; // of a walk's level, of the memory, of a fault
        std::uint64_t map_ps;                            // of a MAP
    };
    struct asker { // an access that has asked the host
        plain::mmu::access_ptr of;
        std::uint64_t number; // of the page
        bool asked_again = false, waits = false;
        plain::picoseconds patience = 0;

        std::uint64_t first_byte() const { return std::max(number * page, of->first_byte); }
    };
    using asker_ptr = std::shared_ptr<asker>;

    // The host is asked at a time; it answers by answer().
    std::function<void(const asker_ptr &, plain::picoseconds)> ask;

    paging_mmu(plain::events &e, unsigned mmu_resource, const settings &s, plain_memory &memory)
        : e_(e), resource_(mmu_resource), s_(s), memory_(memory),
          mmu_(
              e, mmu_resource, s.how,
              [this](std::uint64_t, plain::picoseconds now, plain::arrived done) {
                  e_.at(now + 4 * s_.level_ps, resource_, 0, done);
              },
              &maps_) {
        mmu_.fault = [this](const plain::mmu::access_ptr &a, std::uint64_t number, plain::picoseconds time) {
            const auto asks = std::make_shared<asker>();
            asks->of = a;
            asks->number = number;
            ask(asks, time);
        };
    }

    void begin(memory_access &a, std::size_t number, plain::picoseconds now) {
        give_data(a, number);
        mmu_.translate(
            a.write, a.va, a.nbytes, now, false,
            [this, &a](plain::picoseconds at, const plain::mmu::translations &to) { memory_.serve(e_, a, at, to); });
    }

    void answer(const asker_ptr &asks, bool granted, plain::picoseconds now) {
        if (!granted) {
            mmu_.refuse(asks->of, now);
        } else if (maps_.at(asks->number, now).mapped) {
            mmu_.retry(asks->of, now);
        } else {
            asks->waits = true;
            asks->patience = now + s_.patience_ps;
            waiting_.push_back(asks);
            e_.at(asks->patience, resource_, 0, [=](plain::picoseconds at) { lose_patience(asks, at); });
            const plain::picoseconds visible = maps_.holds_until(asks->number, now);
            if (visible != plain::never) e_.at(visible, resource_, 0, [=](plain::picoseconds at) { look_again(at); });
        }
    }

    // Returns when that is visible.
    plain::picoseconds map(std::uint64_t number, std::uint64_t frame, plain::picoseconds now) {
        const plain::picoseconds visible = engine_.serve(now, s_.map_ps).done;
        mmu_.decided({number}, visible);
        maps_.set(number, {true, frame * page, true, true}, visible);
        e_.at(visible, resource_, 0, [=](plain::picoseconds at) { look_again(at); });
        return visible;
    }

  private:
    void look_again(plain::picoseconds now) {
        std::vector<asker_ptr> before;
        before.swap(waiting_);
        for (const asker_ptr &asks : before)
            if (maps_.at(asks->number, now).mapped) {
                asks->waits = false;
                mmu_.retry(asks->of, now);
            } else {
                waiting_.push_back(asks);
            }
    }
    // The host is asked once more.
    void lose_patience(const asker_ptr &asks, plain::picoseconds now) {
        if (!asks->waits || now < asks->patience) return;
        asks->waits = false;
        waiting_.erase(std::find(waiting_.begin(), waiting_.end(), asks));
        if (asks->asked_again) {
            mmu_.refuse(asks->of, now);
            return;
        }
        asks->asked_again = true;
        ask(asks, now);
    }

    plain::events &e_;
    const unsigned resource_;
    const settings s_;
    plain::mappings maps_;
    plain_memory &memory_;
    plain::command_engine engine_{16};
    plain::mmu mmu_;
    std::vector<asker_ptr> waiting_; // for a mapping that the host has promised
};

} // namespace scenarios
#endif
