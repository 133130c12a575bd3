// A router by QBox's conventions: it finds the place of a target by the name of the target's socket, and subtracts the
// target's address unless its addresses are not relative.
#ifndef TLMALLOC_TESTS_QBOX_ROUTER_HPP
#define TLMALLOC_TESTS_QBOX_ROUTER_HPP

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <systemc>
#include <tlm>
#include <tlm_utils/multi_passthrough_initiator_socket.h>
#include <tlm_utils/multi_passthrough_target_socket.h>
#include <utility>
#include <vector>

namespace qbox {

struct router : sc_core::sc_module {
    struct place {
        std::uint64_t address = 0, size = 0;
        bool relative = true;
    };

    // Records the names of the sockets that are bound to it.
    struct named_sockets : tlm_utils::multi_passthrough_initiator_socket<router> {
        using multi_passthrough_initiator_socket::multi_passthrough_initiator_socket;
        std::vector<std::string> names;
        void bind(base_target_socket_type &target) override {
            multi_passthrough_initiator_socket::bind(target);
            names.emplace_back(target.get_base_export().name());
        }
    };

    named_sockets initiator_socket{"initiator_socket"};
    tlm_utils::multi_passthrough_target_socket<router> target_socket{"target_socket"};
    // Returns the place of the target whose socket has this name; the router calls it before the end of elaboration.
    std::function<place(const std::string &)> place_of;

    explicit router(const sc_core::sc_module_name &name, std::function<place(const std::string &)> places = {})
        : sc_module(name), place_of(std::move(places)) {
        target_socket.register_b_transport(this, &router::b_transport);
        target_socket.register_transport_dbg(this, &router::transport_dbg);
        target_socket.register_get_direct_mem_ptr(this, &router::get_direct_mem_ptr);
        initiator_socket.register_invalidate_direct_mem_ptr(this, &router::invalidate_direct_mem_ptr);
    }

  private:
    void before_end_of_elaboration() override {
        for (const std::string &name : initiator_socket.names)
            places_.push_back(place_of(name));
    }

    // Calls forward(target) with the address that the target expects, and returns what it returns; `nothing` where no
    // target has the whole access.
    template <typename Result, typename Forward>
    Result at_target(tlm::tlm_generic_payload &payload, Result nothing, Forward forward) {
        const std::uint64_t address = payload.get_address(), bytes = std::max(payload.get_data_length(), 1u);
        for (std::size_t i = 0; i < places_.size(); i++) {
            const place &at = places_[i];
            if (address < at.address || bytes > at.size || address - at.address > at.size - bytes) continue;
            payload.set_address(address - (at.relative ? at.address : 0));
            Result result = forward(static_cast<int>(i));
            payload.set_address(address);
            return result;
        }
        payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
        return nothing;
    }
    void b_transport(int, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
        at_target(payload, false, [&](int target) {
            initiator_socket[target]->b_transport(payload, delay);
            return true;
        });
    }
    unsigned transport_dbg(int, tlm::tlm_generic_payload &payload) {
        return at_target(payload, 0u, [&](int target) { return initiator_socket[target]->transport_dbg(payload); });
    }
    bool get_direct_mem_ptr(int, tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) {
        return at_target(payload, false, [&](int target) {
            const bool granted = initiator_socket[target]->get_direct_mem_ptr(payload, dmi);
            const place &at = places_[static_cast<std::size_t>(target)];
            const std::uint64_t offset = at.relative ? at.address : 0, last = at.address + at.size - 1;
            const std::uint64_t from = dmi.get_start_address() + offset;
            if (granted && from < at.address) dmi.set_dmi_ptr(dmi.get_dmi_ptr() + (at.address - from));
            dmi.set_start_address(std::max(from, at.address));
            dmi.set_end_address(dmi.get_end_address() > last - offset ? last : dmi.get_end_address() + offset);
            return granted;
        });
    }
    void invalidate_direct_mem_ptr(int target, sc_dt::uint64 first, sc_dt::uint64 last) {
        const place &at = places_[static_cast<std::size_t>(target)];
        const std::uint64_t offset = at.relative ? at.address : 0, end = at.address + at.size - 1;
        last = last > end - offset ? end : last + offset;
        for (int i = 0; i < static_cast<int>(target_socket.size()); i++)
            target_socket[i]->invalidate_direct_mem_ptr(first + offset, last);
    }

    std::vector<place> places_; // in the order of the bindings
};

} // namespace qbox
#endif
