// Initiator sockets that may stay unbound, or lead to many targets, and are still of the type by which other frameworks
// find sockets: tlm_base_initiator_socket with its default arguments.
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

// What a socket of TLM's is bound to where it must be and nobody is there. Nobody calls it.
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

// A socket of 32 bits (Socket). A target of another width cannot be bound: says so when somebody tries.
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

// For one target: that of tlm_utils.
template <typename Module>
using initiator_socket = narrow_initiator_socket<tlm_utils::simple_initiator_socket<Module>>;

// One of the sockets of tlm_utils for one target (Simple), which may stay unbound: size() is 0 then.
template <typename Simple>
class optional_initiator_socket : public narrow_initiator_socket<Simple> {
  public:
    using narrow_initiator_socket<Simple>::narrow_initiator_socket;

    int size() const { return unbound_ ? 0 : Simple::size(); } // from the end of elaboration on

  private:
    void before_end_of_elaboration() override {
        Simple::before_end_of_elaboration();
        unbound_ = this->bind_count() == 0;
        if (unbound_) static_cast<sc_core::sc_port_b<tlm::tlm_fw_transport_if<>> &>(*this).bind(nobody_);
    }

    bool unbound_ = false;
    no_target nobody_;
};

// A socket that leads to one target or more, numbered in the order of their binding; all of them loosely timed.
class multi_initiator_socket : public narrow_initiator_socket<tlm::tlm_initiator_socket<32>> {
    using base = narrow_initiator_socket<tlm::tlm_initiator_socket<32>>;

  public:
    // A target withdraws DMI pointers to its [first, last].
    using withdraw_function = std::function<void(int target, std::uint64_t first, std::uint64_t last)>;

    multi_initiator_socket(const char *name, withdraw_function withdrawn)
        : base(name), withdrawn_(std::move(withdrawn)),
          targets_(sc_core::sc_gen_unique_name((std::string(name) + "_port").c_str())) {
        entries_.emplace_back(*this, 0); // an outer socket leads here
        m_export.bind(entries_.front());
        static_cast<sc_core::sc_port_b<tlm::tlm_fw_transport_if<>> &>(*this).bind(nobody_);
    }

    // From the end of elaboration on.
    int size() const { return targets_.size(); }
    tlm::tlm_fw_transport_if<> *operator[](int target) { return targets_[target]; }

    sc_core::sc_port_b<tlm::tlm_fw_transport_if<>> &get_base_port() override { return targets_; }
    const sc_core::sc_port_b<tlm::tlm_fw_transport_if<>> &get_base_port() const override { return targets_; }

    // Asked for once by every target that is bound.
    tlm::tlm_bw_transport_if<> &get_base_interface() override {
        if (bound_ == entries_.size()) entries_.emplace_back(*this, static_cast<int>(bound_));
        return entries_[bound_++];
    }
    const tlm::tlm_bw_transport_if<> &get_base_interface() const override { return entries_.front(); }

  private:
    // What one target is bound to.
    struct entry final : tlm::tlm_bw_transport_if<> {
        entry(multi_initiator_socket &of, int number) : socket(of), target(number) {}

        tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload &, tlm::tlm_phase &, sc_core::sc_time &) override {
            return tlm::TLM_ACCEPTED; // nothing has been sent
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
