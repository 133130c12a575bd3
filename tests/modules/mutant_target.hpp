// A memory with one planted fault: what the conformance battery must catch.
#ifndef TLMALLOC_TESTS_MODULES_MUTANT_TARGET_HPP
#define TLMALLOC_TESTS_MODULES_MUTANT_TARGET_HPP

#include "tlmalloc/modules/target_socket.hpp"

#include <array>
#include <cstring>
#include <string>
#include <systemc>
#include <tlm>
#include <tlm_utils/simple_target_socket.h>

namespace tlmalloc::testing {

// `fault` is the name of the rule that is broken; "" breaks none.
class mutant_target : public sc_core::sc_module {
  public:
    static constexpr std::uint64_t size = 4096;

    tlm_utils::simple_target_socket<mutant_target> in{"in"};

    mutant_target(sc_core::sc_module_name name, std::string fault)
        : sc_module(name), fault_(std::move(fault)),
          at_(
              "in", 16,
              [this](int, auto &payload, auto &delay) {
                  if (is("A9")) payload.set_extension(&left_behind_);
                  if (is("A12") && payload.is_write()) sc_core::wait(sc_core::sc_time(50, sc_core::SC_NS));
                  serve(payload, delay, is("A11") ? other_bytes_ : bytes_);
              },
              [this](int, auto &payload, auto &phase, auto &delay) { return backward(payload, phase, delay); }) {
        in.register_b_transport(this, &mutant_target::b_transport);
        in.register_nb_transport_fw(this, &mutant_target::nb_transport_fw);
        in.register_transport_dbg(this, &mutant_target::transport_dbg);
        in.register_get_direct_mem_ptr(this, &mutant_target::get_direct_mem_ptr);
    }

    // What should withdraw DMI.
    void withdraw() {
        if (!is("D5")) in->invalidate_direct_mem_ptr(0, 255);
    }

  private:
    struct left_behind : tlm::tlm_extension<left_behind> {
        tlm::tlm_extension_base *clone() const override { return nullptr; }
        void copy_from(const tlm::tlm_extension_base &) override {}
        void free() override {} // a member of the target
    };
    using memory = std::array<std::uint8_t, size>;

    bool is(const char *rule) const { return fault_ == rule; }

    tlm::tlm_response_status check(const tlm::tlm_generic_payload &p) const {
        const std::uint64_t address = p.get_address(), length = p.get_data_length();
        if (length == 0) return is("T7") ? tlm::TLM_OK_RESPONSE : tlm::TLM_BURST_ERROR_RESPONSE;
        if (p.get_streaming_width() == 0) return is("T6.zero") ? tlm::TLM_OK_RESPONSE : tlm::TLM_BURST_ERROR_RESPONSE;
        if (p.get_byte_enable_ptr() && p.get_byte_enable_length() == 0)
            return is("T5.empty") ? tlm::TLM_OK_RESPONSE : tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE;
        if (is("T6.wide") && p.get_streaming_width() > length) return tlm::TLM_BURST_ERROR_RESPONSE;
        const std::uint64_t span = std::min<std::uint64_t>(p.get_streaming_width(), length);
        if (is("T3.last") && address + span == size) return tlm::TLM_ADDRESS_ERROR_RESPONSE;
        if (is("T3.end") && address < size) return tlm::TLM_OK_RESPONSE;
        if (is("T3.behind") && address == size) return tlm::TLM_OK_RESPONSE;
        if (is("T3.wrap") && address + span <= size) return tlm::TLM_OK_RESPONSE;
        return span <= size && address <= size - span ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE;
    }

    void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
        if (is("T9.delay")) delay = sc_core::SC_ZERO_TIME;
        if ((is("T12") && !payload.has_mm()) || (is("A13") && under_way_ > 0)) {
            payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
            return;
        }
        if (is("T9.together")) { // what a call needs is kept in the module while it waits
            pending_ = payload.get_address();
            sc_core::wait(sc_core::sc_time(10, sc_core::SC_NS));
            const std::uint64_t address = payload.get_address();
            payload.set_address(pending_);
            serve(payload, delay, bytes_);
            payload.set_address(address);
            return;
        }
        serve(payload, delay, bytes_);
    }

    void serve(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay, memory &bytes) {
        delay += sc_core::sc_time(20, sc_core::SC_NS);
        const tlm::tlm_response_status status = check(payload);
        if (status != tlm::TLM_OK_RESPONSE) {
            if (is("T1")) return;
            if (is("T2.untouched")) std::memset(payload.get_data_ptr(), 0, payload.get_data_length());
            payload.set_response_status(status);
            return;
        }
        payload.set_response_status(tlm::TLM_OK_RESPONSE);
        if (is("T10"))
            for (unsigned i = 0; i < tlm::max_num_extensions(); i++)
                if (payload.get_extension(i)) payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
        payload.set_dmi_allowed(true);
        const bool ignored = payload.get_command() == tlm::TLM_IGNORE_COMMAND;
        if (ignored && !is("T4")) return;
        if (is("T2.done") && payload.is_write()) return;
        move(payload, bytes);
        if (is("T8") && payload.is_write()) payload.get_data_ptr()[0] ^= 1;
    }

    void move(tlm::tlm_generic_payload &payload, memory &bytes) const {
        const std::uint8_t *enables = payload.get_byte_enable_ptr();
        const unsigned enable_length = payload.get_byte_enable_length();
        const unsigned width = is("T6.wrap") ? payload.get_data_length() : payload.get_streaming_width();
        for (unsigned i = 0; i < payload.get_data_length(); i++) {
            const unsigned e = is("T5.short") ? std::min(i, enable_length - 1) : enable_length ? i % enable_length : 0;
            bool enabled = !enables || !enable_length || enables[e] == TLM_BYTE_ENABLED;
            if (is("T5.write") && payload.is_write()) enabled = true;
            if (is("T5.long") && enable_length > payload.get_data_length()) enabled = true;
            std::uint8_t &byte = bytes[(payload.get_address() + i % width) % size];
            std::uint8_t &data = payload.get_data_ptr()[i];
            if (payload.is_write() && enabled)
                byte = data;
            else if (!payload.is_write())
                data = enabled ? byte : is("T5.read") ? std::uint8_t{0} : data;
        }
    }

    unsigned transport_dbg(tlm::tlm_generic_payload &payload) {
        const std::uint64_t address = payload.get_address(), length = payload.get_data_length();
        if (is("G1")) sc_core::wait(sc_core::sc_time(1, sc_core::SC_NS));
        if (length == 0 || length > size || address > size - length) {
            return is("G2") ? static_cast<unsigned>(length) : 0;
        }
        memory &bytes = is("G4") ? other_bytes_ : bytes_;
        for (std::uint64_t i = 0; i < length; i++) {
            if (is("G3") && payload.get_byte_enable_ptr() && !payload.get_byte_enable_ptr()[0]) continue;
            if (payload.is_read()) payload.get_data_ptr()[i] = bytes[address + i];
            if (payload.is_write()) bytes[address + i] = payload.get_data_ptr()[i];
        }
        return static_cast<unsigned>(length);
    }

    bool get_direct_mem_ptr(tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) {
        if (is("T11")) {
            dmi.init();
            return false;
        }
        if (is("D6")) payload.set_address(0);
        const bool inside = payload.get_address() < size;
        dmi.set_dmi_ptr(bytes_.data());
        dmi.set_start_address(inside || is("D3") ? 0 : size);
        dmi.set_end_address(inside || is("D3") ? (is("D1") ? size : size - 1) : UINT64_MAX);
        dmi.allow_read_write();
        const sc_core::sc_time latency(is("D2") ? 0 : 20, sc_core::SC_NS);
        if (!is("D4")) dmi.set_read_latency(latency);
        dmi.set_write_latency(latency);
        return inside;
    }

    tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase,
                                       sc_core::sc_time &delay) {
        if (is("A7")) sc_core::wait(sc_core::sc_time(1, sc_core::SC_NS));
        if (phase == tlm::BEGIN_REQ) {
            under_way_++;
            if (is("A5")) payload.acquire();
            sc_core::sc_time t = is("A4") || is("T9.delay") ? sc_core::SC_ZERO_TIME : delay;
            at_.nb_transport_fw(0, payload, phase, t);
            if (is("A3")) delay += sc_core::sc_time(1, sc_core::SC_NS);
            return tlm::TLM_ACCEPTED;
        }
        if (phase == tlm::END_RESP) {
            if (is("A2")) return tlm::TLM_COMPLETED;
            at_.nb_transport_fw(0, payload, phase, delay);
            return is("A6") ? tlm::TLM_ACCEPTED : tlm::TLM_COMPLETED;
        }
        if (is("A8")) SC_REPORT_ERROR("/mutant", "unknown phase");
        return tlm::TLM_ACCEPTED;
    }

    tlm::tlm_sync_enum backward(tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase, sc_core::sc_time &delay) {
        if (phase == tlm::BEGIN_RESP && is("A10") && ++responses_ % 50 == 0) return tlm::TLM_COMPLETED; // lost
        if (phase == tlm::BEGIN_RESP && is("A1")) { // END_REQ behind BEGIN_RESP
            const tlm::tlm_sync_enum answer = in->nb_transport_bw(payload, phase, delay);
            tlm::tlm_phase late = tlm::END_REQ;
            sc_core::sc_time t;
            in->nb_transport_bw(payload, late, t);
            return answer;
        }
        if (phase == tlm::END_REQ && is("A1")) return tlm::TLM_ACCEPTED;
        const bool response = phase == tlm::BEGIN_RESP;
        under_way_ -= response;
        const tlm::tlm_sync_enum answer = in->nb_transport_bw(payload, phase, delay);
        return response && is("A2") ? tlm::TLM_COMPLETED : answer; // does not wait for END_RESP
    }

    const std::string fault_;
    at_target at_;
    left_behind left_behind_;
    memory bytes_{}, other_bytes_{};
    std::uint64_t pending_ = 0;
    unsigned responses_ = 0, under_way_ = 0;
};

} // namespace tlmalloc::testing
#endif
