// One way to be a target: the socket that serves accesses in both coding styles and both styles of time.
#ifndef TLMALLOC_MODULES_TARGET_SOCKET_HPP
#define TLMALLOC_MODULES_TARGET_SOCKET_HPP

#include "tlmalloc/detail/at_target.hpp"
#include "tlmalloc/detail/in_order.hpp"
#include "tlmalloc/modules/systemc.hpp"

#include <cstdint>
#include <tlm_utils/multi_passthrough_target_socket.h>
#include <vector>

namespace tlmalloc {

// What a module does with the accesses that reach a socket of it.
class access_target {
  public:
    // As b_transport, from initiator `input` of the socket: answers the payload, and adds to the delay what that takes.
    virtual void serve(unsigned input, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) = 0;

    // As transport_dbg: how many bytes were moved. Takes no time.
    virtual unsigned debug(tlm::tlm_generic_payload &) { return 0; }

    // As get_direct_mem_ptr. Nothing is granted unless a module says so.
    virtual bool grant_dmi(unsigned input, tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi);

  protected:
    ~access_target() = default;
};

// Takes b_transport, the four phases (at_target.hpp), DMI and debug accesses for a module. At most `Initiators` may be
// bound (0: any number); they are numbered in the order of their binding. A plain tlm_target_socket of an outer module
// may be bound to it, for one initiator.
//
// Exact: after serve_in_order(), accesses go to that target as requests, in the order of their arrival; whoever calls
// b_transport waits for the answer.
template <unsigned Initiators = 1, sc_core::sc_port_policy Policy = sc_core::SC_ONE_OR_MORE_BOUND>
class target_socket
    : public tlm_utils::multi_passthrough_target_socket<target_socket<Initiators, Policy>, 32,
                                                        tlm::tlm_base_protocol_types, Initiators, Policy> {
    using base =
        tlm_utils::multi_passthrough_target_socket<target_socket, 32, tlm::tlm_base_protocol_types, Initiators, Policy>;

  public:
    // `outstanding`: approximately timed, accepted requests of an initiator without END_RESP; more wait for END_REQ.
    target_socket(const char *name, access_target &target, unsigned outstanding)
        : base(name), target_(target),
          at_(
              name, outstanding,
              [this](int input, auto &payload, auto &delay) { take_blocking(input, payload, delay); },
              [this](int input, auto &payload, auto &phase, auto &delay) {
                  return (*this)[input]->nb_transport_bw(payload, phase, delay);
              }) {
        this->register_b_transport(this, &target_socket::take_blocking);
        this->register_nb_transport_fw(this, &target_socket::take_phase);
        this->register_transport_dbg(this, &target_socket::take_debug);
        this->register_get_direct_mem_ptr(this, &target_socket::take_dmi);
    }
    ~target_socket() {
        if (in_order_) leave_in_order(*in_order_);
    }

    // Until the end of elaboration.
    void serve_in_order(in_order_target &target) { in_order_ = &target; }

    // Every initiator loses its pointers to [first, last].
    void withdraw_dmi(std::uint64_t first, std::uint64_t last) {
        for (tlm::tlm_bw_transport_if<> *initiator : this->m_sockets)
            initiator->invalidate_direct_mem_ptr(first, last);
    }

    tlm::tlm_fw_transport_if<> &get_base_interface() override {
        interfaces_.push_back(&base::get_base_interface());
        return *interfaces_.back();
    }
    const tlm::tlm_fw_transport_if<> &get_base_interface() const override { return base::get_base_interface(); }

    void end_of_elaboration() override {
        base::end_of_elaboration();
        if (interfaces_.empty()) serve_outer_socket();
        for (std::size_t i = 0; in_order_ && i < interfaces_.size(); i++)
            announce_in_order(*interfaces_[i], *in_order_, static_cast<unsigned>(i));
    }

  private:
    // A plain tlm_target_socket of an outer module is bound to this one: its initiator calls the first binder, which
    // a multi socket leaves alone then.
    void serve_outer_socket() {
        auto &binder = *this->m_binders.front();
        auto *const initiator = dynamic_cast<typename base::base_initiator_socket_type *>(binder.get_other_side());
        if (!initiator) return; // nobody is bound
        binder.set_callbacks(this->m_nb_f, this->m_b_f, this->m_dmi_f, this->m_dbg_f);
        this->m_sockets.push_back(&initiator->get_base_interface());
        interfaces_.push_back(&binder);
    }

    void take_blocking(int input, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
        if (in_order_)
            serve_waiting(*in_order_, static_cast<unsigned>(input), payload, delay);
        else
            target_.serve(static_cast<unsigned>(input), payload, delay);
    }
    tlm::tlm_sync_enum take_phase(int input, tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase,
                                  sc_core::sc_time &delay) {
        return at_.nb_transport_fw(input, payload, phase, delay);
    }
    unsigned take_debug(int, tlm::tlm_generic_payload &payload) { return target_.debug(payload); }
    bool take_dmi(int input, tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) {
        return target_.grant_dmi(static_cast<unsigned>(input), payload, dmi);
    }

    access_target &target_;
    at_target at_;
    in_order_target *in_order_ = nullptr;                  // exact
    std::vector<tlm::tlm_fw_transport_if<> *> interfaces_; // what the initiators are bound to
};

} // namespace tlmalloc
#endif
