// The approximately timed side of a target: four phases around a b_transport that annotates its time.
#ifndef TLMALLOC_MODULES_DETAIL_AT_TARGET_HPP
#define TLMALLOC_MODULES_DETAIL_AT_TARGET_HPP

#include "tlmalloc/modules/systemc.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace tlmalloc {

// Serves nb_transport_fw by the base protocol (IEEE 1666-2011 15.2) on behalf of a module:
//
//   BEGIN_REQ  is kept until its annotated time. Then END_REQ is sent, unless `outstanding` accepted requests of this
//              initiator have no END_RESP yet: it is held back till one has (back-pressure), and so the initiator.
//   service    an accepted request is served at once, in the order of acceptance, by the module's b_transport called
//              from a thread of this object. Data moves here; the annotated delay says when the response is due. A
//              b_transport that waits holds up its own request only.
//   BEGIN_RESP is sent when the response is due, so responses leave in the order of their times, whatever the order of
//              the requests; one at a time for each initiator, the next after END_RESP.
//   END_RESP   is taken as a call, as a return value, or as TLM_COMPLETED; answered with TLM_COMPLETED.
//
// A payload with a memory manager is acquired with BEGIN_REQ and released when its response has ended. No wait() is
// called in the non-blocking calls. Phases that are not the base protocol's are answered with TLM_ACCEPTED; what breaks
// the protocol (a second BEGIN_REQ before END_REQ, an END_RESP that nobody waits for) is a warning
// /tlmalloc/at/protocol. Without a non-blocking call this object costs nothing at run time.
class at_target {
  public:
    // As b_transport and nb_transport_bw; the first argument is the initiator's number at a multi socket, else 0.
    using serve_function = std::function<void(int, tlm::tlm_generic_payload &, sc_core::sc_time &)>;
    using backward_function =
        std::function<tlm::tlm_sync_enum(int, tlm::tlm_generic_payload &, tlm::tlm_phase &, sc_core::sc_time &)>;

    // To be made while the owning module is constructed. `name` is the prefix of the processes; outstanding >= 1.
    at_target(const char *name, unsigned outstanding, serve_function serve, backward_function backward);
    at_target(const at_target &) = delete;
    at_target &operator=(const at_target &) = delete;

    tlm::tlm_sync_enum nb_transport_fw(int initiator, tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase,
                                       sc_core::sc_time &delay);

    std::uint64_t protocol_errors() const { return protocol_errors_; }

  private:
    struct access {
        int initiator;
        tlm::tlm_generic_payload *payload;
    };
    struct initiator_state {
        std::deque<tlm::tlm_generic_payload *> requests; // arrived, not accepted (one, unless the protocol is broken)
        std::deque<tlm::tlm_generic_payload *> due;      // responses that wait for their turn
        tlm::tlm_generic_payload *responding = nullptr;  // BEGIN_RESP sent, no END_RESP yet
        bool ending = false;                             // its END_RESP has been taken
        unsigned arriving = 0;                           // BEGIN_REQ taken, annotated time not reached
        unsigned outstanding = 0;                        // accepted, no END_RESP yet
    };
    enum class step { arrive, respond, end_response };
    struct scheduled {
        step what;
        access which;
    };

    void schedule(step what, const access &which, const sc_core::sc_time &delay);
    void advance();
    void work();
    void accept(int initiator);
    void respond(int initiator);
    void finish(int initiator);
    void violation(const char *what);
    initiator_state &state_of(int initiator);

    const std::string name_;
    const unsigned outstanding_;
    const serve_function serve_;
    const backward_function backward_;
    std::deque<initiator_state> initiators_;
    std::multimap<sc_core::sc_time, scheduled> agenda_; // by absolute time; equal times in order of insertion
    std::deque<access> accepted_;                       // waits for a worker
    std::size_t idle_workers_ = 0;
    sc_core::sc_event agenda_changed_, work_to_do_;
    std::uint64_t protocol_errors_ = 0;
};

} // namespace tlmalloc
#endif
