// What stands for the host where an MMU asks for pages.
#ifndef TLMALLOC_TESTS_MODULES_FAULT_HANDLER_HPP
#define TLMALLOC_TESTS_MODULES_FAULT_HANDLER_HPP

#include "tlmalloc/modules/pe_mmu.hpp"
#include "tlmalloc/modules/systemc.hpp"

#include <functional>
#include <tlm_utils/simple_target_socket.h>

namespace tlmalloc {

// Answers page faults by `serve`, and the notices of a memory controller by `note`.
struct fault_handler : sc_core::sc_module {
    explicit fault_handler(sc_core::sc_module_name name) : sc_module(name) {
        in.register_b_transport(this, &fault_handler::b_transport);
    }
    void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
        const bool is_notice = payload.get_data_length() == page_notice::bytes{}.size();
        const bool done = is_notice ? note && note(page_notice::decode(payload.get_data_ptr()), delay)
                                    : serve && serve(page_fault::decode(payload.get_data_ptr()), delay);
        payload.set_response_status(done ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
    }
    tlm_utils::simple_target_socket<fault_handler> in{"in"};
    std::function<bool(const page_fault &, sc_core::sc_time &)> serve;
    std::function<bool(const page_notice &, sc_core::sc_time &)> note;
};

} // namespace tlmalloc
#endif
