// Converts b_transport to four phases: modules that make blocking calls access a memory that is approximately timed
// only.
#ifndef TLMALLOC_MODULES_LT_AT_BRIDGE_HPP
#define TLMALLOC_MODULES_LT_AT_BRIDGE_HPP

#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/modules/initiator_socket.hpp"
#include "tlmalloc/modules/instrumented.hpp"
#include "tlmalloc/modules/resettable.hpp"
#include "tlmalloc/modules/target_socket.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

namespace tlmalloc {

// The bridge turns every access to `in` into requests at `out` by the base protocol (IEEE 1666-2011 15.2). It cuts
// accesses to sizes that the target accepts, and sends requests in the order of arrival. At most `outstanding` requests
// have no answer. The caller waits until the last answer has arrived. The target may answer in every way of the
// protocol. The bridge counts calls that break the protocol, and reports a warning /tlmalloc/lt_at_bridge/protocol.
//
// Answers:
// - TLM_ADDRESS_ERROR_RESPONSE outside [base, base + capacity)
// - burst and byte-enable errors for attributes that no memory can serve
// - TLM_COMMAND_ERROR_RESPONSE for an exclusive access that the target would not recognise, or that would not be one
//   request of exactly its bytes
// - TLM_OK_RESPONSE to TLM_IGNORE, which the bridge does not forward
// - otherwise the first error among the requests, or OK
//
// If a request fails, a read returns no bytes, and the other requests of a write have been executed. DMI is the
// target's grant, clipped. A reset (resettable.hpp) waits for the requests in flight.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/kit/LT_AT_BRIDGE.md.
class lt_at_bridge : public instrumented, public resettable, private access_target, private tlm::tlm_mm_interface {
  public:
    // The ways in which the bridge ends a response. Every target should accept all three; some targets wait forever
    // after `completed`.
    enum class response_end {
        updated,   // returns END_RESP and TLM_UPDATED to BEGIN_RESP
        completed, // returns TLM_COMPLETED
        call       // calls with END_RESP at the response's annotated time
    };
    static constexpr std::uint64_t no_end = UINT64_MAX; // the target itself rejects addresses that it does not have

    struct config {
        std::uint64_t base = 0, capacity = 0; // first legal address, and number of bytes, not 0
        unsigned outstanding = 32;            // requests without an answer, at least 1
        std::uint64_t largest = 64; // bytes per request, a power of two; a request does not cross a multiple of it
        std::uint64_t smallest = 1; // bytes, a power of two up to `largest`. A shorter access becomes a request of this
                                    // size with byte enables. `base` and `capacity` are multiples of it
        bool byte_enables = true;   // false: the target accepts none. If smallest is 1, runs of enabled bytes become
                                    // requests. Otherwise the bridge reads, changes and writes back partly written
                                    // units
        bool powers_of_two = true;  // requests have power-of-two lengths and natural alignment
        response_end ending = response_end::updated;
        unsigned accepted = 64; // accepted four-phase accesses per initiator without END_RESP, at least 1
        bool dmi = true;        // forward DMI
        bool exclusive = false; // the target keeps reservations, and clears requester::exclusive of a write that it did
                                // not make, as a memory_controller does. Otherwise the bridge rejects exclusive
                                // accesses
    };

    struct statistics {
        std::uint64_t accesses = 0, errors = 0; // all accesses, and those answered with an error
        std::uint64_t requests = 0, bytes = 0;  // requests sent, and bytes that they moved
        std::uint64_t merged = 0;               // requests that read before a partial write
        std::uint64_t peak_outstanding = 0;     // most requests without an answer
        std::uint64_t protocol_errors = 0;      // protocol errors of the target
    };

    target_socket<0> in;
    initiator_socket<lt_at_bridge> out{"out"};

    // Reports an error /tlmalloc/lt_at_bridge/config for a member out of the ranges above, for a `largest` above 2^31,
    // and for a range that does not end below 2^64. Reports /tlmalloc/at/config if `accepted` is 0.
    lt_at_bridge(sc_core::sc_module_name name, const config &settings);
    ~lt_at_bridge() override;

    statistics get_statistics() const { return counts_; }
    std::vector<statistics_group> list_statistics() const override;

  private:
    struct access;
    struct request;
    class call;
    enum class step { begin, end_request, respond };
    struct scheduled {
        step what;
        request *part;
    };

    void check_config() const;
    std::uint64_t last() const; // the last legal address
    bool reaches(std::uint64_t address, std::uint64_t nbytes) const;
    bool loses_exclusive(const tlm::tlm_generic_payload &payload) const;
    tlm::tlm_response_status transport(tlm::tlm_generic_payload &payload, arrival_gate::passage &order);
    void cut(const tlm::tlm_generic_payload &whole, access &into);
    std::uint64_t run_of(const tlm::tlm_generic_payload &whole, std::uint64_t index, std::uint64_t offset,
                         std::uint64_t most) const;
    bool merges() const { return !config_.byte_enables && config_.smallest > 1; }
    void read_first(request &part);
    void fill(request &part, std::uint64_t length, const tlm::tlm_generic_payload &whole) const;
    tlm::tlm_response_status collect(const access &of, tlm::tlm_generic_payload &whole) const;
    request &new_request();

    void schedule(step what, request &part, const sc_core::sc_time &delay);
    void advance();
    bool may_go(const request &next) const;
    void send(request &next);
    void respond(request &part, bool to_end, const sc_core::sc_time &delay);
    void finish(request &part);
    void merge(request &into, request &read);
    void answered(request &part);
    void keep_in_merges(const tlm::tlm_generic_payload &written);
    void show_merges(tlm::tlm_generic_payload &read) const;
    void write_debugged(const request &part);
    void violation(const char *what);
    tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase,
                                       sc_core::sc_time &delay);
    void invalidate(sc_dt::uint64 first, sc_dt::uint64 end);

    void begin_reset() override { in.withdraw_dmi(config_.base, last()); }
    void make_new() override {} // the bridge keeps no state
    bool is_busy() const override { return !sent_.empty() || !waiting_.empty() || !agenda_.empty(); }
    void serve(unsigned input, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) override;
    unsigned debug(tlm::tlm_generic_payload &payload) override;
    bool grant_dmi(unsigned input, tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) override;
    void free(tlm::tlm_generic_payload *payload) override;

    const config config_;
    arrival_gate gate_{name()};
    std::vector<std::unique_ptr<access>> accesses_;
    std::vector<access *> idle_;
    std::vector<std::unique_ptr<request>> requests_;
    std::vector<request *> free_;
    std::multimap<sc_core::sc_time, scheduled> agenda_; // by absolute time; equal times in order of insertion
    sc_core::sc_event agenda_changed_;
    std::deque<request *> waiting_;  // not sent yet
    std::vector<request *> sent_;    // without an answer
    std::vector<request *> merging_; // partial writes, from their reads until their answers
    request *open_ = nullptr;        // sent, no END_REQ yet
    statistics counts_;
    figure outstanding_{*this, "outstanding", 16};
};

} // namespace tlmalloc
#endif
