// Initiator sockets that may stay unbound, or lead to many targets. Other frameworks still find them by their type:
// tlm_base_initiator_socket with its default arguments.
#ifndef TLMALLOC_MODULES_INITIATOR_SOCKET_HPP
#define TLMALLOC_MODULES_INITIATOR_SOCKET_HPP

#include "tlmalloc/modules/systemc.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <tlm_utils/simple_initiator_socket.h>
#include <utility>

namespace tlmalloc {

// The target of a TLM socket that must be bound and has no other target. No initiator calls it.
class no_target final : public tlm::tlm_fw_transport_if<> {
    void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &) override {
        payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    }
    tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload &payload, tlm::tlm_phase &,
                                       sc_core::sc_time &) override {
        payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
        return tlm::TLM_COMPLETED;
    }
    bool get_direct_mem_ptr(tlm::tlm_generic_payload &, tlm::tlm_dmi &dmi) override {
        dmi.init();
        dmi.allow_read_write();
        return false;
    }
    unsigned transport_dbg(tlm::tlm_generic_payload &) override { return 0; }
};

// A socket of 32 bits (Socket). Binding a target of another width is a compile-time error, which says what to do.
template <typename Socket>
class narrow_initiator_socket : public Socket {
  public:
    using Socket::Socket;

    using Socket::bind;
    template <unsigned bits>
    void bind(tlm::tlm_base_target_socket_b<bits> &) {
        static_assert(bits == 32, "the sockets of tlmalloc are 32 bits wide: connect a tlmalloc::width_adapter<32, 64> "
                                  "(with the width of your socket instead of 64) between the two");
    }
    template <typename To>
    void operator()(To &to) {
        bind(to);
    }
};

// The tlm_utils socket for one target.
template <typename Module>
using initiator_socket = narrow_initiator_socket<tlm_utils::simple_initiator_socket<Module>>;

// A tlm_utils socket for one target (Simple), which may stay unbound: size() is then 0.
template <typename Simple>
class optional_initiator_socket : public narrow_initiator_socket<Simple> {
  public:
    using narrow_initiator_socket<Simple>::narrow_initiator_socket;

    int size() const { return unbound_ ? 0 : Simple::size(); } // valid from the end of elaboration on

  private:
    void before_end_of_elaboration() override {
        Simple::before_end_of_elaboration();
        unbound_ = this->bind_count() == 0;
        if (unbound_) static_cast<sc_core::sc_port_b<tlm::tlm_fw_transport_if<>> &>(*this).bind(nobody_);
    }

    bool unbound_ = false;
    no_target nobody_;
};

// A socket that leads to one or more targets, numbered in the order of their binding. All targets are loosely timed.
class multi_initiator_socket : public narrow_initiator_socket<tlm::tlm_initiator_socket<32>> {
    using base = narrow_initiator_socket<tlm::tlm_initiator_socket<32>>;

  public:
    // Called when a target withdraws DMI pointers to its [first, last].
    using withdraw_function = std::function<void(int target, std::uint64_t first, std::uint64_t last)>;

    multi_initiator_socket(const char *name, withdraw_function withdrawn)
        : base(name), withdrawn_(std::move(withdrawn)),
          targets_(sc_core::sc_gen_unique_name((std::string(name) + "_port").c_str())) {
        entries_.emplace_back(*this, 0); // an outer socket leads here
        m_export.bind(entries_.front());
        static_cast<sc_core::sc_port_b<tlm::tlm_fw_transport_if<>> &>(*this).bind(nobody_);
    }

    // Valid from the end of elaboration on.
    int size() const { return targets_.size(); }
    tlm::tlm_fw_transport_if<> *operator[](int target) { return targets_[target]; }

    sc_core::sc_port_b<tlm::tlm_fw_transport_if<>> &get_base_port() override { return targets_; }
    const sc_core::sc_port_b<tlm::tlm_fw_transport_if<>> &get_base_port() const override { return targets_; }

    // Every target that is bound calls this once.
    tlm::tlm_bw_transport_if<> &get_base_interface() override {
        if (bound_ == entries_.size()) entries_.emplace_back(*this, static_cast<int>(bound_));
        return entries_[bound_++];
    }
    const tlm::tlm_bw_transport_if<> &get_base_interface() const override { return entries_.front(); }

  private:
    // The interface to which one target is bound.
    struct entry final : tlm::tlm_bw_transport_if<> {
        entry(multi_initiator_socket &of, int number) : socket(of), target(number) {}

        tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload &, tlm::tlm_phase &, sc_core::sc_time &) override {
            return tlm::TLM_ACCEPTED; // the socket has sent nothing
        }
        void invalidate_direct_mem_ptr(sc_dt::uint64 first, sc_dt::uint64 last) override {
            socket.withdrawn_(target, first, last);
        }

        multi_initiator_socket &socket;
        const int target;
    };

    const withdraw_function withdrawn_;
    no_target nobody_;
    sc_core::sc_port<tlm::tlm_fw_transport_if<>, 0> targets_;
    std::deque<entry> entries_;
    std::size_t bound_ = 0;
};

} // namespace tlmalloc
#endif
