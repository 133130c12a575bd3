// The requests that an lt_at_bridge makes of an access.
#ifndef TLMALLOC_MODEL_MODULES_KIT_LT_AT_REQUEST_HPP
#define TLMALLOC_MODEL_MODULES_KIT_LT_AT_REQUEST_HPP

#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/lt_at_bridge.hpp"

#include <utility>
#include <vector>

namespace tlmalloc {

// A part of an access on its way. It keeps its bytes for as long as the target keeps the payload.
struct lt_at_bridge::request : tlm::tlm_generic_payload {
    enum class state { idle, waiting, sent, answered, ended };

    request(tlm::tlm_mm_interface *manager, const lt_at_bridge &bridge) : tlm_generic_payload(manager), owner(bridge) {}
    ~request() override { give_back(); }
    request(const request &) = delete;
    request &operator=(const request &) = delete;

    // All attributes but the address, for its bytes.
    void begin(tlm::tlm_command command, bool with_enables) {
        const bool some = with_enables && !enables.empty();
        set_command(command);
        set_data_ptr(bytes.data());
        set_data_length(static_cast<unsigned>(bytes.size()));
        set_streaming_width(static_cast<unsigned>(bytes.size()));
        set_byte_enable_ptr(some ? enables.data() : nullptr);
        set_byte_enable_length(some ? static_cast<unsigned>(enables.size()) : 0);
        set_dmi_allowed(false);
        set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    }

    bool touches(std::uint64_t from, std::uint64_t nbytes) const {
        return from - get_address() < bytes.size() || get_address() - from < nbytes;
    }

    // The extensions of the whole; and which transfer this is a part of.
    void lend(const tlm::tlm_generic_payload &whole) {
        for (unsigned i = 0; i < tlm::max_num_extensions(); i++)
            if (tlm::tlm_extension_base *const found = whole.get_extension(i)) {
                set_extension(i, found);
                lent.emplace_back(i, found);
            }
    }
    void say_part_of(const transfer_extent &whole) {
        extent = whole;
        set_extension(&extent); // in place of that of the whole
        lent.emplace_back(transfer_extent::ID, &extent);
    }
    void give_back() {
        for (const auto &[number, extension] : lent)
            if (get_extension(number) == extension) set_extension(number, nullptr);
        lent.clear();
    }

    const lt_at_bridge &owner;
    access *of = nullptr; // until its caller has gone
    state is = state::idle;
    bool to_end = false;                      // END_RESP is to be sent as a call
    std::uint64_t index = 0;                  // of its first byte in the whole's data
    std::uint64_t lead = 0, wanted = 0;       // which of its bytes are the whole's
    std::vector<std::uint8_t> bytes, enables; // enables: none where all bytes are
    request *first = nullptr;                 // reads what this one writes in part, until it is answered
    request *then = nullptr;                  // of that one: this one
    // For a partial write in flight: the other bytes that a debugger has written since, with their values.
    std::vector<std::pair<std::size_t, std::uint8_t>> debugged;
    transfer_extent extent;
    std::vector<std::pair<unsigned, tlm::tlm_extension_base *>> lent;
};

// An access whose caller waits.
struct lt_at_bridge::access {
    std::vector<request *> parts;
    std::size_t left = 0; // parts that are not answered
    sc_core::sc_event over;
};

} // namespace tlmalloc
#endif
