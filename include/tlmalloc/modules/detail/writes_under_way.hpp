// Which bytes writes will still change that have been sent and have not arrived: for what must not overtake them.
#ifndef TLMALLOC_MODULES_DETAIL_WRITES_UNDER_WAY_HPP
#define TLMALLOC_MODULES_DETAIL_WRITES_UNDER_WAY_HPP

#include "tlmalloc/modules/detail/in_order.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace tlmalloc {

// Of one initiator, in the order of sending. Mostly few, and the first to be sent is mostly the first to arrive.
class writes_under_way {
  public:
    void add(const in_order_request &write) {
        const auto [first, last] = bytes_of(*write.payload);
        all_.push_back({&write, first, last});
    }

    void arrived(const in_order_request &write) {
        all_.erase(std::find_if(all_.begin(), all_.end(), [&](const entry &e) { return e.write == &write; }));
    }

    // The latest that touches bytes of the payload; null: none.
    const in_order_request *before(const tlm::tlm_generic_payload &payload) const {
        if (all_.empty()) return nullptr;
        const auto [first, last] = bytes_of(payload);
        for (auto e = all_.rbegin(); e != all_.rend(); ++e)
            if (e->first <= last && first <= e->last) return e->write;
        return nullptr;
    }

  private:
    struct entry {
        const in_order_request *write;
        std::uint64_t first, last;
    };

    static std::pair<std::uint64_t, std::uint64_t> bytes_of(const tlm::tlm_generic_payload &payload) {
        const std::uint64_t span = std::min(payload.get_streaming_width(), payload.get_data_length());
        return {payload.get_address(), payload.get_address() + (std::max<std::uint64_t>(span, 1) - 1)};
    }

    std::vector<entry> all_;
};

} // namespace tlmalloc
#endif
