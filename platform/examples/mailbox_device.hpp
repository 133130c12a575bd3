// The mailbox through which firmware is asked (mailbox.h), as a device on its core's bus.
#ifndef MAILBOX_DEVICE_HPP
#define MAILBOX_DEVICE_HPP

#include "tlmalloc/modules/time.hpp"
#include "tlmalloc/riscv/mailbox.h"

#include <tlm_utils/simple_target_socket.h>

// `in` is the firmware's side, from TLA_MAILBOX_BASE on; `interrupt` is high while a request stands there.
class mailbox_device : public sc_core::sc_module {
  public:
    tlm_utils::simple_target_socket<mailbox_device> in{"in"};
    sc_core::sc_out<bool> interrupt{"interrupt"};
    std::uint64_t latency_ps = 0; // of an access

    explicit mailbox_device(sc_core::sc_module_name name) : sc_module(name) {
        in.register_b_transport(this, &mailbox_device::b_transport);
    }

    // Asks at once and waits for the answer, which is in the registers. From a thread, one at a time.
    const tla_mailbox &ask(tla_mailbox_operation operation, std::uint64_t offset, std::uint64_t size) {
        begin(operation, offset, size);
        wait(answered_);
        return mailbox_;
    }

    // Asks, and gives it up: for who resets the core.
    void begin(tla_mailbox_operation operation, std::uint64_t offset, std::uint64_t size) {
        mailbox_ = {operation, offset, size, 0, 0, false};
        interrupt.write(true);
    }
    void withdraw() { interrupt.write(false); }

    // When the last status was written.
    std::uint64_t answered_ps() const { return answered_ps_; }

  private:
    void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
        const tla_status status =
            tla_mailbox_access(&mailbox_, payload.get_address() - TLA_MAILBOX_BASE, payload.get_data_ptr(),
                               payload.get_data_length(), payload.is_write());
        payload.set_response_status(status ? tlm::TLM_ADDRESS_ERROR_RESPONSE : tlm::TLM_OK_RESPONSE);
        delay += tlmalloc::from_ps(latency_ps);
        if (status || !mailbox_.answered) return;
        answered_ps_ = tlmalloc::to_ps(sc_core::sc_time_stamp());
        interrupt.write(false);
        answered_.notify(sc_core::SC_ZERO_TIME);
    }

    tla_mailbox mailbox_{};
    std::uint64_t answered_ps_ = 0;
    sc_core::sc_event answered_;
};

#endif
