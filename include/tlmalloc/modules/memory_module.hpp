// A module that holds bytes: all of a memory but what its accesses take.
#ifndef TLMALLOC_MODULES_MEMORY_MODULE_HPP
#define TLMALLOC_MODULES_MEMORY_MODULE_HPP

#include "tlmalloc/base/time_account.h"
#include "tlmalloc/modules/detail/in_order.hpp"
#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/modules/instrumented.hpp"
#include "tlmalloc/modules/target_socket.hpp"

#include <cstdint>
#include <vector>

namespace tlmalloc {

// Addresses are offsets into the memory. Bytes are committed on the host when they are touched, and read as zero
// before. Errors touch nothing: TLM_ADDRESS_ERROR_RESPONSE past the end, TLM_BURST_ERROR_RESPONSE for length or
// streaming width 0, TLM_BYTE_ENABLE_ERROR_RESPONSE for byte enables without a length. Both coding styles
// (target_socket.hpp) have the same times. DMI covers all bytes, is not counted and occupies nothing. A reset
// (resettable.hpp) makes all bytes zero again.
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
    };

    struct memory_config {
        std::uint64_t capacity;       // bytes
        std::uint64_t latency_ps = 0; // from a request to its arrival
        unsigned outstanding = 64;    // see target_socket
        bool dmi = true;              // grant DMI
    };

    memory_module(const sc_core::sc_module_name &name, const char *kind, const memory_config &settings);

    // A legal access is there at arrival_ps: it is to be moved and counted. Returns when it is done.
    virtual std::uint64_t access(tlm::tlm_generic_payload &payload, std::uint64_t arrival_ps) = 0;

    // What an access of one word takes in an idle memory, latency_ps apart.
    virtual std::uint64_t word_ps(bool /*write*/) const { return 0; }

    // A request has arrived and is to be answered, now or later; access() does it unless a memory says other.
    virtual void arrive(in_order_request &request);

    // For who keeps an account of its transfers' times: adds which part of the memory an access goes to.
    virtual void note_place(const tlm::tlm_generic_payload &, tla_access_times &) const {}

    // The answer is there.
    void answer(in_order_request &request);

    // A reset: what the memory has beside its bytes is made anew.
    virtual void make_idle() {}

    // The resource (time_queue.hpp) of a request that is on its way: lower ones of one time go first.
    virtual std::uint32_t resource_of(const in_order_request &) { return resource_.number(); }

    // Moves the bytes of an access, and counts it as done at done_ps, which is returned.
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
