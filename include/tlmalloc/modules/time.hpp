// Converts between the core's picoseconds and the kernel's sc_time.
#ifndef TLMALLOC_MODULES_TIME_HPP
#define TLMALLOC_MODULES_TIME_HPP

#include "tlmalloc/modules/systemc.hpp"

#include <cstdint>

namespace tlmalloc {

// SystemC's default resolution is 1 ps, which the modules require (see require_ps_resolution).
inline sc_core::sc_time from_ps(std::uint64_t ps) {
    return sc_core::sc_time::from_value(ps);
}
inline std::uint64_t to_ps(const sc_core::sc_time &time) {
    return time.value();
}

// Local time of a loosely timed call: kernel time plus the annotated delay.
inline std::uint64_t local_ps(const sc_core::sc_time &delay) {
    return to_ps(sc_core::sc_time_stamp() + delay);
}

// Sets delay so that the local time is at_ps, which must not lie before the kernel's.
inline void set_local_ps(sc_core::sc_time &delay, std::uint64_t at_ps) {
    delay = from_ps(at_ps) - sc_core::sc_time_stamp();
}

// Waits until the kernel's time is the local time; then delay is zero. Call it from a thread.
inline void catch_up_with(sc_core::sc_time &delay) {
    if (delay > sc_core::SC_ZERO_TIME) sc_core::wait(delay);
    delay = sc_core::SC_ZERO_TIME;
}

// Later accesses are rejected, so that 64 bits can hold every time after an access. Half of their range: 106 days.
constexpr std::uint64_t end_of_accesses_ps = std::uint64_t{1} << 63;

// Rejects an access that is made at now_ps and arrives after the end: answers the payload, and returns true.
inline bool refuse_behind_end(std::uint64_t now_ps, tlm::tlm_generic_payload &payload, const sc_core::sc_time &delay) {
    const std::uint64_t ahead_ps = to_ps(delay);
    if (ahead_ps <= end_of_accesses_ps && now_ps <= end_of_accesses_ps - ahead_ps) return false;
    payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
    return true;
}

// Reports /tlmalloc/time/resolution as an error unless the time resolution is 1 ps.
void require_ps_resolution();

} // namespace tlmalloc
#endif
