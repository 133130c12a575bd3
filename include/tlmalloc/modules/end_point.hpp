// The PCIe end point of a SIP as an initiator: memory written and read by physical address, from where the host's
// messages come in.
#ifndef TLMALLOC_MODULES_END_POINT_HPP
#define TLMALLOC_MODULES_END_POINT_HPP

#include "tlmalloc/base/status.h"
#include "tlmalloc/modules/detail/in_order.hpp"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/resettable.hpp"
#include "tlmalloc/modules/systemc.hpp"

#include <cstdint>
#include <tlm_utils/simple_initiator_socket.h>

namespace tlmalloc {

// Writes and reads memory by physical address from the place where the host's messages enter (KernBench's
// MemoryWriteMsg and MemoryReadMsg): a transfer passes no processor, and a write has no answer.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/kit/END_POINT.md.
class end_point : public sc_core::sc_module, public resettable {
  public:
    struct config {
        std::uint32_t chunk = 256;        // bytes of an access: what a link carries at once
        std::uint32_t outstanding = 4096; // accesses under way
        std::uint32_t asid = 0;           // on whose behalf
    };

    tlm_utils::simple_initiator_socket<end_point> out{"out"};

    end_point(sc_core::sc_module_name name, const config &settings);

    // From now on, in the calling thread, which waits until the last byte has been taken or brought. The bytes lie in
    // one memory, from a physical address on; those of a write are only read. TLA_BUS_ERROR when an access was answered
    // with an error: what had begun by then has been moved. TLA_RESET when a reset has ended it, in the same way, and
    // during one.
    tla_status move(tlm::tlm_command command, std::uint64_t pa, std::uint8_t *bytes, std::uint64_t nbytes);

  private:
    void start_of_simulation() override;
    void begin_reset() override { reset_began_.notify(sc_core::SC_ZERO_TIME); }
    void make_new() override {}

    const config config_;
    requester requester_;
    outlet to_fabric_;
    sc_core::sc_event reset_began_;
};

} // namespace tlmalloc
#endif
