// Converts a platform's extension to the requester that all modules use.
#include "tlmalloc/modules/extensions.hpp"

namespace tlmalloc {

said_requester::said_requester(const rights_reader &reader, std::uint32_t least_privilege,
                               tlm::tlm_generic_payload &payload)
    : reader_(reader), payload_(payload) {
    if (payload.get_extension<requester>()) return;
    const access_rights said = reader.read(payload);
    may_pass_ = (!said.has_asid || said.asid < TLA_ASID_HARDWARE) && said.privilege >= least_privilege;
    if (!may_pass_) {
        payload.set_response_status(tlm::TLM_COMMAND_ERROR_RESPONSE);
        return;
    }
    who_.asid = said.has_asid ? said.asid : 0;
    who_.anonymous = !said.has_asid;
    who_.initiator = said.core;
    who_.trusted = said.trusted;
    who_.privilege = said.privilege;
    who_.exclusive = exclusive_ = said.exclusive;
    payload.set_extension(&who_);
    added_ = true;
}

said_requester::~said_requester() {
    if (added_) payload_.clear_extension(&who_);
}

void said_requester::answered() {
    if (!exclusive_ || who_.exclusive || !payload_.is_write() || !payload_.is_response_ok()) return;
    if (!reader_.tell_failed(payload_)) payload_.set_response_status(tlm::TLM_COMMAND_ERROR_RESPONSE);
}

} // namespace tlmalloc
