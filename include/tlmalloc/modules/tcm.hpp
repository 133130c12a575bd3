// A PE's tightly coupled memory: real bytes, a read channel and a write channel.
#ifndef TLMALLOC_MODULES_TCM_HPP
#define TLMALLOC_MODULES_TCM_HPP

#include "tlmalloc/detail/at_target.hpp"
#include "tlmalloc/detail/in_order.hpp"
#include "tlmalloc/detail/writes_under_way.hpp"
#include "tlmalloc/modules/instrumented.hpp"
#include "tlmalloc/modules/systemc.hpp"
#include "tlmalloc/timing/timeline.h"

#include <tlm_utils/simple_target_socket.h>

namespace tlmalloc {

// Addresses are offsets into the TCM. A read occupies the read channel, a write the write channel, for
// length / bandwidth (KernBench ADR-0040), also where it streams over fewer addresses; the two overlap. Errors, AT and
// DMI as hbm_slice. Exact: each channel takes accesses in the order of their arrival.
class tcm : public instrumented, private in_order_target {
  public:
    struct config {
        std::uint64_t capacity = std::uint64_t{16} << 20;               // bytes (KernBench: 16 MB a PE)
        std::uint64_t read_bandwidth = std::uint64_t{512'000'000'000};  // bytes/s (KernBench topology)
        std::uint64_t write_bandwidth = std::uint64_t{512'000'000'000}; // bytes/s
        std::uint64_t latency_ps = 0;                                   // per access
        unsigned outstanding = 64; // AT: accepted requests of an initiator without END_RESP; more wait for END_REQ
        bool dmi = true;           // grant DMI
        time_style style = time_style::fast;
    };

    struct statistics {
        std::uint64_t reads = 0, writes = 0, bytes_read = 0, bytes_written = 0;
        std::uint64_t errors = 0;
        std::uint64_t busy_ps = 0; // sum of both channels
        tla_order order{};         // how far they were from serving in order of arrival
    };

    tlm_utils::simple_target_socket<tcm> in{"in"};

    tcm(sc_core::sc_module_name name, const config &settings);
    ~tcm() override;

    statistics get_statistics() const;
    std::vector<statistics_part> list_statistics() const override;

  private:
    void end_of_elaboration() override;
    void begin(in_order_request &request, unsigned port) override;
    bool accept(tlm::tlm_generic_payload &payload);
    std::uint64_t serve(tlm::tlm_generic_payload &payload, std::uint64_t arrival_ps);
    void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay);
    tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase,
                                       sc_core::sc_time &delay);
    unsigned transport_dbg(tlm::tlm_generic_payload &payload);
    bool get_direct_mem_ptr(tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi);

    const config config_;
    tla_timeline read_{}, write_{};
    std::uint32_t read_resource_ = 0, write_resource_ = 0; // exact
    writes_under_way writes_;                              // exact: to come
    at_target at_;
    std::uint8_t *bytes_ = nullptr;
    statistics statistics_;
    figure bytes_read_{*this, "bytes_read", 64}, bytes_written_{*this, "bytes_written", 64};
};

} // namespace tlmalloc
#endif
