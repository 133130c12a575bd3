// A payload whose extensions belong to other objects.
#ifndef TLMALLOC_MODULES_KIT_LENT_PAYLOAD_HPP
#define TLMALLOC_MODULES_KIT_LENT_PAYLOAD_HPP

#include "tlmalloc/modules/extensions.hpp"

#include <tlm>

namespace tlmalloc {

// A payload deletes the extensions that it has when it goes: here they stay whose they are, also when a call throws,
// its thread is killed, or the simulation ends before the answer.
struct lent_payload : tlm::tlm_generic_payload {
    lent_payload() = default;
    ~lent_payload() override { give_back(); }
    lent_payload(const lent_payload &) = delete;
    lent_payload &operator=(const lent_payload &) = delete;

    void give_back() {
        clear_extension<requester>();
        clear_extension<transfer_extent>();
        clear_extension<transaction_part>();
        clear_extension<message_token>();
    }
};

} // namespace tlmalloc
#endif
