// A module that stores bytes: everything of a memory except the time of its accesses.
#ifndef TLMALLOC_MODULES_MEMORY_MODULE_HPP
#define TLMALLOC_MODULES_MEMORY_MODULE_HPP

#include "tlmalloc/base/purpose.h"
#include "tlmalloc/base/time_account.h"
#include "tlmalloc/modules/detail/in_order.hpp"
#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/modules/instrumented.hpp"
#include "tlmalloc/modules/target_socket.hpp"

#include <cstdint>
#include <vector>

namespace tlmalloc {

// Addresses are offsets into the memory. The host commits bytes when an access touches them; untouched bytes read as
// zero. An access that fails touches nothing. It gets TLM_ADDRESS_ERROR_RESPONSE past the end, and
// TLM_BURST_ERROR_RESPONSE for length or streaming width 0. Byte enables without a length get
// TLM_BYTE_ENABLE_ERROR_RESPONSE. Both coding styles (target_socket.hpp) have the same times. DMI covers all bytes; DMI
// accesses are not counted and occupy nothing. A reset (resettable.hpp) sets all bytes to zero.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/memory/MEMORY_MODULE.md.
class memory_module : public instrumented, public resettable, private untimed_target, private in_order_target {
  public:
    target_socket<> in;

    ~memory_module() override;

  protected:
    struct access_counts {
        std::uint64_t reads = 0, writes = 0, bytes_read = 0, bytes_written = 0;
        std::uint64_t errors = 0; // transactions answered with an error
        // bytes_read and bytes_written by tla_purpose
        std::uint64_t bytes_read_for[TLA_PURPOSE_COUNT] = {}, bytes_written_for[TLA_PURPOSE_COUNT] = {};
    };

    struct memory_config {
        std::uint64_t capacity;       // bytes, at least 1
        std::uint64_t latency_ps = 0; // from a request to its arrival
        unsigned outstanding = 64;    // see target_socket; at least 1
        bool dmi = true;              // grant DMI
    };

    // `kind` outlives the module. Reports an error /tlmalloc/<kind>/config for a capacity of 0, and for a capacity for
    // which the host has no address space.
    memory_module(const sc_core::sc_module_name &name, const char *kind, const memory_config &settings);

    // Moves and counts a legal access, which arrives at arrival_ps. Returns the time at which it is done.
    virtual std::uint64_t access(tlm::tlm_generic_payload &payload, std::uint64_t arrival_ps) = 0;

    // The time of an access of one word in an idle memory, without latency_ps.
    virtual std::uint64_t word_ps(bool /*write*/) const { return 0; }

    // Answers a request that has arrived, now or later. By default access() does the work.
    virtual void arrive(in_order_request &request);

    // Adds the part of the memory that an access uses, for accounts of a transfer's time.
    virtual void note_place(const tlm::tlm_generic_payload &, tla_access_times &) const {}

    // Answers a request whose answer is ready.
    void answer(in_order_request &request);

    // A reset: rebuilds the memory's state apart from its bytes.
    virtual void make_idle() {}

    // The resource (time_queue.hpp) of a request in flight. At one time, requests of lower resources go first.
    virtual std::uint32_t resource_of(const in_order_request &) { return resource_.number(); }

    // Moves the bytes of an access, and counts the access as done at done_ps, which it returns.
    std::uint64_t move(tlm::tlm_generic_payload &payload, std::uint64_t done_ps);
    void move_bytes(tlm::tlm_generic_payload &payload);
    void count(const tlm::tlm_generic_payload &payload, std::uint64_t done_ps);

    // The first lines of every memory's statistics.
    statistics_group list_accesses() const;

    access_counts counts_;

  private:
    void begin(in_order_request &request, unsigned input) override;
    void begin_reset() override;
    void make_new() override;
    unsigned debug(tlm::tlm_generic_payload &payload) override;
    bool grant_dmi(unsigned input, tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) override;
    void note_arrival(const tlm::tlm_generic_payload &payload, tla_access_times &times, std::uint64_t at_ps) const;

    const memory_config memory_;
    std::uint8_t *bytes_ = nullptr;
    shared_resource resource_;
    figure bytes_read_{*this, "bytes_read", 64}, bytes_written_{*this, "bytes_written", 64};
};

} // namespace tlmalloc
#endif
