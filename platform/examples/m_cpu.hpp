// An M_CPU that runs firmware: it is asked for memory of its cube, and drives the cube's memory controllers.
#ifndef M_CPU_HPP
#define M_CPU_HPP

#include "m_cpu_image.h"
#include "mailbox_device.hpp"

#include "platform/firmware/m_cpu.h"
#include "tlmalloc/base/phys_addr.h"
#include "tlmalloc/modules/riscv_core.hpp"

// A core with its memory, a mailbox, and a bus: what lies from M_CPU_PHYSICAL on leaves by `out`, at physical
// addresses, for a fabric that leads to the controllers. There the firmware writes descriptors, polls, and reads
// completions, word by word, as a host's driver does (port_client.h, which both are).
class m_cpu : public sc_core::sc_module {
  public:
    tlm_utils::simple_initiator_socket<m_cpu> out{"out"};

    // The firmware's cube: the physical address of the last byte of its HBM, and the bytes of a PE's slice. The first
    // request begins the firmware; if that fails (m_cpu.h), every request fails.
    m_cpu(sc_core::sc_module_name name, tla_paddr last_byte, std::uint64_t slice_bytes,
          const tlmalloc::riscv_core::config &settings = {})
        : sc_module(name), core("core", settings), last_byte_(last_byte), slice_bytes_(slice_bytes) {
        core.load(TLA_FIRMWARE_BASE, m_cpu_image, m_cpu_image_bytes);
        bus_.register_b_transport(this, &m_cpu::b_transport);
        core.out.bind(bus_);
        to_mailbox_.bind(mailbox_.in);
        core.interrupt.bind(line_);
        mailbox_.interrupt.bind(line_);
    }

    // From a thread, several at a time too: they wait for each other. The status is the controller's, or the firmware's
    // own (m_cpu.h).
    tla_status alloc(unsigned pe, std::uint64_t nbytes, tla_paddr &pa) {
        const tla_mailbox answer = ask(TLA_MAILBOX_TAKE, pe, nbytes);
        if (answer.answer_status == TLA_OK) pa.value = answer.answer_offset;
        return static_cast<tla_status>(answer.answer_status);
    }
    tla_status free(tla_paddr pa, std::uint64_t nbytes) {
        return static_cast<tla_status>(ask(TLA_MAILBOX_GIVE_BACK, pa.value, nbytes).answer_status);
    }

    tlmalloc::riscv_core core;

  private:
    tla_mailbox ask(tla_mailbox_operation operation, std::uint64_t offset, std::uint64_t size) {
        one_at_a_time_.lock();
        tla_mailbox answer{};
        if (!has_begun_) answer = mailbox_.ask(TLA_MAILBOX_BEGIN, last_byte_.value, slice_bytes_);
        has_begun_ = answer.answer_status == TLA_OK;
        if (has_begun_) answer = mailbox_.ask(operation, offset, size);
        one_at_a_time_.unlock();
        return answer;
    }

    void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
        const std::uint64_t address = payload.get_address();
        if (address < M_CPU_PHYSICAL) return to_mailbox_->b_transport(payload, delay);
        payload.set_address(address - M_CPU_PHYSICAL);
        out->b_transport(payload, delay);
        payload.set_address(address);
    }

    const tla_paddr last_byte_;
    const std::uint64_t slice_bytes_;
    bool has_begun_ = false;
    sc_core::sc_mutex one_at_a_time_;
    sc_core::sc_signal<bool, sc_core::SC_MANY_WRITERS> line_{"line"}; // the mailbox in its threads and in the core's
    mailbox_device mailbox_{"mailbox"};
    tlm_utils::simple_target_socket<m_cpu> bus_{"bus"};
    tlm_utils::simple_initiator_socket<m_cpu> to_mailbox_{"to_mailbox"};
};

#endif
