// DMI that a module grants, declines, or forwards with another view of the addresses.
#include "dmi.hpp"

#include "tlmalloc/modules/time.hpp"

#include <algorithm>

namespace tlmalloc {

std::optional<byte_range> address_view::translate(const byte_range &target) const {
    const std::uint64_t first = std::max(target.first, from), last = std::min(target.last, from + (nbytes - 1));
    if (first > last) return std::nullopt;
    return byte_range{first - from + to, last - from + to};
}

void dmi_record::add(const byte_range &seen, std::uint64_t to) {
    forget(seen);
    stretches_.emplace(seen.first, stretch{seen.last, to});
}

void dmi_record::forget(const byte_range &seen) {
    auto at = stretches_.upper_bound(seen.first);
    if (at != stretches_.begin()) --at;
    while (at != stretches_.end() && at->first <= seen.last) {
        const auto [first, old] = *at;
        if (old.last < seen.first) {
            ++at;
            continue;
        }
        at = stretches_.erase(at);
        if (first < seen.first) stretches_.emplace(first, stretch{seen.first - 1, old.to});
        if (old.last > seen.last)
            at = stretches_.emplace(seen.last + 1, stretch{old.last, old.to + (seen.last + 1 - first)}).first;
    }
}

std::vector<byte_range> dmi_record::take(const byte_range &target) {
    std::vector<byte_range> lost;
    for (const auto &[first, s] : stretches_)
        if (const auto seen = address_view{s.to, s.last - first + 1, first}.translate(target)) lost.push_back(*seen);
    for (const byte_range &seen : lost)
        forget(seen);
    return lost;
}

void grant_dmi(tlm::tlm_dmi &dmi, std::uint8_t *memory, std::uint64_t size, std::uint64_t read_latency_ps,
               std::uint64_t write_latency_ps) {
    dmi.set_dmi_ptr(memory);
    dmi.set_start_address(0);
    dmi.set_end_address(size - 1);
    dmi.allow_read_write();
    dmi.set_read_latency(from_ps(read_latency_ps));
    dmi.set_write_latency(from_ps(write_latency_ps));
}

bool refuse_dmi(tlm::tlm_dmi &dmi, const byte_range &range) {
    dmi.init();
    dmi.set_start_address(range.first);
    dmi.set_end_address(range.last);
    dmi.allow_read_write(); // of a declined request: the kinds of access that are declined
    return false;
}

bool translate_dmi(tlm::tlm_dmi &dmi, bool granted, const address_view &view, std::uint64_t latency_ps) {
    const byte_range target{dmi.get_start_address(), dmi.get_end_address()};
    const std::optional<byte_range> seen = view.translate(target);
    if (!seen) return refuse_dmi(dmi, {view.to, view.to + (view.nbytes - 1)});
    if (granted && target.first < view.from) dmi.set_dmi_ptr(dmi.get_dmi_ptr() + (view.from - target.first));
    dmi.set_start_address(seen->first);
    dmi.set_end_address(seen->last);
    dmi.set_read_latency(dmi.get_read_latency() + from_ps(latency_ps));
    dmi.set_write_latency(dmi.get_write_latency() + from_ps(latency_ps));
    return granted;
}

} // namespace tlmalloc
