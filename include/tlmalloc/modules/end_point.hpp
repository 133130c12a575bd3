// The PCIe end point of a SIP as an initiator: memory access by physical address, from the node where the host's
// messages enter.
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

// Writes and reads memory by physical address from the node where the host's messages enter (KernBench's MemoryWriteMsg
// and MemoryReadMsg). A transfer passes no processor, and a write has no answer.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/kit/END_POINT.md.
class end_point : public sc_core::sc_module, public resettable {
  public:
    struct config {
        std::uint32_t chunk = 256;        // largest access in bytes, at least 1; accesses end at multiples of it
        std::uint32_t outstanding = 4096; // accesses in flight, at least 1
        std::uint32_t asid = 0;           // address space of the accesses, below TLA_ASID_HARDWARE (guard.h)
    };

    tlm_utils::simple_initiator_socket<end_point> out{"out"};

    // Reports an error /tlmalloc/end_point/config if `chunk` or `outstanding` is 0, and /tlmalloc/time/resolution
    // unless the time resolution is 1 ps.
    end_point(sc_core::sc_module_name name, const config &settings);

    // Moves nbytes, beginning now; `command` is a read or a write. The calling thread waits until the last byte has
    // been written or read. The bytes lie in one memory, beginning at a physical address; a write only reads `bytes`.
    // With 0 bytes the call returns TLA_OK. Returns TLA_BUS_ERROR if the target answers an access with an error.
    // Accesses that had begun by then are completed, and have moved their bytes. Returns TLA_RESET, with the same
    // effect, if a reset ends the transfer. A call during a reset returns TLA_RESET, and moves nothing.
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
