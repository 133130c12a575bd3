// Who asks: an extension of the generic payload that every module may ignore.
#ifndef TLMALLOC_MODULES_REQUESTER_HPP
#define TLMALLOC_MODULES_REQUESTER_HPP

#include "tlmalloc/memory/guard.h"
#include "tlmalloc/modules/systemc.hpp"

#include <cstdint>

namespace tlmalloc {

// For whom a transaction is made. A payload without it comes from somebody unknown, who is never held to an address
// space, and neither is hardware that says that it is trusted: it works for all of them (a host's DMA, an MMU's walks).
// Blocks that a trusted requester allocates belong to `asid` all the same. What passes a payload on leaves the
// extension where it is; what makes a payload of its own on behalf of another copies it.
struct requester : tlm::tlm_extension<requester> {
    std::uint32_t asid = 0;      // address space, as in page tables
    std::uint32_t initiator = 0; // the platform's number of the initiator, for messages
    bool trusted = false;
    bool anonymous = false; // no address space was said: held to none, and owns nothing
    std::uint32_t privilege = 0;
    // A read that reserves its bytes for `initiator`, or a write that is made only while they are reserved for it
    // (exclusive_monitor.h). A memory_controller keeps the reservations of what it owns; it clears the flag of a write
    // that was not made, whose response is TLM_OK_RESPONSE. Whoever keeps none refuses with TLM_COMMAND_ERROR_RESPONSE.
    bool exclusive = false;
    bool waits = false;      // the call is to wait: no action of others may run in its thread (target_socket.hpp)
    bool translated = false; // the addresses are physical already: MMUs let them pass
    // Of an access to page tables: the MMU that makes it, and for whom it does, if that was said (it lives as long as
    // the access). An MMU that such an access comes back to could only wait for itself.
    const void *walker = nullptr;
    const requester *walks_for = nullptr;

    requester() = default;
    requester(std::uint32_t space, std::uint32_t number, bool is_trusted = false)
        : asid(space), initiator(number), trusted(is_trusted) {}

    // Whether this access is one of `mmu` to its tables, or is made for one.
    bool is_walk_of(const void *mmu) const { return mmu == walker || (walks_for && walks_for->is_walk_of(mmu)); }

    tlm::tlm_extension_base *clone() const override {
        auto *const copy = new requester;
        copy->copy_from(*this);
        return copy;
    }
    void copy_from(const tlm::tlm_extension_base &other) override {
        const auto &from = static_cast<const requester &>(other);
        asid = from.asid;
        initiator = from.initiator;
        trusted = from.trusted;
        anonymous = from.anonymous;
        privilege = from.privilege;
        exclusive = from.exclusive;
        waits = from.waits;
        translated = from.translated;
        walker = from.walker;
        walks_for = from.walks_for;
    }
};

// tla_who of a payload: TLA_WHO_UNKNOWN without the extension.
inline std::uint64_t who_asks(const tlm::tlm_generic_payload &payload) {
    const requester *who = payload.get_extension<requester>();
    return who && !who->anonymous ? tla_who(who->asid, who->initiator) | (who->trusted ? TLA_WHO_TRUSTED : 0)
                                  : TLA_WHO_UNKNOWN;
}

// An exclusive access has come where nobody keeps reservations: it is answered, and true.
inline bool refuses_exclusive(tlm::tlm_generic_payload &payload) {
    const requester *who = payload.get_extension<requester>();
    if (!who || !who->exclusive) return false;
    payload.set_response_status(tlm::TLM_COMMAND_ERROR_RESPONSE);
    return true;
}

} // namespace tlmalloc
#endif
