// The path of decisions about blocks to a platform's controllers, and the access to the bytes of blocks.
#ifndef TLMALLOC_PLATFORM_SERVING_COMMAND_PLATFORM_PORT_HPP
#define TLMALLOC_PLATFORM_SERVING_COMMAND_PLATFORM_PORT_HPP

#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/host_driver.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>

namespace tlmalloc {

constexpr unsigned port_beside = 5; // of controllers and MMUs: used by no other sender

// From beside the module, so that no way over the fabric is in a command's time. From a thread, which waits until it is
// done.
inline tla_status command_beside(forward_path target, const tla_command &command, tla_completion &completion) {
    constexpr std::uint64_t port = std::uint64_t{port_beside} * TLA_PORT_BYTES;
    sc_core::sc_time delay;
    const tla_status status = send_command(target, port, command, completion, delay);
    sc_core::wait(delay);
    return status;
}

// Allocates or releases memory, in a call of the host's driver where the platform has one.
inline tla_status command_in_driver(host_driver *driver, std::uint32_t sip, forward_path target,
                                    const tla_command &command, tla_completion &completion) {
    const auto send = [&] { return command_beside(target, command, completion); };
    const auto operation = command.opcode == TLA_OP_ALLOC ? TLA_HOST_DRIVER_ALLOC : TLA_HOST_DRIVER_FREE;
    return driver ? driver->call(sip, operation, send) : send();
}

// Waits until SIPs have done what an asynchronous driver has asked of them; what that took.
inline std::uint64_t wait_for_driver(const host_driver *driver, std::uint32_t sips) {
    std::uint64_t ready_ps = 0;
    for (std::uint32_t sip = 0; driver && sip < sips; sip++)
        ready_ps = std::max(ready_ps, driver->ready_ps(sip));
    const std::uint64_t now_ps = to_ps(sc_core::sc_time_stamp());
    if (ready_ps <= now_ps) return 0;
    sc_core::wait(from_ps(ready_ps - now_ps));
    return ready_ps - now_ps;
}

// In no time; whether all bytes could be accessed. At most 2^32 - 1 of them.
inline bool debug_access(forward_path target, tlm::tlm_command command, std::uint64_t pa, std::uint8_t *bytes,
                         std::uint64_t nbytes) {
    tlm::tlm_generic_payload payload;
    payload.set_command(command);
    payload.set_address(pa);
    payload.set_data_ptr(bytes);
    payload.set_data_length(static_cast<unsigned>(nbytes));
    payload.set_streaming_width(static_cast<unsigned>(nbytes));
    return target->transport_dbg(payload) == nbytes;
}

} // namespace tlmalloc
#endif
