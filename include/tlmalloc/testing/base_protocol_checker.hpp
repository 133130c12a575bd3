// Observes the calls between an initiator and a target, and records violations of the TLM-2.0 base protocol.
#ifndef TLMALLOC_TESTING_BASE_PROTOCOL_CHECKER_HPP
#define TLMALLOC_TESTING_BASE_PROTOCOL_CHECKER_HPP

#include "tlmalloc/modules/systemc.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>
#include <vector>

namespace tlmalloc::testing {

// Bind the initiator to `in` and `out` to the target; calls pass through unchanged and in no time. The rules are those
// of IEEE 1666-2011 clauses 11, 14 and 15. Each violation is a text "<rule>: <observation>" with one of these rules:
// - I1: a request begins with status TLM_INCOMPLETE_RESPONSE and without the DMI hint
// - I4: a payload in flight is not used for b_transport
// - I5: a non-blocking request has a memory manager and is referenced
// - T1: an answer has a status
// - T8: the target does not change the initiator's attributes
// - T9: time does not go back in b_transport
// - A1: phases arrive in order
// - A2: at most one request and one response are open
// - A3: the return value agrees with the arguments
// - A4: the times of a payload do not go back
// - G2: a debug access moves at most the requested bytes
// - D1: a granted DMI region contains the address, has a pointer, and allows the requested access
// - D5: an invalidated range does not end before it starts
//
// The checker knows one hop: bind a checker to each initiator that you observe.
class base_protocol_checker : public sc_core::sc_module {
  public:
    tlm_utils::simple_target_socket<base_protocol_checker> in{"in"};
    tlm_utils::simple_initiator_socket<base_protocol_checker> out{"out"};

    explicit base_protocol_checker(sc_core::sc_module_name name) : sc_module(name) {
        in.register_b_transport(this, &base_protocol_checker::b_transport);
        in.register_nb_transport_fw(this, &base_protocol_checker::nb_transport_fw);
        in.register_transport_dbg(this, &base_protocol_checker::transport_dbg);
        in.register_get_direct_mem_ptr(this, &base_protocol_checker::get_direct_mem_ptr);
        out.register_nb_transport_bw(this, &base_protocol_checker::nb_transport_bw);
        out.register_invalidate_direct_mem_ptr(this, &base_protocol_checker::invalidate_direct_mem_ptr);
    }

    const std::vector<std::string> &violations() const { return violations_; }

    // All violations, one per line; "" without violations.
    std::string report() const {
        std::string text;
        for (const std::string &v : violations_)
            text += v + '\n';
        return text;
    }

    std::uint64_t transactions() const { return transactions_; } // blocking calls, and ended responses
    std::size_t in_flight() const { return open_.size(); }       // non-blocking transactions that have not ended
    std::size_t most_in_flight() const { return most_open_; }

  private:
    using payload_type = tlm::tlm_generic_payload;

    struct attributes {
        tlm::tlm_command command;
        std::uint64_t address;
        std::uint8_t *data, *enables;
        unsigned length, enable_length, width;

        explicit attributes(const payload_type &p)
            : command(p.get_command()), address(p.get_address()), data(p.get_data_ptr()),
              enables(p.get_byte_enable_ptr()), length(p.get_data_length()), enable_length(p.get_byte_enable_length()),
              width(p.get_streaming_width()) {}

        // An interconnect may change the address.
        bool same(const attributes &o) const {
            return command == o.command && data == o.data && enables == o.enables && length == o.length &&
                   enable_length == o.enable_length && width == o.width;
        }
    };

    struct transaction {
        tlm::tlm_phase phase;
        sc_core::sc_time last; // the latest annotated time
        attributes sent;
    };

    // The target answers an initiator's mistakes. The checker therefore records a mistake only if it breaks the rules
    // for calls, not for values. A length of 0 is a bad transaction; a status that is already OK is a broken call.
    void check_request(const payload_type &payload) {
        if (payload.get_response_status() != tlm::TLM_INCOMPLETE_RESPONSE)
            violation("I1", "the request's status is not TLM_INCOMPLETE_RESPONSE");
        if (payload.is_dmi_allowed()) violation("I1", "the request's DMI hint is set");
    }

    void check_response(const payload_type &payload, const attributes &sent) {
        if (payload.get_response_status() == tlm::TLM_INCOMPLETE_RESPONSE)
            violation("T1", "the response's status is TLM_INCOMPLETE_RESPONSE");
        if (!attributes(payload).same(sent)) violation("T8", "the target changed an attribute of the initiator");
    }

    void b_transport(payload_type &payload, sc_core::sc_time &delay) {
        check_request(payload);
        if (open_.count(&payload)) violation("I4", "b_transport with a payload that is in flight");
        const attributes sent(payload);
        const sc_core::sc_time before = sc_core::sc_time_stamp() + delay;
        out->b_transport(payload, delay);
        if (sc_core::sc_time_stamp() + delay < before) violation("T9", "b_transport ends before its start time");
        check_response(payload, sent);
        transactions_++;
    }

    tlm::tlm_sync_enum nb_transport_fw(payload_type &payload, tlm::tlm_phase &phase, sc_core::sc_time &delay) {
        const tlm::tlm_phase given = phase;
        const sc_core::sc_time given_delay = delay;
        if (given == tlm::BEGIN_REQ)
            begin_request(payload, delay);
        else if (given == tlm::END_RESP)
            end_response(payload, delay, "END_RESP");
        else if (given == tlm::END_REQ || given == tlm::BEGIN_RESP)
            violation("A1", "a target's phase on the forward path");
        const tlm::tlm_sync_enum answer = out->nb_transport_fw(payload, phase, delay);
        check_unchanged("forward", answer, given, phase, given_delay, delay);
        if (given != tlm::BEGIN_REQ) return answer;
        if (answer == tlm::TLM_UPDATED) {
            if (phase == tlm::END_REQ)
                end_request(payload, delay);
            else if (phase == tlm::BEGIN_RESP)
                begin_response(payload, delay);
            else
                violation("A3", "TLM_UPDATED to BEGIN_REQ with neither END_REQ nor BEGIN_RESP");
        } else if (answer == tlm::TLM_COMPLETED) {
            begin_response(payload, delay);
            end_response(payload, delay, "TLM_COMPLETED");
        }
        return answer;
    }

    tlm::tlm_sync_enum nb_transport_bw(payload_type &payload, tlm::tlm_phase &phase, sc_core::sc_time &delay) {
        const tlm::tlm_phase given = phase;
        const sc_core::sc_time given_delay = delay;
        if (given == tlm::END_REQ)
            end_request(payload, delay);
        else if (given == tlm::BEGIN_RESP)
            begin_response(payload, delay);
        else if (given == tlm::BEGIN_REQ || given == tlm::END_RESP)
            violation("A1", "an initiator's phase on the backward path");
        const tlm::tlm_sync_enum answer = in->nb_transport_bw(payload, phase, delay);
        check_unchanged("backward", answer, given, phase, given_delay, delay);
        if (given != tlm::BEGIN_RESP) return answer;
        if (answer == tlm::TLM_COMPLETED)
            end_response(payload, delay, "TLM_COMPLETED");
        else if (answer == tlm::TLM_UPDATED) {
            if (phase == tlm::END_RESP)
                end_response(payload, delay, "END_RESP");
            else
                violation("A3", "TLM_UPDATED to BEGIN_RESP without END_RESP");
        }
        return answer;
    }

    unsigned transport_dbg(payload_type &payload) {
        const attributes sent(payload);
        const unsigned moved = out->transport_dbg(payload);
        if (moved > sent.length) violation("G2", "transport_dbg moved more bytes than requested");
        if (!attributes(payload).same(sent)) violation("T8", "transport_dbg changed an attribute");
        return moved;
    }

    bool get_direct_mem_ptr(payload_type &payload, tlm::tlm_dmi &dmi) {
        const std::uint64_t address = payload.get_address();
        const bool granted = out->get_direct_mem_ptr(payload, dmi);
        if (!granted) return false;
        if (address < dmi.get_start_address() || address > dmi.get_end_address())
            violation("D1", "the DMI region does not contain the address");
        if (!dmi.get_dmi_ptr()) violation("D1", "the DMI region has no pointer");
        if ((payload.is_read() && !dmi.is_read_allowed()) || (payload.is_write() && !dmi.is_write_allowed()))
            violation("D1", "the DMI region does not allow the requested access");
        return true;
    }

    void invalidate_direct_mem_ptr(sc_dt::uint64 start, sc_dt::uint64 end) {
        if (start > end) violation("D5", "an invalidated range ends before it starts");
        in->invalidate_direct_mem_ptr(start, end);
    }

    // --- the four phases -------------------------------------------------------------------------------------------

    void begin_request(const payload_type &payload, const sc_core::sc_time &delay) {
        check_request(payload);
        if (!payload.has_mm() || payload.get_ref_count() < 1)
            violation("I5", "a non-blocking request without a memory manager or reference");
        if (request_) violation("A2", "BEGIN_REQ while a request is open");
        if (open_.count(&payload)) violation("A1", "BEGIN_REQ with a payload that is in flight");
        open_.erase(&payload);
        open_.emplace(&payload, transaction{tlm::BEGIN_REQ, sc_core::sc_time_stamp() + delay, attributes(payload)});
        most_open_ = std::max(most_open_, open_.size());
        request_ = &payload;
    }

    void end_request(const payload_type &payload, const sc_core::sc_time &delay) {
        if (advance(payload, tlm::END_REQ, delay) && request_ == &payload) request_ = nullptr;
    }

    void begin_response(const payload_type &payload, const sc_core::sc_time &delay) {
        if (!advance(payload, tlm::BEGIN_RESP, delay)) return;
        if (request_ == &payload) request_ = nullptr; // BEGIN_RESP implies END_REQ
        if (response_) violation("A2", "BEGIN_RESP while a response is open");
        response_ = &payload;
        check_response(payload, open_.at(&payload).sent);
    }

    void end_response(const payload_type &payload, const sc_core::sc_time &delay, const char *how) {
        if (response_ != &payload) {
            violation("A1", std::string(how) + " for a payload whose response is not open");
            return;
        }
        advance(payload, tlm::END_RESP, delay);
        response_ = nullptr;
        open_.erase(&payload);
        transactions_++;
    }

    // Records the payload's next phase. Returns false if the payload is not in flight, or if this phase may not follow.
    bool advance(const payload_type &payload, tlm::tlm_phase_enum next, const sc_core::sc_time &delay) {
        const auto found = open_.find(&payload);
        if (found == open_.end()) {
            violation("A1", "a phase of a payload that is not in flight");
            return false;
        }
        transaction &t = found->second;
        const bool follows = next == tlm::END_REQ      ? t.phase == tlm::BEGIN_REQ
                             : next == tlm::BEGIN_RESP ? t.phase == tlm::BEGIN_REQ || t.phase == tlm::END_REQ
                                                       : t.phase == tlm::BEGIN_RESP;
        if (!follows) {
            violation("A1", "a phase out of order");
            return false;
        }
        const sc_core::sc_time at = sc_core::sc_time_stamp() + delay;
        if (at < t.last) violation("A4", "the time of a payload goes backwards");
        t.last = at;
        t.phase = next;
        return true;
    }

    void check_unchanged(const char *path, tlm::tlm_sync_enum answer, const tlm::tlm_phase &given,
                         const tlm::tlm_phase &phase, const sc_core::sc_time &given_delay,
                         const sc_core::sc_time &delay) {
        if (answer == tlm::TLM_ACCEPTED && (phase != given || delay != given_delay))
            violation("A3", std::string("TLM_ACCEPTED on the ") + path + " path with changed arguments");
        if (answer == tlm::TLM_UPDATED && phase == given)
            violation("A3", std::string("TLM_UPDATED on the ") + path + " path with the same phase");
        if (delay < given_delay) violation("A4", std::string("a smaller delay returned on the ") + path + " path");
    }

    void violation(const char *rule, const std::string &what) {
        std::ostringstream text;
        text << rule << ": " << what << " (" << name() << ", " << sc_core::sc_time_stamp() << ")";
        violations_.push_back(text.str());
    }

    std::map<const payload_type *, transaction> open_;
    const payload_type *request_ = nullptr, *response_ = nullptr;
    std::size_t most_open_ = 0;
    std::uint64_t transactions_ = 0;
    std::vector<std::string> violations_;
};

} // namespace tlmalloc::testing
#endif
